"""Values by key as a serialized Example: of a single value, as most are, put together here.

That takes a third of the time that protobuf takes; sizes and small numbers repeat from record to
record.
"""

import functools
from collections.abc import Mapping, Sequence

from tfrecord_dataset.errors import RecordError
from tfrecord_dataset.example_messages import Feature

FeatureValue = Sequence[bytes] | Sequence[int] | Sequence[float]
"""What one key of an Example holds: all bytes, all ints, or all floats; may be empty."""

# The field of each kind.
_LISTS = {"bytes": "bytes_list", "float32": "float_list", "int64": "int64_list"}


def encode(values: Mapping[str, FeatureValue], kinds: Mapping[str, str] | None = None) -> bytes:
    """A serialized Example; the same values give the same bytes, whatever their order.

    Args:
        values: By key.
        kinds: By key "bytes", "float32" or "int64": the kind that an empty list states, as
            TensorFlow's do. Of another key it states none: TensorFlow reads that as an empty list
            of any kind, but not every reader does.

    Raises:
        RecordError: "value out of range": an int beyond 64 bits.
    """
    if not values:
        return b""
    kinds = kinds or {}
    parts: list[bytes] = []
    for key in _in_order(tuple(values)):
        value = values[key]
        first = value[0] if len(value) == 1 else None
        if type(first) is bytes:
            parts += _before_bytes(key, len(first)), first
        elif type(first) is int and first >> 63 == 0:
            parts.append(_entry_of_int(key, first))
        else:
            feature = _feature_of(key, value, kinds)
            parts += _before_feature(key, len(feature)), feature
    return b"".join((b"\n", _varint(sum(map(len, parts))), *parts))


@functools.lru_cache(256)
def _in_order(keys: tuple[str, ...]) -> list[str]:
    """Keys in protobuf's order: by their bytes, but one that begins others comes after them."""
    return sorted(keys, key=lambda key: key.encode() + b"\xff")


def _feature_of(key: str, value: FeatureValue, kinds: Mapping[str, str]) -> bytes:
    """A serialized Feature."""
    feature = Feature()
    if not value:
        if key in kinds:
            getattr(feature, _LISTS[kinds[key]]).SetInParent()
    elif isinstance(value[0], bytes):
        feature.bytes_list.value.extend(value)
    elif isinstance(value[0], float):
        feature.float_list.value.extend(value)
    else:
        try:
            feature.int64_list.value.extend(value)
        except ValueError as error:
            raise RecordError("value out of range", f"feature {key}: {error}") from error
    data: bytes = feature.SerializeToString()
    return data


def _varint(number: int) -> bytes:
    """A number, from 0 on, as protobuf has it."""
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)


def _tagged(tag: bytes, num_bytes: int) -> bytes:
    """What stands before so many bytes of a message's field."""
    return tag + _varint(num_bytes)


@functools.lru_cache(4096)
def _before_feature(key: str, num_bytes: int) -> bytes:
    """An entry of an Example's map, up to its Feature of so many bytes."""
    name = key.encode()
    inside = _tagged(b"\n", len(name)) + name + _tagged(b"\x12", num_bytes)
    return _tagged(b"\n", len(inside) + num_bytes) + inside


@functools.lru_cache(4096)
def _before_bytes(key: str, num_bytes: int) -> bytes:
    """The same up to the only value of its list of bytes."""
    inside = _tagged(b"\n", num_bytes)
    inside = _tagged(b"\n", len(inside) + num_bytes) + inside
    return _before_feature(key, len(inside) + num_bytes) + inside


@functools.lru_cache(4096)
def _entry_of_int(key: str, number: int) -> bytes:
    """All of an entry whose list of ints has one value."""
    value = _varint(number)
    feature = _tagged(b"\x1a", len(value) + 2) + _tagged(b"\n", len(value)) + value
    return _before_feature(key, len(feature)) + feature
