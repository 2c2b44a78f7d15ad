"""`verify` as a job of another runner finds what it finds here."""

import os
import shutil
from pathlib import Path

import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from damages import cut, flip

import beam_pipeline
from beam_pipeline.cli import commands
from beam_pipeline.dataset import verify_job
from beam_pipeline.errors import CountMismatchError, DatasetChangedError
from beam_pipeline.running.runner import Job

JOB_SERVICE = ("--runner=PortableRunner", "--job_endpoint=embed")


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    root = tmp_path_factory.mktemp("rows")
    text = "".join(f"{n},{n / 7},c{n % 3}\n" for n in range(900))
    (root / "rows.csv").write_text(f"age,weight,label\n{text}")
    return beam_pipeline.build(
        input=str(root / "rows.csv"), output=str(root), name="rows", num_shards=5
    )


def test_the_same_problems_in_the_same_order(rows, capsys):
    assert commands.main(["verify", rows.path, *JOB_SERVICE]) == 0
    assert "900 records in 5 shards of 1 split: no problems" in capsys.readouterr().out
    damaged = shutil.copytree(rows.path, Path(rows.path).with_name("2.0.0"))
    shards = sorted(damaged.glob("rows-train.tfrecord-*"))
    for shard, damage in ((shards[3], flip), (shards[1], cut)):
        damage(shard)
    found = beam_pipeline.verify(damaged, PipelineOptions([*JOB_SERVICE]))
    assert found == beam_pipeline.verify(damaged)
    assert len(found) >= 4
    assert sorted(os.listdir(damaged.parent)) == ["1.0.0", "2.0.0"], "nothing is left"


def test_a_dataset_that_was_built_again(rows):
    """Each worker opens it, later than the launcher."""
    shards = verify_job.VerifyShards(rows.path, "0" * 64, Job())
    shards.setup()
    with pytest.raises(DatasetChangedError, match="was built again while it was read"):
        [*shards.process(0)]


def test_a_shard_without_a_result(rows, monkeypatch):
    monkeypatch.setattr(verify_job.VerifyShards, "process", lambda _, number: [(number // 2, [])])
    with pytest.raises(CountMismatchError, match="the job checked 3 of 5 shards"):
        beam_pipeline.verify(rows, PipelineOptions([*JOB_SERVICE]))
