"""Bare TFRecord files: splits, compression, inspection of the first records, and counting."""

import gzip

import pytest
import tensorflow as tf

import trainer
from tfrecord_dataset.format.frames import framed
from tfrecord_dataset.records.contents import Split
from tfrecord_dataset.records.opening import first_records, is_gzip, names_below, open_shards


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        pytest.param(["d/train/*/*.tfrec"], ["x/0.tfrec", "y/0.tfrec"], id="folders before it"),
        pytest.param(["d/*/*/*.tfrec"], ["train/x/0.tfrec", "train/y/0.tfrec"], id="and after"),
        pytest.param(["d/train/x/*", "d/train/y/*"], ["x/0.tfrec", "y/0.tfrec"], id="several"),
        pytest.param(["d*/*/*/*"], ["d/train/x/0.tfrec", "d/train/y/0.tfrec"], id="at the start"),
    ],
)
def test_folders_count_from_where_all_patterns_start(patterns, expected):
    assert names_below(["d/train/x/0.tfrec", "d/train/y/0.tfrec"], patterns) == expected


def test_splits_that_only_some_names_state_are_named(tmp_path, write_records):
    for name in ("train00.tfrecord", "validate00.tfrecord"):
        write_records(tmp_path / name, [{"n": 1}])

    dataset = trainer.open(f"{tmp_path}/*.tfrecord")

    assert list(dataset.splits) == ["train"]
    (note,) = dataset.notes
    assert "train00.tfrecord is named after a split, but validate00.tfrecord is not" in note


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        pytest.param(gzip.compress(b"records" * 99), True, id="gzip"),
        pytest.param(gzip.compress(bytes(range(256)) * 99)[:64], True, id="the start of gzip"),
        pytest.param((9).to_bytes(8, "little") + bytes(20), False, id="plain"),
        pytest.param(framed(bytes(0x88B1F))[:64], False, id="a length like gzip's magic"),
        pytest.param(b"", False, id="empty"),
    ],
)
def test_is_gzip(head, expected):
    assert is_gzip(head) is expected


@pytest.mark.parametrize(
    ("num_files", "num_records", "num_bytes", "expected"),
    [
        pytest.param(1, 300, 1, 256, id="the first of one file"),
        pytest.param(3, 100, 1, 3 * 85, id="as many of each of several"),
        pytest.param(2, 5, 1, 10, id="all there are"),
        pytest.param(40, 20, 1, 16 * 16, id="of sixteen files"),
        pytest.param(2, 3, 20 << 20, 2 * 2, id="not more than so many bytes"),
    ],
)
def test_the_look_at_the_first_records(tmp_path, num_files, num_records, num_bytes, expected):
    files = [
        write(tmp_path / f"{number:02}", [num_bytes] * num_records) for number in range(num_files)
    ]

    split = Split(name="train", shards=open_shards(files))
    looked_at = [(where, record[:1]) for where, record in first_records(files, [split])]

    assert len(looked_at) == expected
    assert looked_at[0] == (f"record 0 of {files[0]}", b"\0")
    assert len({where for where, _ in looked_at}) == expected
    statistics = {where.rpartition(" ")[2] for where, _ in looked_at}
    assert statistics <= set(files)
    assert len(statistics) == min(num_files, 16)


def write(path, sizes, compression=""):
    with tf.io.TFRecordWriter(str(path), compression) as writer:
        for size in sizes:
            writer.write(bytes(size))
    return str(path)


@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_records_are_counted(tmp_path, compression):
    files = [
        write(tmp_path / "a", [0, 1, 9_000, 20_000], compression),
        write(tmp_path / "empty", [], compression),
        write(tmp_path / "b", [5] * 100, compression),
    ]
    assert Split(name="a", shards=open_shards(files)).counted == 104


def test_batches_of_bare_files_have_a_known_number(tmp_path, write_records):
    write_records(tmp_path / "a.tfrecord", [{"n": number} for number in range(10)])
    dataset = trainer.open(
        str(tmp_path / "a.tfrecord"), features={"n": {"kind": "scalar", "dtype": "int64"}}
    )
    assert dataset.batches(batch_size=4).cardinality() == 3
    assert dataset.batches(batch_size=4, drop_remainder=True).cardinality() == 2
    assert dataset.batches(batch_size=4, repeat=True).cardinality() == tf.data.INFINITE_CARDINALITY
