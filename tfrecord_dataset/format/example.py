"""`tf.train.Example` without TensorFlow.

>>> from tfrecord_dataset.format.example import decode, encode
>>> decode(encode({"image": [b"jpeg"], "label": [3]}))
{'image': [b'jpeg'], 'label': [3]}

The bytes equal TensorFlow's own with `deterministic=True`.
"""

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    message_factory,
    text_format,
    unknown_fields,
)
from google.protobuf.message import DecodeError

from tfrecord_dataset.errors import RecordError

_PROTO = """
name: "tfrecord_dataset/example.proto"
package: "tensorflow"
syntax: "proto3"
message_type {
  name: "BytesList"
  field { name: "value" number: 1 label: LABEL_REPEATED type: TYPE_BYTES }
}
message_type {
  name: "FloatList"
  field { name: "value" number: 1 label: LABEL_REPEATED type: TYPE_FLOAT }
}
message_type {
  name: "Int64List"
  field { name: "value" number: 1 label: LABEL_REPEATED type: TYPE_INT64 }
}
message_type {
  name: "Feature"
  oneof_decl { name: "kind" }
  field { name: "bytes_list" number: 1 type_name: ".tensorflow.BytesList" oneof_index: 0 }
  field { name: "float_list" number: 2 type_name: ".tensorflow.FloatList" oneof_index: 0 }
  field { name: "int64_list" number: 3 type_name: ".tensorflow.Int64List" oneof_index: 0 }
}
message_type {
  name: "Features"
  nested_type {
    name: "FeatureEntry"
    options { map_entry: true }
    field { name: "key" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
    field { name: "value" number: 2 label: LABEL_OPTIONAL type_name: ".tensorflow.Feature" }
  }
  field { name: "feature" number: 1 label: LABEL_REPEATED type_name: "Features.FeatureEntry" }
}
message_type {
  name: "Example"
  field { name: "features" number: 1 label: LABEL_OPTIONAL type_name: ".tensorflow.Features" }
}
"""
_POOL = descriptor_pool.DescriptorPool()
_POOL.Add(text_format.Parse(_PROTO, descriptor_pb2.FileDescriptorProto()))


Example: Any = message_factory.GetMessageClass(_POOL.FindMessageTypeByName("tensorflow.Example"))
"""The message class, equal to tf.train.Example on the wire and in use."""

MAX_KEYS = 20_000
"""Maximal number of keys of an Example and of features of a dataset."""

TOO_MANY = (
    f"more than the {MAX_KEYS:,} keys or columns that are read; store numbers as one list under "
    "one key"
)
"""End of a message for too many keys, with the remedy."""

_FEATURES_TAG = b"\x0a"  # field 1, length-delimited: an Example's Features, or their keys
# Tag and length of an empty key. A shorter Example cannot have too many keys.
_KEY_BYTES = 2


def has_too_many(serialized: bytes) -> bool:
    """Whether a serialized Example has over MAX_KEYS; undefined for other bytes."""
    if len(serialized) <= MAX_KEYS * _KEY_BYTES:
        return False
    most, at, end = MAX_KEYS, 0, len(serialized)
    while serialized[at : at + 1] == _FEATURES_TAG:
        length, at = _read_varint(serialized, at + 1)
        inner_end = min(at + length, end)
        while at < inner_end and serialized[at : at + 1] == _FEATURES_TAG:
            length, at = _read_varint(serialized, at + 1)
            at += length
            most -= 1
            if most < 0:
                return True
        at = inner_end
    return False


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Decode the varint at a byte to (number, next byte)."""
    number = shift = 0
    for byte in data[at : at + 10]:
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return number, at


FeatureValue = Sequence[bytes] | Sequence[int] | Sequence[float]
"""Values of one key of an Example: all bytes, all ints, or all floats; may be empty."""


class Singles(Sequence[Any]):
    """A column with one value per Example, without nested lists."""

    def __init__(self, values: Iterable[Any]) -> None:
        self.values = list(values)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, at: Any) -> Any:
        return [self.values[at]]


class Ragged(Sequence[Any]):
    """A column of lists of floats, one after the other in one array.

    Args:
        values: The floats of all Examples.
        lengths: Number of floats of each Example.
    """

    def __init__(self, values: npt.NDArray[np.floating[Any]], lengths: Sequence[int]) -> None:
        self.values, self.lengths = values, lengths

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, at: Any) -> Any:
        end = sum(self.lengths[: at + 1])
        values: list[float] = self.values[end - self.lengths[at] : end].tolist()
        return values


TAGS = {"bytes": b"\n", "float32": b"\x12", "int64": b"\x1a"}
"""The tag of each kind of list in a Feature."""

_64_BITS = (1 << 64) - 1


def encode(values: Mapping[str, FeatureValue], kinds: Mapping[str, str] | None = None) -> bytes:
    """Serialize an Example; equal values give equal bytes, in any order.

    Args:
        values: Values by key.
        kinds: As in `encode_columns`.

    Raises:
        RecordError: "value out of range" for an int beyond 64 bits.
    """
    if not values:
        return b""
    [example] = encode_columns({key: [value] for key, value in values.items()}, kinds)
    return example


def encode_columns(
    columns: Mapping[str, Sequence[FeatureValue]], kinds: Mapping[str, str] | None = None
) -> list[bytes]:
    """Serialize Examples.

    Args:
        columns: The Examples' values by key; at least one key.
        kinds: "bytes", "float32" or "int64" by key: the kind that an empty list states, as in
            TensorFlow's writers. Without it TensorFlow reads an empty list of any kind, but not
            every reader does.

    Raises:
        RecordError: "value out of range" for an int beyond 64 bits.
    """
    parts: list[Sequence[bytes]] = []
    for key in in_order(tuple(columns)):
        parts += _entries(key, columns[key], (kinds or {}).get(key))
    examples = map(b"".join, zip(*parts, strict=True))
    return [b"".join((_tagged(b"\n", len(example)), example)) for example in examples]


@functools.lru_cache(256)
def in_order(keys: tuple[str, ...]) -> list[str]:
    """Sort keys in protobuf's order: by bytes, but a prefix of another key comes after it."""
    return sorted(keys, key=lambda key: key.encode() + b"\xff")


def _entries(
    key: str, column: Sequence[FeatureValue], kind: str | None
) -> tuple[Sequence[bytes], ...]:
    """Encode a key's map entry per Example: one column of bytes, or two to join."""
    if isinstance(column, Singles):
        return _entries_of_singles(key, column.values)
    if isinstance(column, Ragged):
        return _entries_of_floats(key, column.values, column.lengths, kind)
    flat: list[Any] = list(itertools.chain.from_iterable(column))
    lengths = list(map(len, column))
    if flat and lengths == [1] * len(lengths):
        return _entries_of_singles(key, flat)
    first = flat[0] if flat else None
    if isinstance(first, bytes):
        tagged = iter([_tagged(b"\n", len(value)) + value for value in flat])
        values = [b"".join(itertools.islice(tagged, length)) for length in lengths]
        return [
            _before_list(key, "bytes", len(value)) if value else _empty(key, kind)
            for value in values
        ], values
    if isinstance(first, float):
        return _entries_of_floats(key, flat, lengths, kind)
    varints = _varints(key, flat)
    rows: Sequence[Sequence[Any]] = column
    values = [b"".join([varints[number] for number in numbers]) for numbers in rows]
    return _entries_of_numbers(key, "int64", values, kind)


def _entries_of_singles(key: str, values: Sequence[Any]) -> tuple[Sequence[bytes], ...]:
    """Like `_entries`, for lists of one value each."""
    if isinstance(values[0], bytes):
        return [_before_value(key, "bytes", len(value)) for value in values], values
    if isinstance(values[0], float):
        data = _float_bytes(values)
        before = [_before_value(key, "float32", 4)] * len(values)
        return before, [data[at : at + 4] for at in range(0, len(data), 4)]
    entries = {
        number: _before_value(key, "int64", len(value)) + value
        for number, value in _varints(key, values).items()
    }
    return ([entries[number] for number in values],)


def _entries_of_floats(
    key: str, flat: Sequence[float] | npt.NDArray[Any], lengths: Sequence[int], kind: str | None
) -> tuple[Sequence[bytes], ...]:
    data = _float_bytes(flat)
    ends = itertools.accumulate(4 * length for length in lengths)
    values = [data[end - 4 * n : end] for end, n in zip(ends, lengths, strict=True)]
    return _entries_of_numbers(key, "float32", values, kind)


def _float_bytes(values: Sequence[float] | npt.NDArray[Any]) -> bytes:
    with np.errstate(over="ignore"):
        return np.array(values, "<f4").tobytes()


def _varints(key: str, values: Sequence[int]) -> dict[int, bytes]:
    if values and not -(2**63) <= min(values) <= max(values) < 2**63:
        raise RecordError("value out of range", f"feature {key}: an int of over 64 bits")
    return {number: _varint(number & _64_BITS) for number in set(values)}


def _entries_of_numbers(
    key: str, dtype: str, values: Sequence[bytes], kind: str | None
) -> tuple[Sequence[bytes], ...]:
    return [
        _before_value(key, dtype, len(value)) if value else _empty(key, kind) for value in values
    ], values


def _varint(number: int) -> bytes:
    """Encode a non-negative number as a varint."""
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)


@functools.lru_cache(4096)
def _tagged(tag: bytes, num_bytes: int) -> bytes:
    """Encode the tag and length of a message's field."""
    return tag + _varint(num_bytes)


@functools.lru_cache(4096)
def _before_value(key: str, dtype: str, num_bytes: int) -> bytes:
    """Encode an entry up to its only bytes value, or up to its packed numbers."""
    inside = _tagged(b"\n", num_bytes)
    return _before_list(key, dtype, len(inside) + num_bytes) + inside


@functools.lru_cache(4096)
def _before_list(key: str, dtype: str, num_bytes: int) -> bytes:
    """Encode an entry up to its list."""
    inside = _tagged(TAGS[dtype], num_bytes)
    return _before_feature(key, len(inside) + num_bytes) + inside


@functools.lru_cache(4096)
def _before_feature(key: str, num_bytes: int) -> bytes:
    """Encode an entry up to its Feature."""
    name = key.encode()
    inside = _tagged(b"\n", len(name)) + name + _tagged(b"\x12", num_bytes)
    return _tagged(b"\n", len(inside) + num_bytes) + inside


def _empty(key: str, kind: str | None) -> bytes:
    """Encode an entry with an empty list."""
    return _before_list(key, kind, 0) if kind else _before_feature(key, 0)


def decode(data: bytes) -> dict[str, list[bytes] | list[int] | list[float]]:
    """Parse a serialized Example to values by key, keys sorted.

    Raises:
        ValueError: `data` is not an Example.
    """
    return {key: list(values) for key, (_, values) in sorted(lists(data).items())}


def lists(data: bytes, keys: Iterable[str] | None = None) -> dict[str, tuple[str, Sequence[Any]]]:
    """Parse a serialized Example to (kind, values) by key, in no order; only `keys` if given.

    The kind is "bytes", "float32" or "int64", or "" for a feature without one. The values are
    not copied.

    Raises:
        ValueError: `data` is not an Example, or has too many keys.
    """
    features = features_of(data)
    if keys is None:
        return {key: _list(feature) for key, feature in features.items()}
    return {key: _list(features[key]) for key in keys if key in features}


def features_of(data: bytes) -> Mapping[str, Any]:
    """Parse a serialized Example to Features by key, in no order.

    Raises:
        ValueError: As in `lists`.
    """
    if has_too_many(data):
        raise ValueError(f"an Example has {TOO_MANY}")
    try:
        example = Example.FromString(data)
    except DecodeError as error:
        raise ValueError(f"not a tf.train.Example: {error}") from error
    if len(unknown_fields.UnknownFieldSet(example)):
        raise ValueError("not a tf.train.Example; perhaps a tf.train.SequenceExample")
    features: Mapping[str, Any] = example.features.feature
    return features


def _list(feature: Any) -> tuple[str, Sequence[Any]]:
    match feature.WhichOneof("kind"):
        case "int64_list":
            return "int64", feature.int64_list.value
        case "float_list":
            return "float32", feature.float_list.value
        case "bytes_list":
            return "bytes", feature.bytes_list.value
    return "", ()
