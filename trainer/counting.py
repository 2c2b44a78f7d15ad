"""How many records and classes bare TFRecord files hold, which no metadata says."""

import os
import struct
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from trainer.errors import DatasetDamagedError

# Around the payload: its length and that number's checksum before it, its checksum behind.
_BEFORE_BYTES, _BEHIND_BYTES = 12, 4


def count_records(files: Sequence[str], compression: str) -> int:
    """The records of TFRecord files.

    Uncompressed local files are gone through from frame to frame, some microseconds a
    record; others are read whole.

    Raises:
        DatasetDamagedError: A file ends within a record.
    """
    if not compression and all(map(os.path.isfile, files)):
        return sum(map(_count_frames, files))
    dataset = tf.data.TFRecordDataset(list(files), compression, buffer_size=1 << 20)
    counted = dataset.reduce(tf.constant(0, tf.int64), lambda count, _: count + 1)
    return int(counted.numpy())


def count_classes(batches: tf.data.Dataset, name: str) -> int:
    """1 + the largest of the int64 numbers `name` in `batches`; 0 where none is above -1."""

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
            header = file.read(_BEFORE_BYTES)
            if len(header) == _BEFORE_BYTES:
                position += _BEFORE_BYTES + struct.unpack("<Q", header[:8])[0] + _BEHIND_BYTES
            if len(header) < _BEFORE_BYTES or position > size:
                raise DatasetDamagedError(
                    f"{path} ends within its record {count}: it is cut off, or no TFRecord file"
                )
            count += 1
    return count
