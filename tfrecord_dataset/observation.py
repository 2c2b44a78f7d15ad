"""Statistics of the keys of Examples, over a sample of records."""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tfrecord_dataset import example, example_keys
from tfrecord_dataset.value_forms import AUDIO_FORMS, IMAGE_FORMS, form_of

# Possible (dtype, channels) of a square of raw numbers, the most likely first.
RAW_LAYOUTS = tuple(
    (dtype, channels) for dtype in ("float32", "float64", "uint8") for channels in (1, 3)
)
# Real data is usually in between; other bytes read as floats rarely are.
_SMALLEST, _LARGEST = 1e-10, 1e10
# The only NaN, except for its sign, that NumPy and processors write, by bytes per value.
_NAN_BITS = {4: 0x7FC00000, 8: 0x7FF8000000000000}


@dataclasses.dataclass(slots=True, kw_only=True)
class KeyStatistics:
    """Statistics of one key.

    Attributes:
        where: By the kind of list ("int64", "float32", "bytes") a record that has it.
        num_records: Records that have the key.
        shortest, longest: Values per record, among these.
        fours: Whether all lengths are multiples of 4.
        smallest, largest: Of int64 values; None where there are none.
        forms: Of single bytes values: a key of `IMAGE_FORMS` or `AUDIO_FORMS`, "text", "raw",
            or "" for an empty one.
        num_bytes: Lengths of single bytes values that are not empty.
        layouts: Those of `RAW_LAYOUTS` that fit all of these.
    """

    where: dict[str, str] = dataclasses.field(default_factory=dict)
    num_records: int = 0
    shortest: int = 0
    longest: int = 0
    fours: bool = True
    smallest: float | None = None
    largest: float | None = None
    forms: set[str] = dataclasses.field(default_factory=set)
    num_bytes: set[int] = dataclasses.field(default_factory=set)
    layouts: tuple[tuple[str, int], ...] = RAW_LAYOUTS

    def add(self, kind: str, values: Sequence[Any], where: str) -> None:
        """Takes one more record's list into account, as `example.lists` has it.

        Args:
            kind: Of the list, "" for none.
            values: The list.
            where: Names the record.
        """
        if kind:
            self.where.setdefault(kind, where)
        length = len(values)
        self.shortest = min(self.shortest, length) if self.num_records else length
        self.longest = max(self.longest, length)
        self.fours &= length % 4 == 0
        self.num_records += 1
        if kind == "int64" and values:
            smallest, largest = min(values), max(values)
            self.smallest = smallest if self.smallest is None else min(smallest, self.smallest)
            self.largest = largest if self.largest is None else max(largest, self.largest)
        elif kind == "bytes" and length == 1:
            self._add_bytes(values[0])

    def _add_bytes(self, value: bytes) -> None:
        form = form_of(value)
        self.forms.add(form)
        if value:
            self.num_bytes.add(len(value))
            encoded = form in IMAGE_FORMS | AUDIO_FORMS
            self.layouts = tuple(
                (dtype, channels)
                for dtype, channels in self.layouts
                if is_plausible(value, dtype, channels) and not (encoded and dtype != "uint8")
            )


@dataclasses.dataclass(frozen=True, slots=True)
class Sample:
    """Statistics of some records of a dataset.

    Attributes:
        num_records: The number of records.
        keys: Statistics by key.
    """

    num_records: int
    keys: Mapping[str, KeyStatistics]


def observe(records: Iterable[tuple[str, bytes]]) -> Sample:
    """The statistics of (where, serialized Example) pairs.

    Raises:
        ValueError: A record is not an Example, or has too many keys, as all of them together may.
    """
    keys: dict[str, KeyStatistics] = {}
    num_records = 0
    for where, serialized in records:
        num_records += 1
        for key, (kind, values) in example.lists(serialized).items():
            keys.setdefault(key, KeyStatistics()).add(kind, values, where)
        if len(keys) > example_keys.MAX_KEYS:
            raise ValueError(f"they have {example_keys.TOO_MANY}")
    return Sample(num_records, keys)


def is_plausible(value: bytes, dtype: str, channels: int) -> bool:
    """Whether `value` may be a square of n by n pixels, n ≥ 2, of such numbers."""
    side = square_side(len(value), dtype, channels)
    if side < 2 or side * side * channels * np.dtype(dtype).itemsize != len(value):
        return False
    if dtype == "uint8":
        return True
    with np.errstate(invalid="ignore"):  # comparing signalling NaNs
        sizes = np.abs(np.frombuffer(value, np.dtype(dtype).newbyteorder("<")))
        width = sizes.itemsize
        nan = sizes.view(f"<u{width}") == _NAN_BITS[width]
        return bool(((sizes == 0) | nan | ((sizes > _SMALLEST) & (sizes < _LARGEST))).all())


def square_side(num_bytes: int, dtype: str, channels: int) -> int:
    """The side, in pixels, of the largest square that fits into so many bytes."""
    return math.isqrt(num_bytes // (np.dtype(dtype).itemsize * channels))
