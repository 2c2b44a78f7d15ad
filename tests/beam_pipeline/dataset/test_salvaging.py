"""What is whole of damaged files lies in new ones, which adopt describes and others read."""

import gzip
import json
import os
import shutil
from pathlib import Path

import pytest
import tensorflow as tf
from tiers import first_quick

import beam_pipeline
from beam_pipeline.cli import commands
from beam_pipeline.dataset.salvaging import salvage
from beam_pipeline.errors import ConfigError
from beam_pipeline.tfrecord.frames import read_file
from tfrecord_dataset.example import decode, encode
from tfrecord_dataset.frames import framed, payload_of


def example(number):
    return encode({"label": [number % 3], "x": [0.5, 1.5], "caption": [b"number %d" % number]})


FRAMES = [framed(example(number)) for number in range(12)]


@pytest.fixture
def folder(tmp_path):
    """A split of two files of six records each."""
    root = tmp_path / "pets"
    root.mkdir()
    (root / "train-00000-of-00002").write_bytes(b"".join(FRAMES[:6]))
    (root / "train-00001-of-00002").write_bytes(b"".join(FRAMES[6:]))
    (root / "notes.txt").write_text("what this is")
    return root


def damage(path, number=0):
    """Flips a bit of the payload of a record, of which all before are as long as the first."""
    data = bytearray(path.read_bytes())
    data[number * len(FRAMES[0]) + 20] ^= 1
    path.write_bytes(data)


def records(path, compressed=False):
    """The numbers of the records in a file."""
    payloads = [payload_of(frame) for _, frame in read_file(str(path), compressed)]
    return [int(decode(payload)["caption"][0].split()[1]) for payload in payloads]


def losses(output):
    return [json.loads(line) for line in (output / "salvage.jsonl").read_text().splitlines()]


def test_whole_files_are_copied(folder, tmp_path):
    saved = salvage([str(folder)], str(tmp_path / "saved"))
    assert (saved.num_files, saved.num_records, saved.losses) == (2, 12, [])
    for name in ("train-00000-of-00002", "train-00001-of-00002"):
        assert (tmp_path / "saved" / name).read_bytes() == (folder / name).read_bytes()
    assert sorted(os.listdir(tmp_path / "saved")) == [
        "salvage.jsonl",
        "train-00000-of-00002",
        "train-00001-of-00002",
    ]
    assert losses(tmp_path / "saved") == []


def test_what_is_gone_is_listed(folder, tmp_path):
    damage(folder / "train-00000-of-00002", 2)
    path = folder / "train-00001-of-00002"
    path.write_bytes(path.read_bytes()[:-3])
    salvage([str(folder)], str(tmp_path / "saved"))

    assert records(tmp_path / "saved/train-00000-of-00002") == [0, 1, 3, 4, 5]
    assert records(tmp_path / "saved/train-00001-of-00002") == [6, 7, 8, 9, 10]
    size = len(FRAMES[0])
    assert losses(tmp_path / "saved") == [
        {
            "file": "train-00000-of-00002",
            "offset": 2 * size,
            "length": size,
            "records_before": 2,
            "records_after": 3,
            "cause": "a record's payload does not match its checksum",
        },
        {
            "file": "train-00001-of-00002",
            "offset": sum(map(len, FRAMES[6:11])),
            "length": len(FRAMES[11]) - 3,
            "records_before": 5,
            "records_after": 0,
            "cause": "the file ends 3 bytes before the record does",
        },
    ]


def test_frames_that_hold_no_example(folder, tmp_path):
    path = folder / "train-00000-of-00002"
    path.write_bytes(FRAMES[0] + framed(b"\xff") * 3 + framed(b"") + FRAMES[1])
    salvage([str(path)], str(tmp_path / "saved"))
    assert records(tmp_path / "saved/train-00000-of-00002") == [0, 1]
    [loss] = losses(tmp_path / "saved")
    assert (loss["offset"], loss["length"]) == (len(FRAMES[0]), 3 * 17 + 16)
    assert loss["cause"] == "a record is no tf.train.Example with features"


@pytest.mark.parametrize("name", ["a.tfrecord.gz", "train-00000-of-00001"])
def test_gzip(tmp_path, name):
    path = tmp_path / "in" / name
    path.parent.mkdir()
    members = [gzip.compress(b"".join(FRAMES[start : start + 4]), mtime=0) for start in (0, 4, 8)]
    damaged = bytearray(b"".join(members))
    damaged[len(members[0]) + 15] ^= 0xFF
    path.write_bytes(damaged)
    salvage([str(path.parent)], str(tmp_path / "saved"))

    kept = records(tmp_path / "saved" / name, compressed=True)
    assert kept[:4] == [0, 1, 2, 3]
    assert kept[-4:] == [8, 9, 10, 11]
    found = losses(tmp_path / "saved")
    assert any("of the gzip file" in loss["cause"] for loss in found)
    assert all(loss["records_before"] + loss["records_after"] == len(kept) for loss in found)


def test_gzip_of_which_only_the_checksum_is_wrong(tmp_path):
    packed = bytearray(gzip.compress(b"".join(FRAMES)))
    packed[-6] ^= 1
    (tmp_path / "a.tfrecord.gz").write_bytes(packed)
    salvage([str(tmp_path / "a.tfrecord.gz")], str(tmp_path / "saved"))
    assert records(tmp_path / "saved/a.tfrecord.gz", compressed=True) == list(range(12))
    [loss] = losses(tmp_path / "saved")
    assert (loss["length"], loss["records_before"], loss["records_after"]) == (0, 12, 0)


def test_nothing_whole_gives_no_file(folder, tmp_path):
    (folder / "train-00001-of-00002").write_bytes(os.urandom(1000))
    (folder / "empty.tfrecord").write_bytes(b"")
    salvage([str(folder)], str(tmp_path / "saved"))
    assert not (tmp_path / "saved/train-00001-of-00002").exists()
    assert (tmp_path / "saved/empty.tfrecord").read_bytes() == b""
    assert [loss["file"] for loss in losses(tmp_path / "saved")] == ["train-00001-of-00002"]


@pytest.fixture
def dataset(tmp_path, class_folders):
    config = beam_pipeline.BuildConfig(
        input=str(class_folders(tmp_path / "pets")), output=str(tmp_path / "data"), num_shards=3
    )
    return Path(beam_pipeline.build(config).path)


def shard(dataset, number):
    return dataset / f"pets-train.tfrecord-{number:05d}-of-00003"


def test_a_dataset_by_what_it_states(dataset, tmp_path):
    """Its shards alone; also what is missing, or was cut off where a record ends."""
    shutil.copy(shard(dataset, 0), dataset / "copy.tfrecord")
    shard(dataset, 0).unlink()
    spans = (dataset / f"idx/{shard(dataset, 1).name}.idx").read_text().split()
    data = shard(dataset, 1).read_bytes()
    shard(dataset, 1).write_bytes(data[: int(spans[-2])])
    salvage([str(dataset)], str(tmp_path / "saved"))

    assert sorted(path.name for path in (tmp_path / "saved").iterdir()) == [
        shard(dataset, 1).name,
        shard(dataset, 2).name,
        "salvage.jsonl",
    ]
    missing, shortened = losses(tmp_path / "saved")
    assert missing["cause"].startswith("missing file")
    assert shortened["cause"] == (
        f"metadata.json states {len(spans) // 2} records, {len(spans) // 2 - 1} are there"
    )


@pytest.mark.parametrize("state", first_quick(["damaged", "missing"]))
def test_a_dataset_that_cannot_be_opened(dataset, tmp_path, state):
    (dataset / "metadata.json").unlink()
    if state == "damaged":
        (dataset / "metadata.json").write_text("{")
    damage(shard(dataset, 1))
    data = bytearray(shard(dataset, 2).read_bytes())
    data[0] ^= 1  # no more a TFRecord file by its start
    shard(dataset, 2).write_bytes(data)
    saved = salvage([str(dataset)], str(tmp_path / "saved"))
    assert saved.num_files == 3
    assert {loss.file for loss in saved.losses} == {shard(dataset, n).name for n in (1, 2)}
    assert saved.num_records == 14


@pytest.mark.slow
def test_adopt_describes_what_is_left(dataset, tmp_path):
    """By the schema of the damaged dataset; verified, and read by TensorFlow."""
    damage(shard(dataset, 1))
    salvage([str(dataset)], str(tmp_path / "saved"))
    schema = beam_pipeline.read_schema(str(dataset / "metadata.json"))
    info = beam_pipeline.adopt(str(tmp_path / "saved"), schema=schema)

    assert info.num_records("train") == 15
    assert info.classes == ("cat", "dog")
    assert beam_pipeline.verify(info) == []
    paths = sorted(map(str, (tmp_path / "saved").glob("*.tfrecord-*")))
    assert sum(1 for _ in tf.data.TFRecordDataset(paths)) == 15


def test_files_that_are_there_stay(folder, tmp_path):
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved/train-00001-of-00002").write_bytes(b"mine")
    with pytest.raises(ConfigError, match="saved has a train-00001-of-00002 already"):
        salvage([str(folder)], str(tmp_path / "saved"))
    with pytest.raises(ConfigError, match="already; give a new folder"):
        salvage([str(folder)], str(folder))
    assert os.listdir(tmp_path / "saved") == ["train-00001-of-00002"]


def test_equal_names(folder, tmp_path):
    paths = [str(folder), str(folder / "train-0000*")]
    with pytest.raises(ConfigError, match="2 names of files are there twice, such as train-00000"):
        salvage(paths, str(tmp_path / "saved"))


@pytest.mark.parametrize("what", ["pipe", "folder", "loop"])
def test_what_is_no_file(folder, tmp_path, what):
    path = folder / "train-00001-of-00002"
    path.unlink()
    if what == "pipe":
        os.mkfifo(path)
    elif what == "loop":
        path.symlink_to(path)
    else:
        path.mkdir()
    saved = salvage([str(folder)], str(tmp_path / "saved"))
    assert saved.num_records == 6
    assert [(loss.file, loss.offset, loss.length) for loss in saved.losses] == [
        ("train-00001-of-00002", 0, 0)
    ] * (what != "folder")


def test_a_file_of_another_name_that_cannot_be_read_is_not_meant(folder, tmp_path):
    (folder / "notes").symlink_to(folder / "notes")
    assert salvage([str(folder)], str(tmp_path / "saved")).losses == []


def test_there_is_nothing(tmp_path):
    (tmp_path / "notes.txt").write_text("notes")
    for path in (tmp_path, tmp_path / "gone", tmp_path / "*.tfrecord"):
        with pytest.raises(ConfigError, match=r"no such file|holds no TFRecord file"):
            salvage([str(path)], str(tmp_path / "saved"))
    assert not (tmp_path / "saved").exists()


@pytest.mark.slow
def test_worker_processes_do_the_same(folder, tmp_path, monkeypatch, digests):
    damage(folder / "train-00000-of-00002", 2)
    salvage([str(folder)], str(tmp_path / "one"))
    monkeypatch.setattr("beam_pipeline.running.parallel._FEW_BYTES", 0)
    salvage([str(folder)], str(tmp_path / "other"))
    assert digests(tmp_path / "one") == digests(tmp_path / "other")


def test_on_a_store(folder, tmp_path, bucket):
    url, store = bucket
    damage(folder / "train-00000-of-00002", 2)
    for path in folder.iterdir():
        store.put(f"{url}/pets/{path.name}", path.read_bytes())
    assert commands.main(["salvage", f"{url}/pets", "--output", f"{url}/saved"]) == 3
    salvage([str(folder)], str(tmp_path / "saved"))
    prefix = f"{url}/saved/".removeprefix("s3://")
    there = {name: data for name, data in store.objects.items() if name.startswith(prefix)}
    assert there == {
        f"{prefix}{path.name}": path.read_bytes() for path in (tmp_path / "saved").iterdir()
    }


def test_the_command(folder, tmp_path, capsys):
    output = tmp_path / "saved"
    assert commands.main(["salvage", str(folder), "--output", str(output)]) == 0
    shown = capsys.readouterr()
    assert shown.out == f"{output}\n"
    assert "12 whole records of 2 files" in shown.err

    damage(folder / "train-00000-of-00002", 2)
    files = [str(path) for path in sorted(folder.glob("train-*"))]
    assert commands.main(["salvage", *files, "--output", str(tmp_path / "again")]) == 3
    shown = capsys.readouterr()
    assert shown.out == f"{tmp_path}/again\n"
    assert f"something is gone of 1 file: {tmp_path}/again/salvage.jsonl lists it" in shown.err
    assert commands.main(["salvage", *files, "--output", str(output)]) == 2
