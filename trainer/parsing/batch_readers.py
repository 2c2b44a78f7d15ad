"""Readers that decode a whole batch at once."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from tfrecord_dataset.format.feature import Feature
from trainer.errors import ConfigError
from trainer.parsing.reader import (
    Decoding,
    FeatureReader,
    Output,
    Tensors,
    check_lengths,
    stored_dtype,
)

_RAW_DTYPES = (
    *("bool", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
)
# `decode_raw` does not support these unsigned integers.
_DECODED_AS = {tf.uint32: tf.int32, tf.uint64: tf.int64}


class Fixed(FeatureReader):
    """A list with a fixed number of values: scalars, text, bytes, small tensors."""

    def dtype(self, feature: Feature) -> tf.DType:
        """Return the output's dtype, or raise ConfigError if it is not supported."""
        return stored_dtype(feature)

    def outputs(self, feature: Feature, decoding: Decoding) -> Sequence[Output]:
        dtype = self.dtype(feature)
        return [Output(feature.name, feature, dtype, feature.shape)]

    def decode(self, feature: Feature, parsed: Tensors, decoding: Decoding) -> Tensors:
        return {feature.name: parsed[feature.key]}


class Raw(Fixed):
    """A tensor of fixed shape, stored as one value: raw bytes, little-endian, in C order."""

    def dtype(self, feature: Feature) -> tf.DType:
        if feature.dtype not in _RAW_DTYPES:
            raise ConfigError(
                f"tensor {feature.name!r} is stored as bytes with dtype {feature.dtype!r}; "
                f"declare one of {', '.join(_RAW_DTYPES)}"
            )
        return tf.as_dtype(feature.dtype)

    def decode(self, feature: Feature, parsed: Tensors, decoding: Decoding) -> Tensors:
        raw = parsed[feature.key]
        dtype = self.dtype(feature)
        expected = math.prod(size or 0 for size in feature.shape) * dtype.size
        lengths = tf.strings.length(raw)
        message = (
            f"key {feature.key} must hold {expected} bytes for {feature.dtype} "
            f"{list(feature.shape)}; declare its dtype and shape. Bytes in a record:"
        )
        with tf.control_dependencies([check_lengths(lengths, lengths == expected, message)]):
            values = tf.io.decode_raw(raw, _DECODED_AS.get(dtype, dtype))
        if dtype in _DECODED_AS:
            values = tf.bitcast(values, dtype)
        shape = tf.concat([tf.shape(raw), tf.constant(feature.shape, tf.int32)], axis=0)
        return {
            feature.name: tf.ensure_shape(tf.reshape(values, shape), (*raw.shape, *feature.shape))
        }


@dataclasses.dataclass(frozen=True, slots=True)
class RowsReader(FeatureReader):
    """A list of any length, with values or rows of a fixed shape: sequences, flat boxes."""

    padding: int = 0

    def outputs(self, feature: Feature, decoding: Decoding) -> Sequence[Output]:
        dtype = stored_dtype(feature)
        padding = b"" if dtype == tf.string else self.padding
        if feature.default is not None:
            padding = feature.default
        return [Output(feature.name, feature, dtype, feature.shape, padding)]

    def decode(self, feature: Feature, parsed: Tensors, decoding: Decoding) -> Tensors:
        return {feature.name: _in_rows(feature, parsed[feature.key])}


def _in_rows(feature: Feature, values: Any) -> Any:
    row_shape = feature.shape[1:]
    if not row_shape:
        return values
    row_size = math.prod(size or 1 for size in row_shape)
    is_batch = isinstance(values, tf.RaggedTensor)
    lengths = values.row_lengths() if is_batch else tf.shape(values)
    message = (
        f"key {feature.key} holds rows of {list(row_shape)}, so its length must be a "
        f"multiple of {row_size}; fix the record, or declare another shape. Length in a record:"
    )
    with tf.control_dependencies([check_lengths(lengths, lengths % row_size == 0, message)]):
        rows = tf.reshape(values.flat_values if is_batch else values, [-1, *row_shape])
    if not is_batch:
        return rows
    return tf.RaggedTensor.from_row_splits(rows, values.row_splits // row_size, validate=False)


class ClassLabelReader(FeatureReader):
    """A class number, int64, -1 if missing; or any number of them, [n]."""

    def _reader(self, feature: Feature) -> Fixed | RowsReader:
        return RowsReader(padding=-1) if feature.shape else Fixed()

    def outputs(self, feature: Feature, decoding: Decoding) -> Sequence[Output]:
        return self._reader(feature).outputs(feature, decoding)

    def decode(self, feature: Feature, parsed: Tensors, decoding: Decoding) -> Tensors:
        def from_0(values: Any) -> Any:
            return tf.where(values < 0, values, values - feature.label_offset)

        values = parsed[feature.key]
        if feature.label_offset:
            values = tf.ragged.map_flat_values(from_0, values)
        return {feature.name: values}
