"""The values of one feature in one split, counted exactly: sums do not depend on their order."""

import dataclasses
import math
import operator
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from beam_pipeline.records import (
    Array,
    Audio,
    ClassLabel,
    ClassLabels,
    Image,
    ListSummary,
    Objects,
    Value,
)

# Distinct strings that are counted, and their characters; where there are more, none are counted.
MAX_DISTINCT = 10_000
_MAX_CHARACTERS = 100
# Columns of an array of one axis whose moments are kept.
MAX_COLUMNS = 1024
# 2^-149 is float32's smallest number: as multiples of it, its numbers are whole.
_FRACTION_BITS = 149
_MAX_WAITING = 128
# From here on, float64 has whole numbers alone.
_WHOLE = 2.0**53


class Moments:
    """The numbers of one column; some wait in a list, which costs less than to count each alone."""

    __slots__ = ("_count", "_maximum", "_minimum", "_missing", "_squares", "_total", "_waiting")

    def __init__(self) -> None:
        self._waiting: list[float | int] = []
        self._count = 0
        self._missing = 0
        self._total = 0  # in 2^-149
        self._squares = 0  # in 2^-298
        self._minimum: float | int | None = None
        self._maximum: float | int | None = None

    def add(self, number: float | int) -> None:
        """Adds a number."""
        self._waiting.append(number)
        if len(self._waiting) > _MAX_WAITING:
            self._settle()

    def merge(self, other: Self) -> None:
        """Adds all of `other`."""
        self._waiting += other._waiting
        self._count += other._count
        self._missing += other._missing
        self._total += other._total
        self._squares += other._squares
        self._minimum = _known(min, self._minimum, other._minimum)
        self._maximum = _known(max, self._maximum, other._maximum)
        if len(self._waiting) > _MAX_WAITING:
            self._settle()

    def facts(self) -> dict[str, float | int | None]:
        """`count` of finite numbers, and how many others are `missing`; of the finite ones
        `minimum`, `maximum`, `mean` and `variance` (divided by their count), None without any.
        """
        self._settle()
        spread = self._count * self._squares - self._total * self._total
        return {
            "count": self._count,
            "missing": self._missing,
            "minimum": self._minimum,
            "maximum": self._maximum,
            "mean": _ratio(self._total, self._count << _FRACTION_BITS),
            "variance": _ratio(spread, self._count * self._count << 2 * _FRACTION_BITS),
        }

    def _settle(self) -> None:
        numbers = [number for number in self._waiting if math.isfinite(number)]
        self._missing += len(self._waiting) - len(numbers)
        self._waiting = []
        if not numbers:
            return
        whole = list(map(_whole, numbers))
        self._count += len(numbers)
        self._total += sum(whole)
        self._squares += sum(map(operator.mul, whole, whole))
        self._minimum = _known(min, self._minimum, min(numbers))
        self._maximum = _known(max, self._maximum, max(numbers))


def _whole(number: float | int) -> int:
    """A finite number in 2^-149."""
    if isinstance(number, int) or abs(number) >= _WHOLE:
        return int(number) << _FRACTION_BITS
    return int(math.ldexp(number, _FRACTION_BITS))


def _ratio(numerator: int, denominator: int) -> float | None:
    """None where there is none, or float64 has no such number."""
    try:
        return numerator / denominator
    except ArithmeticError:
        return None


def _known(choose: Callable[..., Any], one: Any, other: Any) -> Any:
    """The chosen of both, or the only one that is not None."""
    return choose(one, other) if None not in (one, other) else other if one is None else one


@dataclasses.dataclass(slots=True, kw_only=True)
class SplitValues:
    """The values of one feature in one split, over some records; they can be merged.

    Attributes:
        columns: Of a number one; of an array of one axis, one by number; none where there are
            more than `MAX_COLUMNS`, or where arrays differ in length.
        has_columns: Whether `columns` still count.
        strings: Strings by how often they are there; none where there are more than
            `MAX_DISTINCT`, or long ones.
        has_strings: Whether `strings` still count.
        classes: Classes by how often they are there.
        lengths: By what is measured ("height", "num_samples", "length", …): smallest, largest, sum.
        minimum, maximum: Of the numbers of all arrays; None where there are none.
        num_values: Records that have a value.
    """

    columns: list[Moments] = dataclasses.field(default_factory=list)
    has_columns: bool = True
    strings: Counter[str] = dataclasses.field(default_factory=Counter)
    has_strings: bool = True
    classes: Counter[str] = dataclasses.field(default_factory=Counter)
    lengths: dict[str, tuple[int, int, int]] = dataclasses.field(default_factory=dict)
    minimum: float | int | None = None
    maximum: float | int | None = None
    num_values: int = 0

    def add(self, value: Value) -> None:
        """Adds an inspected value."""
        self.num_values += 1
        match value:
            case int() | float() if len(self.columns) == 1:
                self.columns[0].add(value)
            case int() | float():
                self._add_row([value])
            case str():
                self._measure(length=len(value))
                self._count([value])
            case tuple():
                self._measure(length=len(value))
                self._count(value)
            case ClassLabel(name):
                self.classes[name] += 1
            case ClassLabels(names):
                self._measure(length=len(names))
                self.classes.update(names)
            case Objects():
                self._measure(length=len(value.boxes))
                self.classes.update(value.labels)
            case Image():
                self._measure(height=value.height, width=value.width)
            case Audio():
                self._measure(num_samples=value.num_samples)
            case Array():
                self._add_array(value)
            case ListSummary():
                self._measure(length=value.length)
                self._add_range(value.minimum, value.maximum)
                self._drop_columns()
                self._drop_strings()

    def _add_array(self, array: Array) -> None:
        self._measure(length=array.shape[0])
        self._add_range(array.minimum, array.maximum)
        if len(array.shape) == 1 and array.shape[0] <= MAX_COLUMNS and array.data:
            dtype = np.dtype("uint8" if array.dtype == "bool" else array.dtype)
            self._add_row(np.frombuffer(array.data, dtype.newbyteorder("<")).tolist())
        else:
            self._drop_columns()

    def _add_row(self, numbers: list[Any]) -> None:
        if not self.has_columns:
            return
        if not self.columns:
            self.columns = [Moments() for _ in numbers]
        if len(numbers) != len(self.columns):
            self._drop_columns()
            return
        for column, number in zip(self.columns, numbers, strict=True):
            column.add(number)

    def _drop_columns(self) -> None:
        self.columns, self.has_columns = [], False

    def _measure(self, **lengths: int) -> None:
        for name, length in lengths.items():
            self._add_lengths(name, (length, length, length))

    def _add_lengths(self, name: str, added: tuple[int, int, int]) -> None:
        least, most, total = self.lengths.get(name, (added[0], added[1], 0))
        self.lengths[name] = (min(least, added[0]), max(most, added[1]), total + added[2])

    def _add_range(self, minimum: float | int | None, maximum: float | int | None) -> None:
        self.minimum = _known(min, self.minimum, minimum)
        self.maximum = _known(max, self.maximum, maximum)

    def _count(self, strings: Sequence[str]) -> None:
        if self.has_strings:
            self.strings.update(strings)
            if len(self.strings) > MAX_DISTINCT or any(len(s) > _MAX_CHARACTERS for s in strings):
                self._drop_strings()

    def _drop_strings(self) -> None:
        self.strings, self.has_strings = Counter(), False

    def merge(self, other: Self) -> None:
        """Adds all of `other`."""
        self.num_values += other.num_values
        self.classes.update(other.classes)
        for name, lengths in other.lengths.items():
            self._add_lengths(name, lengths)
        self._add_range(other.minimum, other.maximum)
        self.strings.update(other.strings)
        if not other.has_strings or not self.has_strings or len(self.strings) > MAX_DISTINCT:
            self._drop_strings()
        widths = {len(each) for each in (self.columns, other.columns) if each}
        if len(widths) > 1 or not (self.has_columns and other.has_columns):
            self._drop_columns()
            return
        self.columns = self.columns or [Moments() for _ in other.columns]
        for column, more in zip(self.columns, other.columns, strict=False):
            column.merge(more)
