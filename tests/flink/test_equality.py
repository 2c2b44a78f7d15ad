"""A cluster builds byte for byte what this machine builds."""

import shutil

import pytest
from flink_cluster import ROOT

import beam_pipeline

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize(
    ("is_table", "shards"),
    [
        pytest.param(False, 8, id="images with boxes, in three splits"),
        pytest.param(True, 32, id="a table"),
    ],
)
def test_equal_bytes_spread_over_slots(
    cluster, launch, people, tmp_path, digests, built_by, is_table, shards
):
    source = people if is_table else ROOT / "examples/data/blood"
    launcher = launch(source, tmp_path / "there", "--name=data", f"--num-shards={shards}")
    here = beam_pipeline.build(
        input=str(source), output=str(tmp_path / "here"), name="data", num_shards=shards
    )
    code, text = launcher.finish()
    assert code == 0, text
    assert launcher.process.stdout.read() == f"{tmp_path}/there/data/1.0.0\n"
    assert built_by(tmp_path / "there") == digests(here.path)

    job = cluster.jobs()[0]
    written = cluster.records_by_slot(job, "WriteShard")
    assert len(written) == 4, "as many slots as the cluster has"
    assert sum(count > 0 for count in written) >= 3, written
    assert cluster.failures(job) == []
    shutil.rmtree(tmp_path / "there")


def test_beams_options_for_stores_reach_the_workers(cluster, launch, people, bucket, monkeypatch):
    """Functions carry no keys; the workers have no variables of this process."""
    url, store = bucket
    for name in store.environment():
        monkeypatch.delenv(name)
    keys = ("--s3_access_key_id=key", "--s3_secret_access_key=secret")
    place = (f"--s3_endpoint_url={store.endpoint}", "--s3_region_name=us-east-1")
    code, text = launch(people, f"{url}/out", "--name=data", *keys, *place).finish()
    assert code == 0, text
    assert [key for key in store.objects if key.endswith("/data/1.0.0/metadata.json")]
    assert cluster.failures(cluster.jobs()[0]) == []
