"""Bare files are counted, so that what reads them knows how many batches come."""

import gzip
from pathlib import Path

import pytest
import tensorflow as tf

import trainer
from tfrecord_dataset.records.bare_files import open_shards
from tfrecord_dataset.records.split import Split
from trainer.errors import DatasetDamagedError


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


@pytest.mark.parametrize("cut", [1, 9, 40])
def test_gzip_that_is_cut_off_is_named(tmp_path, cut):
    path = tmp_path / "a"
    path.write_bytes(gzip.compress(Path(write(tmp_path / "plain", [9] * 99)).read_bytes())[:-cut])
    with pytest.raises(DatasetDamagedError, match=r"a ends within its record \d+"):
        assert not Split(name="a", shards=open_shards([str(path)])).counted


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([2, 0, 1, 1], 3, id="all there"),
        pytest.param([7, -1], 8, id="up to the largest"),
        pytest.param([-1, -1], 0, id="no labels"),
        pytest.param([[2, 5], [], [0]], 6, id="several a record"),
        pytest.param([[], []], 0, id="no labels of several"),
    ],
)
def test_classes_are_counted(tmp_path, write_records, values, expected):
    records = [{"y": value, "junk": b"\xff"} for value in values]
    write_records(tmp_path / "a.tfrecord", records)
    shape = [None] if isinstance(values[0], list) else []
    dataset = trainer.open(
        tmp_path / "a.tfrecord",
        features={"y": {"kind": "class_label", "shape": shape}, "junk": {"kind": "image"}},
    )

    assert dataset.num_classes("y") == expected


def test_classes_are_counted_split_by_split_and_once(tmp_path, write_records):
    write_records(tmp_path / "train.tfrecord", [{"y": 2}] * 3)
    write_records(tmp_path / "test.tfrecord", [{"y": 4}])
    dataset = trainer.open(f"{tmp_path}/*.tfrecord")

    assert (dataset.num_classes("y", "train"), dataset.num_classes("y", "test")) == (3, 5)
    (tmp_path / "train.tfrecord").unlink()
    assert dataset.num_classes("y", "train") == 3


def test_stated_classes_are_not_counted(colors):
    assert trainer.open(colors).num_classes("label", "test") == 3


def test_integers_are_classes_if_asked_for(tmp_path, write_records):
    write_records(tmp_path / "a.tfrecord", [{"speaker": 4, "x": 0.5}])
    dataset = trainer.open(tmp_path / "a.tfrecord")

    assert dataset.num_classes("speaker") == 5
    with pytest.raises(trainer.ConfigError, match="'x' is a scalar of float32, not a class number"):
        dataset.num_classes("x")
    with pytest.raises(trainer.UnknownNameError, match="'speaker'"):
        dataset.num_classes("speakers")


def test_batches_of_bare_files_have_a_known_number(tmp_path, write_records):
    write_records(tmp_path / "a.tfrecord", [{"n": number} for number in range(10)])
    dataset = trainer.open(
        str(tmp_path / "a.tfrecord"), features={"n": {"kind": "scalar", "dtype": "int64"}}
    )
    assert dataset.batches(batch_size=4).cardinality() == 3
    assert dataset.batches(batch_size=4, drop_remainder=True).cardinality() == 2
    assert dataset.batches(batch_size=4, repeat=True).cardinality() == tf.data.INFINITE_CARDINALITY
