"""Makes Examples from plain values with TensorFlow."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import tensorflow as tf

Values = Mapping[str, Any]
NO_BYTES = tf.train.Feature(bytes_list=tf.train.BytesList())  # an empty list with a type


def feature(value: Any) -> tf.train.Feature:
    """Make a Feature from a value, list or array; None and an empty list have no type."""
    if value is None:
        return tf.train.Feature()
    items = [value] if isinstance(value, bytes) else value
    items = items if isinstance(items, list) else np.ravel(items).tolist()
    if not items and not isinstance(value, np.ndarray):
        return tf.train.Feature()
    if all(isinstance(item, bytes) for item in items) and items:
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=items))
    floats = isinstance(value, np.ndarray) and value.dtype.kind == "f"
    if floats or not all(isinstance(item, int | np.integer) for item in items):
        return tf.train.Feature(float_list=tf.train.FloatList(value=items))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=items))


def example(values: Values = MappingProxyType({}), /, **more: Any) -> bytes:
    """Serialize an Example of values by key; a tf.train.Feature is used unchanged."""
    features = {
        key: value if isinstance(value, tf.train.Feature) else feature(value)
        for key, value in {**values, **more}.items()
    }
    made = tf.train.Example(features=tf.train.Features(feature=features))
    return bytes(made.SerializeToString(deterministic=True))  # alike in all test processes


def write_examples(path: Path | str, records: Iterable[Values], compression: str = "") -> None:
    """Write a TFRecord file of values by key."""
    with tf.io.TFRecordWriter(str(path), options=compression) as writer:
        for record in records:
            writer.write(example(record))
