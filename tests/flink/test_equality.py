"""What a cluster builds is, byte for byte, what this machine builds."""

import shutil

import pytest
from flink_cluster import ROOT

import beam_pipeline

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize(("is_table", "records"), [(False, 60), (True, 5000)])
def test_equal_bytes_spread_over_slots(
    cluster, launch, people, tmp_path, digests, built_by, is_table, records
):
    source = people if is_table else ROOT / "examples/data/blood"
    launcher = launch(source, tmp_path / "there", "--name=data", "--num-shards=32")
    here = beam_pipeline.build(
        input=str(source), output=str(tmp_path / "here"), name="data", num_shards=32
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
    assert f"records read {records:,}" in text
    assert f"records written {records:,}" in text
    num_shards = sum(map(len, here.splits.values()))
    assert f"shards written {num_shards}" in text
    num_bytes = sum(shard.num_bytes for split in here.splits.values() for shard in split)
    assert f"bytes written {num_bytes:,}" in text
    shutil.rmtree(tmp_path / "there")
