"""Bare files are counted, so that what reads them knows how many batches come."""

import pytest
import tensorflow as tf

import trainer
from trainer.counting import count_records
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
    assert count_records(files, compression) == 104


@pytest.mark.parametrize("cut", [1, 4, 5, 15, 25])
def test_a_file_that_is_cut_off_is_named(tmp_path, cut):
    path = tmp_path / "a"
    data = write(path, [10, 10])
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(DatasetDamagedError, match=r"a ends within its record 1"):
        count_records([data], "")


def test_what_is_no_tfrecord_file_is_named(tmp_path):
    path = tmp_path / "text"
    path.write_text("this is no TFRecord file")
    with pytest.raises(DatasetDamagedError, match="no TFRecord file"):
        count_records([str(path)], "")


def test_batches_of_bare_files_have_a_known_number(tmp_path, write_records):
    write_records(tmp_path / "a.tfrecord", [{"n": number} for number in range(10)])
    dataset = trainer.open(
        str(tmp_path / "a.tfrecord"), features={"n": {"kind": "scalar", "dtype": "int64"}}
    )
    assert dataset.batches(batch_size=4).cardinality() == 3
    assert dataset.batches(batch_size=4, drop_remainder=True).cardinality() == 2
    assert dataset.batches(batch_size=4, repeat=True).cardinality() == tf.data.INFINITE_CARDINALITY
