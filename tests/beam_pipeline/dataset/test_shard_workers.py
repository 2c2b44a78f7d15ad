"""`verify` and `adopt` as jobs of another runner have the results that they have here."""

import os
import shutil
from pathlib import Path

import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from damages import cut, flip

import beam_pipeline
from beam_pipeline.cli import commands
from beam_pipeline.dataset import shard_workers
from beam_pipeline.errors import BeamTFRecordsError, CountMismatchError, DataError
from beam_pipeline.running.shared_values import SharedValues

JOB_SERVICE = ("--runner=PortableRunner", "--job_endpoint=embed")


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    root = tmp_path_factory.mktemp("rows")
    text = "".join(f"{n},{n / 7},c{n % 3}\n" for n in range(900))
    (root / "rows.csv").write_text(f"age,weight,label\n{text}")
    return beam_pipeline.build(
        input=str(root / "rows.csv"), output=str(root), name="rows", num_shards=5
    )


def shards_of(folder):
    return sorted(Path(folder).glob("rows-train.tfrecord-*"))


def test_verify_finds_the_same_problems_in_the_same_order(rows, capsys):
    assert commands.main(["verify", rows.path, *JOB_SERVICE]) == 0
    assert "900 records in 5 shards of 1 split: no problems" in capsys.readouterr().out
    damaged = shutil.copytree(rows.path, Path(rows.path).with_name("2.0.0"))
    for shard, damage in ((shards_of(damaged)[3], flip), (shards_of(damaged)[1], cut)):
        damage(shard)
    found = beam_pipeline.verify(damaged, PipelineOptions([*JOB_SERVICE]))
    assert found == beam_pipeline.verify(damaged)
    assert len(found) >= 4
    assert sorted(os.listdir(damaged.parent)) == ["1.0.0", "2.0.0"], "nothing is left"


@pytest.fixture
def others(rows, tmp_path):
    """The same files twice, without a description."""
    folders = [tmp_path / "here/rows", tmp_path / "there/rows"]
    for folder in folders:
        folder.mkdir(parents=True)
        for shard in shards_of(rows.path):
            shutil.copy(shard, folder)
    return folders


def test_adopt_writes_the_same_bytes(others, digests, capsys):
    here, there = others
    beam_pipeline.adopt(here)
    assert commands.main(["adopt", str(there), *JOB_SERVICE]) == 0
    assert capsys.readouterr().out == f"{there}\n"
    assert digests(there) == digests(here)
    assert beam_pipeline.verify(there) == []
    assert not (there / ".adopt").exists()


def test_adopt_names_the_same_problems(others):
    messages = []
    for folder, options in zip(others, ([], JOB_SERVICE), strict=True):
        cut(shards_of(folder)[2])
        with pytest.raises(DataError, match="nothing was written") as raised:
            beam_pipeline.adopt(folder, options=PipelineOptions([*options]))
        messages.append(str(raised.value).replace(str(folder), "DIR"))
        assert os.listdir(folder) == [path.name for path in folder.iterdir() if path.is_file()]
    assert messages[0] == messages[1]


def test_a_shard_without_a_result(rows, monkeypatch):
    def process(call, shard):
        yield shard[0] // 2, call.function(shard[1])

    monkeypatch.setattr(shard_workers.CallWithShards, "process", process)
    with pytest.raises(CountMismatchError, match="the results of 3 of 5 shards"):
        beam_pipeline.verify(rows, PipelineOptions([*JOB_SERVICE]))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda values: values[:-1], id="cut off"),
        pytest.param(lambda values: values[len(values) // 2 :] * 2, id="another order"),
        pytest.param(lambda values: values[:-1] + b"x", id="another value"),
        pytest.param(lambda values: b"x" + values, id="another head"),
    ],
)
def test_values_of_others_are_not_unpickled(tmp_path, change):
    values = SharedValues(str(tmp_path))
    values.save("a", [1, "x"])
    assert [*values.load("a")] == [1, "x"]
    (tmp_path / "a").write_bytes(change((tmp_path / "a").read_bytes()))
    with pytest.raises(BeamTFRecordsError, match="is not as this command wrote it"):
        [*values.load("a")]
