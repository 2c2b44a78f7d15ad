"""Statistics of one feature's values over several records, mergeable in any order.

Kinds choose what to count (`Kind.observe`); this module counts and merges.
Schemas are inferred from them, plans show them, and statistics.json has them by split.
"""

import dataclasses
import math
import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar

from beam_pipeline.kinds.numbers import Number, Rounding
from beam_pipeline.records import Array, ListSummary
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.shown_text import counted

Range = tuple[Number, Number]
"""The smallest and the largest of some numbers."""
_N = TypeVar("_N", bound=float)
KeypointNaming = tuple[tuple[str, ...], tuple[int, ...]]

# 2^-149 is float32's smallest positive number; all its numbers are integer multiples of it.
_FRACTION_BITS = 149
_MAX_WAITING = 128
# From here on, float64 has only whole numbers.
_WHOLE = 2.0**53
# Keys of `Observed.example`: objects with class names, and without.
NAMED, NAMELESS = "named", "nameless"
# Sizes to keep, as it only matters whether they differ; one more for points, which may lack names.
_KEPT = 2
_KEPT_RATES = 16
_KEPT_NAMINGS = 3
# Limits of distinct strings and their characters; beyond them, none are counted.
MAX_DISTINCT = 10_000
_MAX_CHARACTERS = 100
# Columns of a one-dimensional array with moments.
MAX_COLUMNS = 1024


def spanned(one: tuple[_N, _N] | None, other: tuple[_N, _N] | None) -> tuple[_N, _N] | None:
    """Return the union of two ranges; None without numbers."""
    if one is None or other is None:
        return one or other
    return min(one[0], other[0]), max(one[1], other[1])


class Moments:
    """Moments of one column; numbers are buffered in a list, as adding them singly is slower."""

    __slots__ = ("_count", "_missing", "_range", "_squares", "_total", "_waiting")

    def __init__(self) -> None:
        self._waiting: list[float | int] = []
        self._count = 0
        self._missing = 0
        self._total = 0  # in units of 2^-149
        self._squares = 0  # in units of 2^-298
        self._range: Range | None = None

    def extend(self, numbers: Iterable[float | int]) -> None:
        """Add numbers."""
        self._waiting.extend(numbers)
        if len(self._waiting) > _MAX_WAITING:
            self._settle()

    def merge(self, other: Self) -> None:
        """Add all of `other`."""
        self._waiting += other._waiting
        self._count += other._count
        self._missing += other._missing
        self._total += other._total
        self._squares += other._squares
        self._range = spanned(self._range, other._range)
        if len(self._waiting) > _MAX_WAITING:
            self._settle()

    def facts(self) -> dict[str, float | int | None]:
        """Return `count` of finite numbers, number of `missing` ones, and `minimum`, `maximum`,
        `mean` and `variance` (divided by the count) of the finite ones, None without any.
        """
        self._settle()
        minimum, maximum = self._range or (None, None)
        spread = self._count * self._squares - self._total * self._total
        return {
            "count": self._count,
            "missing": self._missing,
            "minimum": minimum,
            "maximum": maximum,
            "mean": _ratio(self._total, self._count << _FRACTION_BITS),
            "variance": _ratio(spread, self._count * self._count << 2 * _FRACTION_BITS),
        }

    def _settle(self) -> None:
        numbers = [number for number in self._waiting if math.isfinite(number)]
        self._missing += len(self._waiting) - len(numbers)
        self._waiting = []
        if not numbers:
            return
        ints = [number for number in numbers if isinstance(number, int)]
        floats = [number for number in numbers if not isinstance(number, int)]
        whole = list(map(_whole, floats))
        self._count += len(numbers)
        self._total += sum(whole) + (sum(ints) << _FRACTION_BITS)
        self._squares += sum(map(operator.mul, whole, whole))
        self._squares += sum(map(operator.mul, ints, ints)) << 2 * _FRACTION_BITS
        self._range = spanned(self._range, (min(numbers), max(numbers)))


def _whole(number: float) -> int:
    """Return a finite number in units of 2^-149."""
    if abs(number) >= _WHOLE:
        return int(number) << _FRACTION_BITS
    return int(math.ldexp(number, _FRACTION_BITS))


def _ratio(numerator: int, denominator: int) -> float | None:
    """Divide; None for a zero denominator, or if float64 cannot represent the result."""
    try:
        return numerator / denominator
    except ArithmeticError:
        return None


@dataclasses.dataclass(slots=True, kw_only=True)
class ListCounts:
    """Statistics of the lists of one key in existing Examples.

    Attributes:
        lengths: (shortest, longest) list, in values.
        fours: Whether all lengths are multiples of 4.
        characters: (fewest, most) of a text.
        has_classes: Whether a number may be a class.
        names: The names stored with each class number.
    """

    lengths: tuple[int, int] | None = None
    fours: bool = True
    characters: tuple[int, int] | None = None
    has_classes: bool = False
    names: dict[int, set[str]] = dataclasses.field(default_factory=dict)

    def add(self, length: int) -> None:
        """Add a list of this length."""
        if self.lengths != (length, length):
            self.lengths = spanned(self.lengths, (length, length))
        self.fours &= length % 4 == 0

    def add_characters(self, number: int) -> None:
        """Add a text of this length."""
        self.characters = spanned(self.characters, (number, number))

    def add_names(self, named: Iterable[tuple[int, str]]) -> None:
        """Add class numbers with their names; a number with two names has none."""
        for number, name in named:
            names = self.names.setdefault(number, set())
            if len(names) < _KEPT:
                names.add(name)

    def merge(self, other: Self) -> None:
        """Add all of `other`."""
        self.lengths = spanned(self.lengths, other.lengths)
        self.fours &= other.fours
        self.characters = spanned(self.characters, other.characters)
        self.has_classes |= other.has_classes
        self.add_names((number, name) for number, some in other.names.items() for name in some)


@dataclasses.dataclass(slots=True, kw_only=True)
class Observed:
    """Statistics of one feature's values over several records.

    Attributes:
        types: Number of records by type of value (`Kind.type_of`).
        example: Source of the first record by type, and with `NAMED` and `NAMELESS` objects.
        formats: Number of images and audio by encoding; of bytes in existing Examples by
            `ListSummary.form`.
        sizes: The smallest few sizes by axis: images (height, width), audio (samples, channels)
            and arrays.
        ranks: Numbers of axes.
        array_dtypes: Number of arrays by NumPy's name of their type.
        sample_rates: Number of audio values by samples per second, the lowest few.
        lengths: Smallest, largest, sum by measure ("height", "num_samples", "length", …).
        range: Range of all numbers except NaN.
        list_range: Range of the finite numbers in arrays and lists.
        list_not_finite: How many numbers in arrays and lists are NaN or infinite.
        nans: Number of records with NaN as their number.
        num_numbers: How many numbers there are, single or in arrays.
        rounding: The numbers that change in float32.
        columns: Moments: one for single numbers; one per column for one-dimensional arrays; None
            with more than `MAX_COLUMNS`, or if arrays differ in length.
        strings: Number of occurrences by string; None with more than `MAX_DISTINCT`, or with long
            ones.
        classes: Number of occurrences by class.
        attributes: Dtypes of objects' attributes by name.
        keypoints: The largest number of points of an object.
        keypoint_naming: Source of the first record by naming (names of points, and pairs of left
            and right), for the smallest few.
        keypoint_names: All names of points.
        without_objects: Number of records without objects.
        lists: Statistics of lists in existing Examples; None for other values.
    """

    types: Counter[str] = dataclasses.field(default_factory=Counter)
    example: dict[str, str] = dataclasses.field(default_factory=dict)
    formats: Counter[str] = dataclasses.field(default_factory=Counter)
    sizes: dict[int, set[int]] = dataclasses.field(default_factory=dict)
    ranks: set[int] = dataclasses.field(default_factory=set)
    array_dtypes: Counter[str] = dataclasses.field(default_factory=Counter)
    sample_rates: Counter[int] = dataclasses.field(default_factory=Counter)
    lengths: dict[str, tuple[int, int, int]] = dataclasses.field(default_factory=dict)
    range: Range | None = None
    list_range: Range | None = None
    list_not_finite: int = 0
    nans: int = 0
    num_numbers: int = 0
    rounding: Rounding = dataclasses.field(default_factory=Rounding)
    columns: list[Moments] | None = dataclasses.field(default_factory=list)
    strings: Counter[str] | None = dataclasses.field(default_factory=Counter)
    classes: Counter[str] = dataclasses.field(default_factory=Counter)
    attributes: dict[str, str] = dataclasses.field(default_factory=dict)
    keypoints: int = 0
    keypoint_naming: dict[KeypointNaming, str] = dataclasses.field(default_factory=dict)
    keypoint_names: set[str] = dataclasses.field(default_factory=set)
    geometry: set[str] = dataclasses.field(default_factory=set)
    without_objects: int = 0
    lists: ListCounts | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only what was counted, as most of a feature's counts are empty."""
        counted = {
            name: value for name in _FIELDS if (value := getattr(self, name)) or value is None
        }
        return _unpickled, (counted,)

    @property
    def num_values(self) -> int:
        """Number of records with a value."""
        return self.types.total()

    def span(self, what: str) -> tuple[int, int] | None:
        """Return (smallest, largest) of a measure; None if it was never measured."""
        measured = self.lengths.get(what)
        return measured[:2] if measured else None

    def list_span(self, num_records: int, row_size: int = 1) -> tuple[int, int] | None:
        """Return (shortest, longest) list in rows; a list missing in an Example counts as empty."""
        if not self.lists or not self.lists.lengths:
            return self.span("length")
        shortest, longest = self.lists.lengths
        if self.num_values < num_records:
            shortest = 0
        return shortest // row_size, longest // row_size

    def range_words(self) -> Iterator[str]:
        """Yield the range of the numbers in words: "17 to 90"."""
        if self.range:
            low, high = (
                f"{each:,}" if isinstance(each, int) else f"{each:,.6g}" for each in self.range
            )
            yield f"always {low}" if low == high else f"{low} to {high}"
        if self.nans:
            yield f"nan in {counted(self.nans, 'record')}"

    def count(self, type_name: str, number: int, source: str) -> None:
        """Count records with values of this type, the first of them from `source`."""
        self.types[type_name] += number
        self.add_example(type_name, source)

    def add_example(self, what: str, source: str) -> None:
        """Add the source of a record as an example of a type."""
        self.example[what] = min(source, self.example.get(what, source))

    def add_shape(self, shape: Sequence[int]) -> None:
        """Add sizes by axis."""
        self.ranks.add(len(shape))
        for axis, size in enumerate(shape):
            if size not in self.sizes.get(axis, ()):
                self._add_sizes(axis, {size})

    def measure(self, what: str, *lengths: int) -> None:
        """Add one measure of several values: their "length", "height", …."""
        self._add_lengths(what, min(lengths), max(lengths), sum(lengths))

    def add_numbers(self, numbers: Sequence[Number]) -> None:
        """Add values that are single numbers."""
        if self.columns is not None and len(self.columns) < 2:
            self.columns = self.columns or [Moments()]
            self.columns[0].extend(numbers)
        else:
            self.columns = None
        known = [number for number in numbers if number == number]
        self.nans += len(numbers) - len(known)
        if known:
            self.range = spanned(self.range, (min(known), max(known)))

    def add_list(self, value: Array | ListSummary) -> None:
        """Add the range of a value with several numbers."""
        every, finite = (value.minimum, value.maximum), value.finite_range
        self.range = spanned(self.range, _range_of(every))
        self.list_range = spanned(self.list_range, _range_of(finite or every))
        self.list_not_finite += value.not_finite

    def add_row(self, numbers: list[Any]) -> None:
        """Add a row of numbers, one per column."""
        if self.columns is None or len(self.columns) not in (0, len(numbers)):
            self.columns = None
            return
        self.columns = self.columns or [Moments() for _ in numbers]
        for column, number in zip(self.columns, numbers, strict=True):
            column.extend((number,))

    def add_strings(self, strings: Sequence[str]) -> None:
        """Count strings."""
        is_long = max(map(len, strings), default=0) > _MAX_CHARACTERS
        self._count_strings(None if is_long else strings)

    def add_attributes(self, attributes: Mapping[str, str]) -> None:
        """Add dtypes of objects' attributes, by name."""
        for name, dtype in attributes.items():
            self.attributes[name] = wider(self.attributes.get(name, dtype), dtype)

    def add_keypoint_naming(self, naming: KeypointNaming, source: str) -> None:
        """Add a record whose keypoints have these names and pairs."""
        first = min(source, self.keypoint_naming.get(naming, source))
        named = sorted({**self.keypoint_naming, naming: first}.items())
        self.keypoint_naming = dict(named[:_KEPT_NAMINGS])
        self.keypoint_names.update(naming[0])

    def merge(self, other: Self) -> None:
        """Add all of `other`."""
        for name in _COUNTS:
            getattr(self, name).update(getattr(other, name))
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for what, source in other.example.items():
            self.add_example(what, source)
        for axis, sizes in other.sizes.items():
            self._add_sizes(axis, sizes)
        for rate in sorted(self.sample_rates)[_KEPT_RATES:]:
            del self.sample_rates[rate]
        for what, lengths in other.lengths.items():
            self._add_lengths(what, *lengths)
        self.range = spanned(self.range, other.range)
        self.list_range = spanned(self.list_range, other.list_range)
        self.rounding = self.rounding.merged(other.rounding)
        self._merge_columns(other.columns)
        self._count_strings(other.strings)
        self.add_attributes(other.attributes)
        self.keypoints = max(self.keypoints, other.keypoints)
        for naming, source in other.keypoint_naming.items():
            self.add_keypoint_naming(naming, source)
        if other.lists:
            self.lists = self.lists or ListCounts()
            self.lists.merge(other.lists)

    def _add_sizes(self, axis: int, sizes: set[int]) -> None:
        self.sizes[axis] = set(sorted(self.sizes.get(axis, set()) | sizes)[:_KEPT])

    def _add_lengths(self, what: str, least: int, most: int, total: int) -> None:
        known = self.lengths.get(what, (least, most, 0))
        self.lengths[what] = (min(known[0], least), max(known[1], most), known[2] + total)

    def _count_strings(self, strings: Iterable[str] | Mapping[str, int] | None) -> None:
        if strings is not None and self.strings is not None:
            self.strings.update(strings)
            if len(self.strings) <= MAX_DISTINCT:
                return
        self.strings = None

    def _merge_columns(self, columns: list[Moments] | None) -> None:
        widths = {len(each) for each in (self.columns, columns) if each}
        if self.columns is None or columns is None or len(widths) > 1:
            self.columns = None
            return
        self.columns = self.columns or [Moments() for _ in columns]
        for column, more in zip(self.columns, columns, strict=False):
            column.merge(more)


def _unpickled(counted: Mapping[str, Any]) -> Observed:
    return Observed(**counted)


_FIELDS = tuple(field.name for field in dataclasses.fields(Observed))
# Fields that merge by update, and fields that merge by addition.
_COUNTS = (
    *("types", "formats", "ranks", "array_dtypes", "sample_rates", "classes"),
    *("keypoint_names", "geometry"),
)
_SUMS = ("list_not_finite", "nans", "num_numbers", "without_objects")


def _range_of(limits: tuple[Number | None, Number | None]) -> Range | None:
    low, high = limits
    return None if low is None or high is None else (low, high)


def merged(parts: Iterable[Mapping[str, Observed]]) -> dict[str, Observed]:
    """Merge the statistics of several parts, by feature; those of a single part are not copied."""
    listed = list(parts)
    if len(listed) == 1:
        return dict(listed[0])
    together: dict[str, Observed] = {}
    for part in listed:
        add(together, part)
    return together


def add(together: dict[str, Observed], part: Mapping[str, Observed]) -> None:
    """Add the statistics of a part, by feature."""
    for name, observed in part.items():
        if name not in together:  # not setdefault: an empty object takes longer than its merge
            together[name] = Observed()
        together[name].merge(observed)


def of_feature(feature: Feature, observed: Mapping[str, Observed]) -> Observed:
    """Return a feature's statistics, by its name or, in existing Examples, its key."""
    return observed.get(feature.name) or observed.get(feature.key) or Observed()


def wider(one: str, other: str) -> str:
    """Return a dtype for both: float32 for ints and floats, else string."""
    if one == other:
        return one
    return "float32" if {one, other} == {"int64", "float32"} else "string"
