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
