"""What the values of one feature are, over some records: counted once, merged in any order.

Kinds say what of a value is counted (`Kind.observe`); how it is counted and merged stands here.
Schemas are inferred from it, plans show it, and statistics.json states it by split.
"""

import dataclasses
import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

from beam_pipeline.kinds.numbers import Rounding
from beam_pipeline.records import Array, ListSummary
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.shown_text import counted

# 2^-149 is float32's smallest number: as multiples of it, its numbers are whole.
_FRACTION_BITS = 149
_MAX_WAITING = 128
# From here on, float64 has only whole numbers.
_WHOLE = 2.0**53


class Moments:
    """Moments of one column; some numbers wait in a list, as counting each by itself costs more."""

    __slots__ = ("_count", "_maximum", "_minimum", "_missing", "_squares", "_total", "_waiting")

    def __init__(self) -> None:
        self._waiting: list[float | int] = []
        self._count = 0
        self._missing = 0
        self._total = 0  # in 2^-149
        self._squares = 0  # in 2^-298
        self._minimum: float | int | None = None
        self._maximum: float | int | None = None

    def extend(self, numbers: Iterable[float | int]) -> None:
        """Adds numbers."""
        self._waiting.extend(numbers)
        if len(self._waiting) > _MAX_WAITING:
            self._settle()

    def merge(self, other: Self) -> None:
        """Adds all of `other`."""
        self._waiting += other._waiting
        self._count += other._count
        self._missing += other._missing
        self._total += other._total
        self._squares += other._squares
        self._minimum = known(min, self._minimum, other._minimum)
        self._maximum = known(max, self._maximum, other._maximum)
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
        ints = [number for number in numbers if isinstance(number, int)]
        floats = [number for number in numbers if not isinstance(number, int)]
        whole = list(map(_whole, floats))
        self._count += len(numbers)
        self._total += sum(whole) + (sum(ints) << _FRACTION_BITS)
        self._squares += sum(map(operator.mul, whole, whole))
        self._squares += sum(map(operator.mul, ints, ints)) << 2 * _FRACTION_BITS
        self._minimum = known(min, self._minimum, min(numbers))
        self._maximum = known(max, self._maximum, max(numbers))


def _whole(number: float) -> int:
    """A finite number in 2^-149."""
    if abs(number) >= _WHOLE:
        return int(number) << _FRACTION_BITS
    return int(math.ldexp(number, _FRACTION_BITS))


def _ratio(numerator: int, denominator: int) -> float | None:
    """None where there is none, or float64 has no such number."""
    try:
        return numerator / denominator
    except ArithmeticError:
        return None


def known(choose: Callable[..., Any], one: Any, other: Any) -> Any:
    """The chosen of both, or the only one that is not None."""
    return choose(one, other) if None not in (one, other) else other if one is None else one


@dataclasses.dataclass(slots=True, kw_only=True)
class ListCounts:
    """What is counted of the lists of one key in existing Examples.

    Attributes:
        lengths: (shortest, longest) in values; None without lists.
        fours: Whether all lengths are multiples of 4.
        characters: (fewest, most) of its texts; None without texts.
        has_classes: Whether some number may be a class.
        names: Of class numbers that are stored with their names: the names of each.
    """

    lengths: tuple[int, int] | None = None
    fours: bool = True
    characters: tuple[int, int] | None = None
    has_classes: bool = False
    names: dict[int, set[str]] = dataclasses.field(default_factory=dict)

    def add(self, length: int) -> None:
        """Adds a list of so many values."""
        if self.lengths != (length, length):
            self.lengths = _span(self.lengths, (length, length))
        self.fours &= length % 4 == 0

    def add_characters(self, number: int) -> None:
        """Adds a text."""
        self.characters = _span(self.characters, (number, number))

    def add_names(self, named: Iterable[tuple[int, str]]) -> None:
        """Adds class numbers with their names; two names of a number show that it has none."""
        for number, name in named:
            names = self.names.setdefault(number, set())
            if len(names) < _KEPT:
                names.add(name)

    def merge(self, other: Self) -> None:
        """Adds all of `other`."""
        self.lengths = _span(self.lengths, other.lengths)
        self.fours &= other.fours
        self.characters = _span(self.characters, other.characters)
        self.has_classes |= other.has_classes
        self.add_names((number, name) for number, some in other.names.items() for name in some)


def _span(one: tuple[int, int] | None, other: tuple[int, int] | None) -> tuple[int, int] | None:
    if one is None or other is None:
        return one or other
    return min(one[0], other[0]), max(one[1], other[1])


# Sizes to keep: only whether they differ matters; of names of points that some have none, too.
_KEPT = 2
_KEPT_RATES = 16
_KEPT_NAMINGS = 3
# Distinct strings that are counted, and their characters; where there are more, none are counted.
MAX_DISTINCT = 10_000
_MAX_CHARACTERS = 100
# Columns of an array of one axis whose moments are kept.
MAX_COLUMNS = 1024

Number = float | int
KeypointNaming = tuple[tuple[str, ...], tuple[int, ...]]


@dataclasses.dataclass(slots=True, kw_only=True)
class Observed:
    """What the values of one feature are, over some records; merging adds those of others.

    Attributes:
        types: Records by the type of value (`Kind.type_of`).
        example: The source of the first record by such a type, for messages.
        formats: Images and audio by encoding; bytes of existing Examples by `ListSummary.form`.
        sizes: By axis the smallest few sizes of images (height, width), audio (samples,
            channels) and arrays.
        ranks: The same by number of axes.
        array_dtypes: Arrays by NumPy's name of their type.
        sample_rates: Audio by samples per second, the lowest few.
        lengths: By what is measured ("height", "num_samples", "length", …): smallest, largest, sum.
        minimum, maximum: Of all numbers but NaN; None without any.
        list_minimum, list_maximum: Of the finite numbers in arrays and lists; None without any.
        list_not_finite: Numbers in arrays and lists that are NaN or infinite.
        nans: Records whose number is NaN.
        num_numbers: Single numbers, and those in arrays.
        rounding: Those of them that change in float32.
        columns: Moments of a number one; of an array of one axis, one by number; none where there
            are more than `MAX_COLUMNS`, or where arrays differ in length.
        has_columns: Whether `columns` still count.
        strings: Strings by how often they are there; none where there are more than
            `MAX_DISTINCT`, or long ones.
        has_strings: Whether `strings` still count.
        classes: Classes by how often they are there.
        attributes: Of objects: dtype by attribute name.
        keypoints: The largest number of points of an object.
        keypoint_naming: The first record, by its source, with such names of points and pairs of
            left and right, of the smallest few.
        keypoint_names: All names of points.
        named, nameless: The first record, by its source, whose objects have class names, and the
            first whose objects have none; "" where there is no such.
        without_objects: Records that have no object.
        lists: What the lists of a key in existing Examples are; None for other values.
    """

    types: Counter[str] = dataclasses.field(default_factory=Counter)
    example: dict[str, str] = dataclasses.field(default_factory=dict)
    formats: Counter[str] = dataclasses.field(default_factory=Counter)
    sizes: dict[int, set[int]] = dataclasses.field(default_factory=dict)
    ranks: Counter[int] = dataclasses.field(default_factory=Counter)
    array_dtypes: Counter[str] = dataclasses.field(default_factory=Counter)
    sample_rates: Counter[int] = dataclasses.field(default_factory=Counter)
    lengths: dict[str, tuple[int, int, int]] = dataclasses.field(default_factory=dict)
    minimum: Number | None = None
    maximum: Number | None = None
    list_minimum: Number | None = None
    list_maximum: Number | None = None
    list_not_finite: int = 0
    nans: int = 0
    num_numbers: int = 0
    rounding: Rounding = dataclasses.field(default_factory=Rounding)
    columns: list[Moments] = dataclasses.field(default_factory=list)
    has_columns: bool = True
    strings: Counter[str] = dataclasses.field(default_factory=Counter)
    has_strings: bool = True
    classes: Counter[str] = dataclasses.field(default_factory=Counter)
    attributes: dict[str, str] = dataclasses.field(default_factory=dict)
    keypoints: int = 0
    keypoint_naming: dict[KeypointNaming, str] = dataclasses.field(default_factory=dict)
    keypoint_names: set[str] = dataclasses.field(default_factory=set)
    geometry: set[str] = dataclasses.field(default_factory=set)
    named: str = ""
    nameless: str = ""
    without_objects: int = 0
    lists: ListCounts | None = None

    @property
    def num_values(self) -> int:
        """Records that have a value."""
        return self.types.total()

    def span(self, what: str) -> tuple[int, int] | None:
        """(smallest, largest) of what was measured; None where nothing was."""
        measured = self.lengths.get(what)
        return measured[:2] if measured else None

    def list_span(self, num_records: int, row_size: int = 1) -> tuple[int, int] | None:
        """(shortest, longest) list, in rows; one that an existing Example lacks is empty."""
        if not self.lists or not self.lists.lengths:
            return self.span("length")
        shortest, longest = self.lists.lengths
        if self.num_values < num_records:
            shortest = 0
        return shortest // row_size, longest // row_size

    def range_words(self) -> Iterator[str]:
        """The range of the numbers, for people: "17 to 90"."""
        if self.minimum is not None and self.maximum is not None:
            low, high = (
                f"{each:,}" if isinstance(each, int) else f"{each:,.6g}"
                for each in (self.minimum, self.maximum)
            )
            yield f"always {low}" if low == high else f"{low} to {high}"
        if self.nans:
            yield f"nan in {counted(self.nans, 'record')}"

    def count(self, type_name: str, number: int, source: str) -> None:
        """Counts records, the first of them from `source`, whose values have such a type."""
        self.types[type_name] += number
        self.example[type_name] = min(source, self.example.get(type_name, source))

    def add_shape(self, shape: Sequence[int]) -> None:
        """Adds sizes by axis."""
        self.ranks[len(shape)] += 1
        for axis, size in enumerate(shape):
            sizes = self.sizes.setdefault(axis, set())
            if size not in sizes:
                self.sizes[axis] = _first(sizes, {size})

    def add_sample_rates(self, rates: Mapping[int, int]) -> None:
        """Adds audio by samples per second."""
        self.sample_rates.update(rates)
        for rate in sorted(self.sample_rates)[_KEPT_RATES:]:
            del self.sample_rates[rate]

    def measure(self, what: str, *lengths: int) -> None:
        """Adds one measure of some values: their "length", "height", …."""
        least, most, total = self.lengths.get(what, (lengths[0], lengths[0], 0))
        self.lengths[what] = (min(least, *lengths), max(most, *lengths), total + sum(lengths))

    def add_numbers(self, numbers: Sequence[Number]) -> None:
        """Adds values that are one number each."""
        if self.has_columns and not self.columns:
            self.columns = [Moments()]
        if len(self.columns) == 1:
            self.columns[0].extend(numbers)
        else:
            self.drop_columns()
        known_numbers = [number for number in numbers if number == number]
        self.nans += len(numbers) - len(known_numbers)
        if known_numbers:
            self._add_range(min(known_numbers), max(known_numbers))

    def add_list(self, value: Array | ListSummary) -> None:
        """Adds the range of a value that holds several numbers."""
        self._add_range(value.minimum, value.maximum)
        self._add_list_range(*(value.finite_range or (value.minimum, value.maximum)))
        self.list_not_finite += value.not_finite

    def add_rounding(self, num_numbers: int, rounding: Rounding) -> None:
        """Adds numbers, of which some change in float32."""
        self.num_numbers += num_numbers
        self.rounding = Rounding(
            self.rounding.num_rounded + rounding.num_rounded,
            known(_nearest, self.rounding.rounded, rounding.rounded),
        )

    def add_row(self, numbers: list[Any]) -> None:
        """Adds numbers, one a column."""
        if not self.has_columns:
            return
        if not self.columns:
            self.columns = [Moments() for _ in numbers]
        if len(numbers) != len(self.columns):
            self.drop_columns()
            return
        for column, number in zip(self.columns, numbers, strict=True):
            column.extend((number,))

    def drop_columns(self) -> None:
        """No longer counts columns."""
        self.columns, self.has_columns = [], False

    def add_strings(self, strings: Sequence[str]) -> None:
        """Counts strings."""
        if self.has_strings:
            self.strings.update(strings)
            if (
                len(self.strings) > MAX_DISTINCT
                or max(map(len, strings), default=0) > _MAX_CHARACTERS
            ):
                self.drop_strings()

    def drop_strings(self) -> None:
        """No longer counts strings."""
        self.strings, self.has_strings = Counter(), False

    def add_attributes(self, attributes: Mapping[str, str]) -> None:
        """Adds attributes of objects by their dtypes."""
        for name, dtype in attributes.items():
            self.attributes[name] = wider(self.attributes.get(name, dtype), dtype)

    def add_keypoint_naming(self, naming: KeypointNaming, source: str) -> None:
        """Adds a record whose keypoints have such names and pairs."""
        first = min(source, self.keypoint_naming.get(naming, source))
        named = sorted({**self.keypoint_naming, naming: first}.items())
        self.keypoint_naming = dict(named[:_KEPT_NAMINGS])
        self.keypoint_names.update(naming[0])

    def add_naming(self, named: str, nameless: str) -> None:
        """Adds a record whose objects have class names, or one whose have none; "" for none."""
        self.named = min(filter(None, (self.named, named)), default="")
        self.nameless = min(filter(None, (self.nameless, nameless)), default="")

    def merge(self, other: Self) -> None:
        """Adds all of `other`."""
        for name in ("types", "formats", "ranks", "array_dtypes", "strings", "classes"):
            if more := getattr(other, name):
                getattr(self, name).update(more)
        for type_name, source in other.example.items():
            self.example[type_name] = min(source, self.example.get(type_name, source))
        for axis, sizes in other.sizes.items():
            self.sizes[axis] = _first(self.sizes.get(axis, set()), sizes)
        self.add_sample_rates(other.sample_rates)
        for what, (least, most, total) in other.lengths.items():
            mine = self.lengths.get(what, (least, most, 0))
            self.lengths[what] = (min(mine[0], least), max(mine[1], most), mine[2] + total)
        self._add_range(other.minimum, other.maximum)
        self._add_list_range(other.list_minimum, other.list_maximum)
        self.list_not_finite += other.list_not_finite
        self.nans += other.nans
        self.add_rounding(other.num_numbers, other.rounding)
        self.add_attributes(other.attributes)
        self.keypoints = max(self.keypoints, other.keypoints)
        for naming, source in other.keypoint_naming.items():
            self.add_keypoint_naming(naming, source)
        self.keypoint_names |= other.keypoint_names
        self.geometry |= other.geometry
        self.add_naming(other.named, other.nameless)
        self.without_objects += other.without_objects
        if other.lists:
            self.lists = self.lists or ListCounts()
            self.lists.merge(other.lists)
        if not (self.has_strings and other.has_strings) or len(self.strings) > MAX_DISTINCT:
            self.drop_strings()
        self._merge_columns(other)

    def _merge_columns(self, other: Self) -> None:
        widths = {len(each) for each in (self.columns, other.columns) if each}
        if len(widths) > 1 or not (self.has_columns and other.has_columns):
            self.drop_columns()
            return
        self.columns = self.columns or [Moments() for _ in other.columns]
        for column, more in zip(self.columns, other.columns, strict=False):
            column.merge(more)

    def _add_range(self, minimum: Number | None, maximum: Number | None) -> None:
        self.minimum = known(min, self.minimum, minimum)
        self.maximum = known(max, self.maximum, maximum)

    def _add_list_range(self, minimum: Number | None, maximum: Number | None) -> None:
        self.list_minimum = known(min, self.list_minimum, minimum)
        self.list_maximum = known(max, self.list_maximum, maximum)


def _nearest(one: Number, other: Number) -> Number:
    """The number nearer to 0, whatever the order of merging."""
    return min(one, other, key=lambda number: (abs(number), number))


def merged(parts: Iterable[Mapping[str, Observed]]) -> dict[str, Observed]:
    """What is observed by feature in several parts, together."""
    together: dict[str, Observed] = {}
    for part in parts:
        for name, observed in part.items():
            together.setdefault(name, Observed()).merge(observed)
    return together


def of_feature(feature: Feature, observed: Mapping[str, Observed]) -> Observed:
    """What is observed of a feature: under its name, or under its key in existing Examples."""
    return observed.get(feature.name) or observed.get(feature.key) or Observed()


def wider(one: str, other: str) -> str:
    """The dtype that holds both: float32 for ints and floats, else string."""
    if one == other:
        return one
    return "float32" if {one, other} == {"int64", "float32"} else "string"


def _first(some: set[int], others: set[int]) -> set[int]:
    """The smallest few of both, whatever the order of merging."""
    return set(sorted(some | others)[:_KEPT])
