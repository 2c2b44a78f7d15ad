"""Records of bare files are counted."""

import gzip
from pathlib import Path

import pytest
import tensorflow as tf

import trainer
from tfrecord_dataset.records.contents import Split
from tfrecord_dataset.records.opening import open_shards
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


def test_batches_of_bare_files_have_a_known_number(tmp_path, write_records):
    write_records(tmp_path / "a.tfrecord", [{"n": number} for number in range(10)])
    dataset = trainer.open(
        str(tmp_path / "a.tfrecord"), features={"n": {"kind": "scalar", "dtype": "int64"}}
    )
    assert dataset.batches(batch_size=4).cardinality() == 3
    assert dataset.batches(batch_size=4, drop_remainder=True).cardinality() == 2
    assert dataset.batches(batch_size=4, repeat=True).cardinality() == tf.data.INFINITE_CARDINALITY
