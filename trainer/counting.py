"""Counts the records and classes of bare TFRecord files, which have no metadata."""

import gzip
import os
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from trainer.errors import DatasetDamagedError

# Around the payload: its length and the length's checksum before it, its checksum after it.
_BEFORE_BYTES, _AFTER_BYTES = 12, 4


def count_records(files: Sequence[str], compression: str) -> int:
    """The records of TFRecord files.

    In uncompressed local files only the frames' headers are read, which takes microseconds per
    record; other files are read completely.

    Raises:
        DatasetDamagedError: A file ends within a record; or gzip ends too early, which
            TensorFlow accepts as the end of the file.
    """
    if compression:
        return sum(map(_count_unpacked, files))
    if all(map(os.path.isfile, files)):
        return sum(map(_count_frames, files))
    dataset = tf.data.TFRecordDataset(list(files), compression, buffer_size=1 << 20)
    count = dataset.reduce(tf.constant(0, tf.int64), lambda count, _: count + 1)
    return int(count.numpy())


def count_classes(batches: tf.data.Dataset, name: str) -> int:
    """1 + the largest of the int64 numbers `name` in `batches`; 0 if none is above -1."""

    def larger(largest: Any, batch: Any) -> Any:
        numbers = tf.reshape(batch[name], [-1])
        return tf.reduce_max(tf.concat([[largest], numbers], axis=0))

    return int(batches.reduce(tf.constant(-1, tf.int64), larger).numpy()) + 1


def _count_frames(path: str) -> int:
    size = os.path.getsize(path)
    count = position = 0
    with open(path, "rb") as file:
        while position < size:
            file.seek(position)
            num_bytes = _num_bytes(file.read(_BEFORE_BYTES))
            position += num_bytes
            if not num_bytes or position > size:
                raise _cut_off(path, count)
            count += 1
    return count


def _count_unpacked(path: str) -> int:
    count = 0
    with tf.io.gfile.GFile(path, "rb") as packed, gzip.GzipFile(fileobj=packed) as file:
        try:
            while header := file.read(_BEFORE_BYTES):
                rest = _num_bytes(header) - _BEFORE_BYTES
                if rest < 0 or len(file.read(rest)) < rest:
                    raise _cut_off(path, count)
                count += 1
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise _cut_off(path, count) from error
    return count


def _num_bytes(header: bytes) -> int:
    """Bytes of a record including its frame; 0 if the header is incomplete."""
    if len(header) < _BEFORE_BYTES:
        return 0
    length: int = struct.unpack("<Q", header[:8])[0]
    return _BEFORE_BYTES + length + _AFTER_BYTES


def _cut_off(path: str, count: int) -> DatasetDamagedError:
    return DatasetDamagedError(
        f"{path} ends within its record {count}: it is truncated, or not a TFRecord file"
    )
