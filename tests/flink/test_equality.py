"""A cluster builds byte for byte what this machine builds."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from flink_cluster import CACHE, ROOT

import beam_pipeline

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize(
    ("kind", "shards"),
    [
        pytest.param("images", 8, id="images with boxes, in three splits"),
        pytest.param("table", 32, id="a table"),
        pytest.param("large table", 32, id="a table in parts"),
        pytest.param("large records", 32, id="a TFRecord file in parts"),
    ],
)
def test_equal_bytes_spread_over_slots(
    cluster, launch, people, tmp_path, digests, built_by, kind, shards
):
    source = ROOT / "examples/data/blood" if kind == "images" else people
    if kind.startswith("large"):
        people.write_text("".join(f"{row}\n" for row in people.read_text().splitlines() * 40))
    if kind == "large records":
        records = beam_pipeline.build(input=str(people), output=str(tmp_path / "records"))
        [shard] = Path(records.path).glob("*.tfrecord-*")
        source = Path(shutil.copy(shard, tmp_path / "people.tfrecord"))
    assert kind in ("images", "table") or source.stat().st_size > 8 << 20
    launcher = launch(source, tmp_path / "there", "--name=data", f"--num-shards={shards}")
    here = beam_pipeline.build(
        input=str(source), output=str(tmp_path / "here"), name="data", num_shards=shards
    )
    code, text = launcher.finish()
    assert code == 0, text
    assert "Really starting service" not in text, "a job server"
    assert launcher.process.stdout.read() == f"{tmp_path}/there/data/1.0.0\n"
    assert built_by(tmp_path / "there") == digests(here.path)

    job = cluster.jobs()[0]
    reading = {"large table": ["SurveyTables"], "large records": ["{Read, "]}
    for stage in ("WriteShard", *reading.get(kind, [])):
        read = cluster.records_by_slot(job, stage)
        assert len(read) == 4, "as many slots as the cluster has"
        assert sum(count > 0 for count in read) >= (3 if stage == "WriteShard" else 2), read
    assert cluster.failures(job) == []
    verify = [sys.executable, "-m", "beam_pipeline", "verify", tmp_path / "there/data/1.0.0"]
    on_flink = ["--runner=FlinkRunner", f"--flink_master={cluster.address}"]
    subprocess.run([*verify, *on_flink], check=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
    verified = cluster.records_by_slot(cluster.jobs()[0], "CallWithShards")
    assert sum(verified) == len([*tmp_path.glob("there/data/1.0.0/*.tfrecord-*")])
    assert sum(count > 0 for count in verified) == 4, verified
    shutil.rmtree(tmp_path / "there")


def test_adopted_files_are_described_alike(cluster, tmp_path, digests):
    rows = tmp_path / "rows.csv"
    rows.write_text("x,label\n" + "".join(f"{n},c{n % 3}\n" for n in range(9000)))
    built = beam_pipeline.build(input=str(rows), output=str(tmp_path), name="t", num_shards=8)
    for folder in ("here", "there"):
        (tmp_path / folder / "t").mkdir(parents=True)
        for shard in Path(built.path).glob("*.tfrecord-*"):
            shutil.copy(shard, tmp_path / folder / "t")
    beam_pipeline.adopt(tmp_path / "here/t")
    adopt = [sys.executable, "-m", "beam_pipeline", "adopt", tmp_path / "there/t"]
    on_flink = ["--runner=FlinkRunner", f"--flink_master={cluster.address}"]
    all_classes = f"--flink_job_server_jar={CACHE}/flink-job-server-1.19.jar"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run([*adopt, *on_flink, all_classes], check=True, env=environment)
    assert digests(tmp_path / "there") == digests(tmp_path / "here")
    for job in cluster.jobs()[:2]:
        assert sum(cluster.records_by_slot(job, "CallWithShards")) == 8


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
