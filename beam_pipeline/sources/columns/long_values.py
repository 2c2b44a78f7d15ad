"""Which values are so long that a record refers to where they lie, to be small in memory."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from beam_pipeline.records import Array, ClassLabels, Value

Convert = Callable[[Sequence[Any]], list[Value | None]]
"""Makes values of what a column holds in some rows; None where a record lacks the feature."""

# A reference takes some hundred bytes itself, and its range is read once more.
LONG_RANGE_BYTES = 1 << 10
LONG_VALUE_BYTES = 256


def is_long_range(num_bytes: int) -> bool:
    """Whether what lies in so many bytes may hold long values."""
    return num_bytes > LONG_RANGE_BYTES


def is_long(value: object) -> bool:
    """Whether a text, a list or what is made of it is worth a reference."""
    return _num_bytes(value) >= LONG_VALUE_BYTES


def _num_bytes(value: object) -> int:
    match value:
        case str():
            return len(value)
        case tuple() | list():
            return sum(map(_num_bytes, value)) + 8 * len(value)
        case dict():
            return _num_bytes([*value, *value.values()])
        case ClassLabels():
            return _num_bytes(value.names)
        case Array():
            return len(value.data)
    return 0


def reader(cell: Callable[[bytes], Any], convert: Convert) -> Callable[[bytes], Value]:
    """The `Deferred.read` of a column's values.

    Args:
        cell: Reads what the column holds from the bytes of a range.
        convert: Makes values of what the column holds.
    """
    return functools.partial(_read, cell=cell, convert=convert)


def _read(data: bytes, cell: Callable[[bytes], Any], convert: Convert) -> Value:
    (value,) = convert([cell(data)])
    assert value is not None  # it was long
    return value
