"""Values by key as serialized Examples: put together here, a column of values after the other.

That takes a third of the time that protobuf takes; sizes and small numbers repeat from record to
record.
"""

import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfrecord_dataset.errors import RecordError

FeatureValue = Sequence[bytes] | Sequence[int] | Sequence[float]
"""What one key of an Example holds: all bytes, all ints, or all floats; may be empty."""

# The tag of each kind's list in a Feature.
_TAGS = {"bytes": b"\n", "float32": b"\x12", "int64": b"\x1a"}
_64_BITS = (1 << 64) - 1


def encode(values: Mapping[str, FeatureValue], kinds: Mapping[str, str] | None = None) -> bytes:
    """A serialized Example; the same values give the same bytes, whatever their order.

    Args:
        values: By key.
        kinds: As `encode_columns`.

    Raises:
        RecordError: "value out of range": an int beyond 64 bits.
    """
    if not values:
        return b""
    [example] = encode_columns({key: [value] for key, value in values.items()}, kinds)
    return example


def encode_columns(
    columns: Mapping[str, Sequence[FeatureValue]], kinds: Mapping[str, str] | None = None
) -> list[bytes]:
    """Serialized Examples.

    Args:
        columns: By key what each Example holds; at least one key.
        kinds: By key "bytes", "float32" or "int64": the kind that an empty list states, as
            TensorFlow's do. Of another key it states none: TensorFlow reads that as an empty list
            of any kind, but not every reader does.

    Raises:
        RecordError: "value out of range": an int beyond 64 bits.
    """
    parts: list[Sequence[bytes]] = []
    for key in _in_order(tuple(columns)):
        parts += _entries(key, columns[key], (kinds or {}).get(key))
    examples = map(b"".join, zip(*parts, strict=True))
    return [b"".join((_start(len(each)), each)) for each in examples]


@functools.lru_cache(256)
def _in_order(keys: tuple[str, ...]) -> list[str]:
    """Keys in protobuf's order: by their bytes, but one that begins others comes after them."""
    return sorted(keys, key=lambda key: key.encode() + b"\xff")


def _entries(
    key: str, column: Sequence[FeatureValue], kind: str | None
) -> tuple[Sequence[bytes], ...]:
    """The entries of a key in each Example's map: one column of bytes, or two that are joined."""
    flat: list[Any] = list(itertools.chain.from_iterable(column))
    lengths = list(map(len, column))
    first = flat[0] if flat else None
    if isinstance(first, bytes):
        return _entries_of_bytes(key, flat, lengths, kind)
    if isinstance(first, float):
        with np.errstate(over="ignore"):
            data = np.array(flat, "<f4").tobytes()
        ends = itertools.accumulate(4 * length for length in lengths)
        values = [data[end - 4 * n : end] for end, n in zip(ends, lengths, strict=True)]
        return _entries_of_numbers(key, "float32", values, kind)
    if flat and not -(2**63) <= min(flat) <= max(flat) < 2**63:
        raise RecordError("value out of range", f"feature {key}: an int of over 64 bits")
    varints = {number: _varint(number & _64_BITS) for number in set(flat)}
    if lengths == [1] * len(lengths):
        entries = {
            number: _before_value(key, "int64", len(value)) + value
            for number, value in varints.items()
        }
        return ([entries[number] for number in flat],)
    values = [b"".join([varints[number] for number in numbers]) for numbers in column]
    return _entries_of_numbers(key, "int64", values, kind)


def _entries_of_bytes(
    key: str, flat: Sequence[bytes], lengths: Sequence[int], kind: str | None
) -> tuple[Sequence[bytes], ...]:
    if lengths == [1] * len(lengths):
        return [_before_value(key, "bytes", len(value)) for value in flat], flat
    tagged = iter([_tagged(b"\n", len(value)) + value for value in flat])
    values = [b"".join(itertools.islice(tagged, length)) for length in lengths]
    return [
        _before_list(key, "bytes", len(value)) if value else _empty(key, kind) for value in values
    ], values


def _entries_of_numbers(
    key: str, dtype: str, values: Sequence[bytes], kind: str | None
) -> tuple[Sequence[bytes], ...]:
    return [
        _before_value(key, dtype, len(value)) if value else _empty(key, kind) for value in values
    ], values


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
def _start(num_bytes: int) -> bytes:
    """What stands before the entries of an Example."""
    return _tagged(b"\n", num_bytes)


@functools.lru_cache(4096)
def _before_value(key: str, dtype: str, num_bytes: int) -> bytes:
    """An entry up to the only bytes of its list, or up to its packed numbers."""
    inside = _tagged(b"\n", num_bytes)
    return _before_list(key, dtype, len(inside) + num_bytes) + inside


@functools.lru_cache(4096)
def _before_list(key: str, dtype: str, num_bytes: int) -> bytes:
    """An entry up to the bytes of its list."""
    inside = _tagged(_TAGS[dtype], num_bytes)
    return _before_feature(key, len(inside) + num_bytes) + inside


@functools.lru_cache(4096)
def _before_feature(key: str, num_bytes: int) -> bytes:
    """An entry up to its Feature."""
    name = key.encode()
    inside = _tagged(b"\n", len(name)) + name + _tagged(b"\x12", num_bytes)
    return _tagged(b"\n", len(inside) + num_bytes) + inside


def _empty(key: str, kind: str | None) -> bytes:
    """An entry whose list holds nothing."""
    return _before_list(key, kind, 0) if kind else _before_feature(key, 0)
