"""A build that was cut off takes the shards that are finished and whole, and writes the others."""

import dataclasses
import os
from pathlib import Path

import pytest

import beam_pipeline
from beam_pipeline.describe.shard_info import ShardInfo, TemporaryFile
from beam_pipeline.write import commit
from beam_pipeline.write.receipts import drop_unfinished, finished_shard, receipt_path
from beam_pipeline.write.working_directory import working_dir


@pytest.fixture
def config(tmp_path):
    return beam_pipeline.BuildConfig(output=str(tmp_path), name="pets")


@pytest.fixture
def finished(config):
    """The shard info of a finished shard, whose files and receipt lie on disk."""
    folder = Path(working_dir(config))
    files = {"pets-train": folder / "train/00000-a", "idx/pets-train.idx": folder / "index/a.idx"}
    for path in files.values():
        path.parent.mkdir(parents=True)
        path.write_bytes(b"12345")
    info = ShardInfo(
        split="train",
        shard=0,
        file="pets-train",
        num_records=1,
        num_bytes=5,
        sha256="",
        records_digest="same",
        temporary={final: TemporaryFile(str(path), 5) for final, path in files.items()},
    )
    receipt = Path(receipt_path(config, "train", 0))
    receipt.parent.mkdir()
    receipt.write_text(info.to_receipt())
    return info


def test_a_finished_shard(config, finished):
    assert finished_shard(receipt_path(config, "train", 0), "same") == finished
    assert finished_shard(receipt_path(config, "train", 0), "other") is None
    assert finished_shard(receipt_path(config, "train", 1), "same") is None


@pytest.mark.parametrize("file", ["pets-train", "idx/pets-train.idx"])
@pytest.mark.parametrize("data", [None, b"", b"1234", b"123456"])
def test_a_finished_shard_that_is_not_whole(config, finished, file, data):
    path = Path(finished.temporary[file].path)
    path.unlink() if data is None else path.write_bytes(data)
    assert finished_shard(receipt_path(config, "train", 0), "same") is None


def test_a_receipt_that_is_cut_off(config, finished):
    receipt = Path(receipt_path(config, "train", 0))
    os.truncate(receipt, 20)
    assert finished_shard(str(receipt), "same") is None


def test_a_failure_leaves_finished_shards_alone(config, finished):
    folder = Path(working_dir(config))
    for name in ("train/00001-b", "index/b.idx", "unpacked/big", "receipts/x.json.partial"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"unfinished")
    drop_unfinished(config)
    left = {str(path) for path in folder.rglob("*") if path.is_file()}
    kept = {file.path for file in finished.temporary.values()}
    assert left == {*kept, receipt_path(config, "train", 0)}


def test_a_failure_without_finished_shards_leaves_nothing(config, finished, tmp_path):
    os.truncate(receipt_path(config, "train", 0), 0)
    drop_unfinished(config)
    assert os.listdir(tmp_path) == []


def cut_off(*_):
    raise KeyError("cut off")


def test_a_truncated_shard_is_written_anew(class_folders, tmp_path, monkeypatch, digests):
    config = beam_pipeline.BuildConfig(
        input=str(class_folders(tmp_path / "pets")),
        output=str(tmp_path / "out"),
        num_shards=4,
        threads=1,
    )
    with monkeypatch.context() as patch:
        patch.setattr(commit, "check_counts", cut_off)
        with pytest.raises(Exception, match="cut off"):
            beam_pipeline.build(config)
    whole, truncated = {}, []
    for number, path in enumerate(sorted(Path(working_dir(config), "train").iterdir())):
        if number % 2:
            os.truncate(path, path.stat().st_size - 1)
            truncated.append(path.stat().st_ino)
        else:
            whole[path.stat().st_ino] = path.name
    assert (len(whole), len(truncated)) == (2, 2)

    info = beam_pipeline.build(config)
    undisturbed = dataclasses.replace(config, output=str(tmp_path / "other"))
    assert digests(info.directory) == digests(beam_pipeline.build(undisturbed).directory)
    taken = {path.stat().st_ino for path in Path(info.directory).glob("pets-*")}
    assert whole.keys() <= taken
