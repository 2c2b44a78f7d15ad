"""`tf.train.Example` without TensorFlow.

>>> from tfrecord_dataset.format.example import bytes_feature, int64_feature, serialize
>>> len(serialize({"image": bytes_feature(b"jpeg"), "label": int64_feature(3)}))
37

The bytes equal TensorFlow's own with `deterministic=True`.
"""

import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
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


def _message_class(name: str) -> Any:
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"tensorflow.{name}"))


# The message classes; each is tf.train's of that name, on the wire and in use.
Example = _message_class("Example")
Features = _message_class("Features")
Feature = _message_class("Feature")
BytesList = _message_class("BytesList")
FloatList = _message_class("FloatList")
Int64List = _message_class("Int64List")


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
    """A column with one value per Example, without nested lists.

    Attributes:
        values: The values.
    """

    def __init__(self, values: Iterable[Any]) -> None:
        self.values = list(values)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, at: Any) -> Any:
        return [self.values[at]]


# The tag of each list kind in a Feature.
_TAGS = {"bytes": b"\n", "float32": b"\x12", "int64": b"\x1a"}
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
    for key in _in_order(tuple(columns)):
        parts += _entries(key, columns[key], (kinds or {}).get(key))
    examples = map(b"".join, zip(*parts, strict=True))
    return [b"".join((_start(len(each)), each)) for each in examples]


@functools.lru_cache(256)
def _in_order(keys: tuple[str, ...]) -> list[str]:
    """Sort keys in protobuf's order: by bytes, but a prefix of another key comes after it."""
    return sorted(keys, key=lambda key: key.encode() + b"\xff")


def _entries(
    key: str, column: Sequence[FeatureValue], kind: str | None
) -> tuple[Sequence[bytes], ...]:
    """Encode a key's map entry per Example: one column of bytes, or two to join."""
    if isinstance(column, Singles):
        return _entries_of_singles(key, column.values)
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
        data = _float_bytes(flat)
        ends = itertools.accumulate(4 * length for length in lengths)
        values = [data[end - 4 * n : end] for end, n in zip(ends, lengths, strict=True)]
        return _entries_of_numbers(key, "float32", values, kind)
    varints = _varints(key, flat)
    rows: Sequence[Sequence[Any]] = column
    values = [b"".join([varints[number] for number in numbers]) for numbers in rows]
    return _entries_of_numbers(key, "int64", values, kind)


def _entries_of_singles(key: str, values: Sequence[Any]) -> tuple[Sequence[bytes], ...]:
    """As `_entries`, for lists of one value each."""
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


def _float_bytes(values: Sequence[float]) -> bytes:
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


def _tagged(tag: bytes, num_bytes: int) -> bytes:
    """Encode the tag and length of a message's field."""
    return tag + _varint(num_bytes)


@functools.lru_cache(4096)
def _start(num_bytes: int) -> bytes:
    """Encode the header of an Example before its entries."""
    return _tagged(b"\n", num_bytes)


@functools.lru_cache(4096)
def _before_value(key: str, dtype: str, num_bytes: int) -> bytes:
    """Encode an entry up to its only bytes value, or up to its packed numbers."""
    inside = _tagged(b"\n", num_bytes)
    return _before_list(key, dtype, len(inside) + num_bytes) + inside


@functools.lru_cache(4096)
def _before_list(key: str, dtype: str, num_bytes: int) -> bytes:
    """Encode an entry up to its list."""
    inside = _tagged(_TAGS[dtype], num_bytes)
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


# Not np.bytes_, whose `item` drops trailing zeros.
_NUMPY_SCALARS = (np.number, np.bool_)


def bytes_feature(value: object) -> Any:
    """Make a Feature with a bytes list.

    Args:
        value: Bytes, or text, which is stored as UTF-8; or a list, tuple or NumPy array of
            those, arrays in C order. For numbers as raw bytes pass `array.tobytes()`.

    Raises:
        RecordError: "unsupported value" for another type, "not UTF-8" for text with surrogates.
    """
    return Feature(bytes_list=BytesList(value=_flat(value, "SUO", _bytes, "bytes or text")))


def float_feature(value: object) -> Any:
    """Make a Feature with a list of 32-bit floats, rounding wider ones.

    Args:
        value: A number of Python or NumPy, including NaN and infinity; or a list, tuple or NumPy
            array of numbers, arrays in C order.

    Raises:
        RecordError: "unsupported value" for another type, "value out of range" beyond the largest
            32-bit float, which TensorFlow would store as infinity.
    """
    return Feature(float_list=FloatList(value=_rounded(_flat(value, "fiub", _float, "numbers"))))


def int64_feature(value: object) -> Any:
    """Make a Feature with a list of 64-bit ints.

    Args:
        value: A whole number or bool of Python or NumPy; or a list, tuple or NumPy array of them,
            arrays in C order. Floats are refused, even 3.0.

    Raises:
        RecordError: "unsupported value" for another type, "value out of range" beyond 64 bits.
    """
    values = _flat(value, "iub", _int, "whole numbers")
    try:
        return Feature(int64_list=Int64List(value=values))
    except ValueError as error:
        raise RecordError("value out of range", f"int64_feature: {error}") from error


def serialize(features: Mapping[str, Any]) -> bytes:
    """Serialize an Example of features by name, as in a TFRecord file.

    Equal features give equal bytes, in any order.

    Raises:
        RecordError: "unsupported value" for anything but a Feature.
    """
    for name, feature in features.items():
        if not isinstance(feature, Feature):
            raise RecordError(
                "unsupported value",
                f"feature {name!r} is {_shown(feature)}; make it with bytes_feature, "
                "float_feature or int64_feature",
            )
    example = Example(features=Features(feature=features))
    data: bytes = example.SerializeToString(deterministic=True)
    return data


def _flat(value: object, kinds: str, convert: Callable[[object], Any], wanted: str) -> list[Any]:
    """Flatten `value` to values of Python's own types.

    Args:
        value: One value, a sequence of them, or an array.
        kinds: NumPy's letters for accepted array dtypes; an empty array may have any dtype.
        convert: Converts a value for the list; None if it cannot.
        wanted: Accepted values, for messages.
    """
    single = isinstance(value, str | bytes | bytearray | memoryview)
    if not single and hasattr(value, "__array__"):  # including TensorFlow's eager tensors
        array = np.asarray(value)
        if not array.size:
            return []
        if array.dtype.kind not in kinds:
            raise RecordError(
                "unsupported value", f"an array of dtype {array.dtype}, expected {wanted}"
            )
        values: Sequence[Any] = array.ravel().tolist()
    else:
        values = value if isinstance(value, Sequence) and not single else [value]
        values = [each.item() if isinstance(each, _NUMPY_SCALARS) else each for each in values]
    converted = [convert(each) for each in values]
    for number, each in enumerate(converted):
        if each is None:
            where = f" at index {number}" if len(converted) > 1 else ""
            raise RecordError(
                "unsupported value",
                f"{_shown(values[number])}{where}, expected {wanted}",
            )
    return converted


def _shown(value: object) -> str:
    """Format `value` and its type for messages."""
    text = repr(value)
    return f"{text if len(text) <= 80 else text[:77] + '...'} ({type(value).__name__})"


def _bytes(value: object) -> bytes | None:
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError as error:
            raise RecordError("not UTF-8", f"{value!a}") from error
    return bytes(value) if isinstance(value, bytes | bytearray | memoryview) else None


def _float(value: object) -> float | None:
    if not isinstance(value, float | int | np.longdouble):
        return None
    try:
        return float(value)
    except OverflowError as error:
        raise RecordError("value out of range", f"float_feature: {_shown(value)}") from error


def _int(value: object) -> int | None:
    return int(value) if isinstance(value, int) else None


def _rounded(values: list[float]) -> list[float]:
    """Round `values` to 32-bit floats."""
    wide = np.asarray(values, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = wide.astype(np.float32)
    if (lost := np.isinf(narrow) & np.isfinite(wide)).any():
        raise RecordError(
            "value out of range",
            f"float_feature: {wide[lost][0]:g} exceeds the largest 32-bit float, "
            f"{np.finfo(np.float32).max:g}",
        )
    rounded: list[float] = narrow.tolist()
    return rounded


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
    found = features_of(data)
    if keys is None:
        return {key: _list(feature) for key, feature in found.items()}
    return {key: _list(found[key]) for key in keys if key in found}


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
    found: Mapping[str, Any] = example.features.feature
    return found


def _list(feature: Any) -> tuple[str, Sequence[Any]]:
    match feature.WhichOneof("kind"):
        case "int64_list":
            return "int64", feature.int64_list.value
        case "float_list":
            return "float32", feature.float_list.value
        case "bytes_list":
            return "bytes", feature.bytes_list.value
    return "", ()
