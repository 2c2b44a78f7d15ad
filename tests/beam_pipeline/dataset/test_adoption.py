"""Existing shards get a description next to them, and stay unchanged."""

import gzip
import json
import sys

import power_cut
import pytest
from damages import edit
from tiers import first_in_ci

from beam_pipeline import open as open_dataset
from beam_pipeline import verify
from beam_pipeline.cli import commands
from beam_pipeline.dataset.adoption import adopt
from beam_pipeline.errors import ConfigError, DataError
from beam_pipeline.schema.declaration import parse_schema
from tfrecord_dataset.format.example import encode
from tfrecord_dataset.format.frames import framed


def example(number):
    return encode({"label": [number % 3], "x": [0.5, 1.5], "caption": [b"number %d" % number]})


def shard(first, count):
    return b"".join(framed(example(number)) for number in range(first, first + count))


@pytest.fixture
def directory(tmp_path):
    """Two splits of 8 records."""
    root = tmp_path / "pets"
    root.mkdir()
    (root / "train-00000-of-00002").write_bytes(shard(0, 3))
    (root / "train-00001-of-00002").write_bytes(shard(3, 3))
    (root / "test-00000-of-00001").write_bytes(shard(6, 2))
    (root / "notes.txt").write_text("what this is")
    return root


def test_the_description(directory, digests):
    before = digests(directory)
    info = adopt(str(directory))

    assert (info.metadata["name"], info.metadata["version"]) == ("pets", "1.0.0")
    assert {split: info.num_records(split) for split in info.splits} == {"test": 2, "train": 6}
    assert [each.file for each in info.splits["train"]] == [
        "train-00000-of-00002",
        "train-00001-of-00002",
    ]
    assert [(feature.name, feature.kind, feature.bare) for feature in info.schema] == [
        ("caption", "text", True),
        ("label", "class_label", True),
        ("x", "tensor", True),
    ]
    assert info.classes == ("0", "1", "2")
    assert info.metadata["config"] == {"adopted": True, "compression": "none", "schema": []}
    after = digests(directory)
    assert {name: after[name] for name in before} == before, "what was there stays as it was"
    assert sorted(after.keys() - before.keys()) == [
        "croissant.json",
        "dataset_info.json",
        "features.json",
        "idx/test-00000-of-00001.idx",
        "idx/train-00000-of-00002.idx",
        "idx/train-00001-of-00002.idx",
        "index/test-00000-of-00001.parquet",
        "index/train-00000-of-00002.parquet",
        "index/train-00001-of-00002.parquet",
        "label.labels.txt",
        "metadata.json",
    ]
    assert verify(info) == []


def test_the_index_of_a_shard_that_is_gone_goes_too(directory):
    adopt(str(directory))
    (directory / "test-00000-of-00001").unlink()
    adopt(str(directory), overwrite=True)

    for folder in ("index", "idx"):
        assert {path.name.split("-")[0] for path in (directory / folder).iterdir()} == {"train"}


def test_gzip(directory):
    for path in directory.glob("*-of-*"):
        path.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    info = adopt(str(directory))

    assert info.compressed
    assert sum(map(info.num_records, info.splits)) == 8
    assert not (directory / "dataset_info.json").exists(), "TFDS cannot read gzip"
    assert not list(directory.glob("idx/*.idx"))
    assert verify(info) == []


@pytest.mark.parametrize(
    ("name", "version", "expected"),
    [
        pytest.param("pets", "1.2.3", ("pets", "1.2.3"), id="as asked"),
        pytest.param("", "", ("cats_dogs", "3.0.0"), id="by the directory"),
    ],
)
def test_name_and_version(directory, name, version, expected):
    versioned = directory.with_name("Cats & dogs") / "3.0.0"
    versioned.parent.mkdir()
    directory.rename(versioned)
    info = adopt(str(versioned), name=name, version=version)

    assert (info.metadata["name"], info.metadata["version"]) == expected


def test_a_declared_schema(directory):
    schema = parse_schema(
        {"label": {"kind": "class_label"}, "point": {"kind": "tensor", "dtype": "float32",
         "shape": [2], "key": "x"}}
    )  # fmt: skip
    info = adopt(str(directory), schema=schema, classes=("a", "b", "c"))

    assert [(feature.name, feature.key, feature.classes) for feature in info.schema] == [
        ("label", "label", ("a", "b", "c")),
        ("point", "x", ()),
    ]
    assert (directory / "label.labels.txt").read_text() == "a\nb\nc\n"
    assert verify(info) == []


@pytest.mark.parametrize(
    ("number", "change", "message"),
    [
        (2, {"shape": [3]}, "key 'x' holds a float list of 2, where a float list of 3"),
        (0, {"key": "gone"}, "key 'gone' is missing"),
    ],
)
def test_verify_compares_the_records_with_the_schema(directory, number, change, message):
    adopt(str(directory))
    edit(directory / "metadata.json", lambda facts: facts["features"][number].update(change))
    problems = verify(open_dataset(str(directory)))

    assert any(message in problem for problem in problems)
    assert all("of-0000" in problem for problem in problems), "the shard is named"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data[:-1], ": truncated file (record 2, at byte"),
        (lambda data: data + framed(b"\xff"), ":3: not an Example"),
    ],
)
def test_damage_is_reported_and_nothing_is_written(directory, digests, damage, message):
    path = directory / "train-00001-of-00002"
    path.write_bytes(damage(path.read_bytes()))
    path.rename(directory / "train-1.tfrecord")
    (directory / "train-00000-of-00002").rename(directory / "train-0.tfrecord")
    before = digests(directory)
    with pytest.raises(DataError) as raised:
        adopt(str(directory))

    assert f"train-1.tfrecord{message}" in str(raised.value)
    assert digests(directory) == before


def test_no_index_is_written_or_deleted_where_a_link_leads(directory, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "old.parquet").write_bytes(b"mine")
    (directory / "index").symlink_to(outside)
    with pytest.raises(ConfigError, match="index is a link, but the index"):
        adopt(str(directory))

    (directory / "index").unlink()
    adopt(str(directory))
    (directory / "index/deep").symlink_to(outside)
    edit(
        directory / "metadata.json",
        lambda value: value["splits"]["test"]["shards"][0].update(file="deep/old"),
    )
    with pytest.raises(ConfigError, match="index/deep is a link, but the index"):
        adopt(str(directory), overwrite=True)
    assert [path.name for path in outside.iterdir()] == ["old.parquet"]


def test_the_command(directory, tmp_path, capsys):
    labels = tmp_path / "labels.txt"
    labels.write_text("cat\ndog\nbird\n")

    assert commands.main(["adopt", str(directory), "--labels", str(labels), "--name", "zoo"]) == 0
    output = capsys.readouterr()
    assert output.out.splitlines()[-1] == str(directory)
    assert "train: 6 records in 2 shards" in output.err
    assert "3 classes: cat, dog, bird" in output.err
    assert "feature x: tensor float32 [2]" in output.err
    assert open_dataset(str(directory)).metadata["name"] == "zoo"
    assert commands.main(["show", str(directory), "--limit", "1"]) == 0
    assert "number 6" in capsys.readouterr().out
    assert commands.main(["adopt", str(directory)]) == 2
    path = directory / "train-00001-of-00002"
    path.write_bytes(path.read_bytes()[:-1])
    assert commands.main(["verify", str(directory)]) == 3
    assert commands.main(["adopt", str(directory), "--overwrite"]) == 3


def test_what_killed_ones_left_goes(directory):
    end = f".{'0a' * 16}.partial"
    left = [f"index/train-00000-of-00002.parquet{end}", f"metadata.json{end}"]
    others = [f"index/mine{end}", f"train-00000-of-00002{end}", "train-00000-of-00002.partial"]
    for file in (*left, *others):
        (directory / file).parent.mkdir(exist_ok=True)
        (directory / file).write_text("half")
    adopt(str(directory))
    assert not any((directory / file).exists() for file in left)
    assert all((directory / file).exists() for file in others)


@pytest.mark.slow
@pytest.mark.parametrize("overwrite", first_in_ci([False, True]))
def test_a_power_cut_leaves_a_whole_description_or_none(directory, overwrite):
    """A cut at any call leaves the old, no, or the new description, and nothing else."""
    if overwrite:
        adopt(str(directory), name="old")
        (directory / "train-00000-of-00002").write_bytes(shard(0, 4))
    command = [sys.executable, "-m", "beam_pipeline", "adopt", directory, "--name", "new"]
    recording = power_cut.record([*command, "--overwrite"], directory)
    seen = set()
    for disk in recording.disks(draws=2):
        if "metadata.json" in disk.files:
            assert disk.files in (recording.before.files, recording.after.files), disk
            seen.add(json.loads(disk.files["metadata.json"])["name"])
        assert not disk.is_last or disk.files == recording.after.files, disk
    assert seen == ({"old", "new"} if overwrite else {"new"})


@pytest.mark.parametrize("scheme", ["s3", "gs"])
def test_a_dataset_on_a_store(directory, bucket, capsys, scheme):
    url, store = bucket
    for path in directory.iterdir():
        store.put(f"{url}/zoo/{path.name}", path.read_bytes())
    there = f"{url}/zoo".replace("s3://", f"{scheme}://")
    assert commands.main(["adopt", there]) == 0
    adopt(str(directory), name="zoo")
    files = {str(path.relative_to(directory)): path for path in directory.rglob("*.*")}
    assert {"metadata.json", "idx/train-00000-of-00002.idx"} <= files.keys()
    for name, path in files.items():
        assert store.objects[f"{url}/zoo/{name}".removeprefix("s3://")] == path.read_bytes()
    assert commands.main(["verify", there]) == 0
    assert commands.main(["show", there, "--limit", "1"]) == 0
    assert "number" in capsys.readouterr().out
