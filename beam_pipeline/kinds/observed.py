"""Statistics of one feature's values over several records, mergeable in any order.

Kinds choose what to count (`Kind.observe`); a further count is a field with its merge, here or in
the kind's own class of counts (`Observed.of`).
Schemas are inferred from them, plans show them, and statistics.json has them by split.
"""

import dataclasses
import functools
import operator
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

from beam_pipeline.kinds.counts import (
    Counts,
    Range,
    added,
    by_key,
    fewest,
    first,
    lowest,
    parts,
    spanned,
)
from beam_pipeline.kinds.moments import Moments
from beam_pipeline.kinds.numbers import Number, Rounding
from beam_pipeline.records import Array, ListSummary
from tfrecord_dataset.format.feature import Feature

_C = TypeVar("_C", bound=Counts)

# Sizes to keep, as it only matters whether they differ.
_KEPT = 2
_KEPT_RATES = 16
# Limits of distinct strings and their characters; beyond them, none are counted.
MAX_DISTINCT = 10_000
_MAX_CHARACTERS = 100


def _measured(
    one: tuple[int, int, int] | None, other: tuple[int, int, int]
) -> tuple[int, int, int]:
    if one is None:
        return other
    return min(one[0], other[0]), max(one[1], other[1]), one[2] + other[2]


def _strings(one: Counter[str] | None, other: Iterable[str] | None) -> Counter[str] | None:
    """Count strings; None if they are too many, or some were not counted."""
    if one is not None and other is not None:
        one.update(other)
        if len(one) <= MAX_DISTINCT:
            return one
    return None


def _columns(one: list[Moments] | None, other: list[Moments] | None) -> list[Moments] | None:
    """Merge moments by column; None if the numbers of columns differ."""
    if one is None or other is None or (one and len(one) != len(other)):
        return None
    one = one or [Moments() for _ in other]
    for column, more in zip(one, other, strict=True):
        column.merge(more)
    return one


@dataclasses.dataclass(init=False)
class ListCounts(Counts):
    """Statistics of the lists of one key in existing Examples.

    Attributes:
        lengths: (shortest, longest) list, in values.
        has_other_lengths: Whether a length is not a multiple of 4.
        characters: (fewest, most) of a text.
        has_classes: Whether a number may be a class.
        names: The names stored with each class number; a number with two names has none.
    """

    lengths: Annotated[tuple[int, int] | None, spanned] = None
    has_other_lengths: Annotated[bool, operator.or_] = False
    characters: Annotated[tuple[int, int] | None, spanned] = None
    has_classes: Annotated[bool, operator.or_] = False
    names: Annotated[dict[int, set[str]], by_key(fewest(_KEPT))] = dataclasses.field(
        default_factory=dict
    )

    def add(self, length: int) -> None:
        """Add a list of this length."""
        if self.lengths != (length, length):
            self.lengths = spanned(self.lengths, (length, length))
        self.has_other_lengths |= length % 4 != 0

    def add_characters(self, number: int) -> None:
        """Add a text of this length."""
        self.characters = spanned(self.characters, (number, number))

    def add_names(self, named: Iterable[tuple[int, str]]) -> None:
        """Add class numbers with their names."""
        for number, name in named:
            if name not in self.names.get(number, ()):
                self.names[number] = fewest(_KEPT)(self.names.get(number), {name})


@dataclasses.dataclass(init=False)
class Observed(Counts):
    """Statistics of one feature's values over several records.

    Attributes:
        types: Number of records by type of value (`Kind.type_of`).
        example: Source of the first record by type, and of objects with and without names.
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
            with too many, or if arrays differ in length.
        strings: Number of occurrences by string; None with more than `MAX_DISTINCT`, or with long
            ones.
        classes: Number of occurrences by class.
        lists: Statistics of lists in existing Examples; None for other values.
        own: Statistics that only some kinds have, by their class.
    """

    types: Annotated[Counter[str], added] = dataclasses.field(default_factory=Counter)
    example: Annotated[dict[str, str], by_key(first)] = dataclasses.field(default_factory=dict)
    formats: Annotated[Counter[str], added] = dataclasses.field(default_factory=Counter)
    sizes: Annotated[dict[int, set[int]], by_key(fewest(_KEPT))] = dataclasses.field(
        default_factory=dict
    )
    ranks: Annotated[set[int], added] = dataclasses.field(default_factory=set)
    array_dtypes: Annotated[Counter[str], added] = dataclasses.field(default_factory=Counter)
    sample_rates: Annotated[Counter[int], lowest(_KEPT_RATES)] = dataclasses.field(
        default_factory=Counter
    )
    lengths: Annotated[dict[str, tuple[int, int, int]], by_key(_measured)] = dataclasses.field(
        default_factory=dict
    )
    range: Annotated[Range | None, spanned] = None
    list_range: Annotated[Range | None, spanned] = None
    list_not_finite: Annotated[int, operator.add] = 0
    nans: Annotated[int, operator.add] = 0
    num_numbers: Annotated[int, operator.add] = 0
    rounding: Annotated[Rounding, Rounding.merged] = dataclasses.field(default_factory=Rounding)
    columns: Annotated[list[Moments] | None, _columns] = dataclasses.field(default_factory=list)
    strings: Annotated[Counter[str] | None, _strings] = dataclasses.field(default_factory=Counter)
    classes: Annotated[Counter[str], added] = dataclasses.field(default_factory=Counter)
    lists: Annotated[ListCounts | None, parts] = None
    own: Annotated[dict[type[Counts], Any], by_key(parts)] = dataclasses.field(default_factory=dict)

    def of(self, counts: type[_C]) -> _C:
        """Return the statistics of this class, which only some kinds have."""
        if counts not in self.own:
            self.own[counts] = counts()
        own: _C = self.own[counts]
        return own

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

    def count(self, type_name: str, number: int, source: str) -> None:
        """Count records with values of this type, the first of them from `source`."""
        self.types[type_name] += number
        self.add_example(type_name, source)

    def add_example(self, what: str, source: str) -> None:
        """Add the source of a record as an example of a type."""
        self.example[what] = first(self.example.get(what), source)

    def add_shape(self, shape: Sequence[int]) -> None:
        """Add sizes by axis."""
        self.ranks.add(len(shape))
        for axis, size in enumerate(shape):
            if size not in self.sizes.get(axis, ()):
                self.sizes[axis] = fewest(_KEPT)(self.sizes.get(axis), {size})

    def measure(self, what: str, *lengths: int) -> None:
        """Add one measure of several values: their "length", "height", …."""
        measured = min(lengths), max(lengths), sum(lengths)
        self.lengths[what] = _measured(self.lengths.get(what), measured)

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

    def add_strings(self, strings: Sequence[str]) -> None:
        """Count strings."""
        is_long = max(map(len, strings), default=0) > _MAX_CHARACTERS
        self.strings = _strings(self.strings, None if is_long else strings)


def _range_of(limits: tuple[Number | None, Number | None]) -> Range | None:
    low, high = limits
    return None if low is None or high is None else (low, high)


merge_features = by_key(parts)
"""Adds the statistics of some records, by feature."""


def merged(several: Iterable[dict[str, Observed]]) -> dict[str, Observed]:
    """Merge the statistics of several parts, by feature; those of a single part are not copied."""
    listed = list(several)
    return listed[0] if len(listed) == 1 else functools.reduce(merge_features, listed, {})


def of_feature(feature: Feature, observed: Mapping[str, Observed]) -> Observed:
    """Return a feature's statistics, by its name or, in existing Examples, its key."""
    return observed.get(feature.name) or observed.get(feature.key) or Observed()
