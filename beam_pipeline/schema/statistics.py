"""Statistics of the values of records, by feature; they can be merged."""

import dataclasses
import functools
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Self

from beam_pipeline.errors import RecordError
from beam_pipeline.records import (
    Array,
    Audio,
    ClassLabel,
    ClassLabels,
    ExampleRecord,
    Image,
    ListSummary,
    Objects,
    RawFile,
    Record,
    Value,
)
from beam_pipeline.schema.names import check_number
from beam_pipeline.schema.rounding import FIRST_SKIPPED, is_rounded
from beam_pipeline.schema.stored_values import MAX_CLASS, ListStatistics, is_label_key, kind_of

# Sizes and sample rates to keep: only whether they differ matters.
_KEPT = 2


@dataclasses.dataclass(slots=True, kw_only=True)
class FeatureStatistics:
    """Statistics of the values of one feature, over some records; they can be merged.

    Attributes:
        dtypes: Records by the type of value (`dtype_of`); for existing Examples by the kind of
            list.
        example: The source of one record by such a type, for messages.
        formats: Images and audio by encoding; bytes of existing Examples by `ListSummary.form`.
        sizes: By axis the smallest few sizes of images (height, width), audio (samples,
            channels) and arrays.
        ranks: The same by number of axes.
        array_dtypes: Arrays by NumPy's name of their type.
        sample_rates: Of audio, samples per second, the lowest few.
        lengths: (shortest, longest): of arrays along the first axis, of sequences of strings,
            of text in characters; None without values.
        minimum, maximum: Of numbers; None without values.
        nans: Records whose number is NaN.
        rounded: The smallest number, or minimum or maximum of an array, of which float32 loses
            digits; None if there is none.
        classes: The number of occurrences of each class.
        attributes: Of boxes: dtype by attribute name.
        keypoints: The largest number of points in a box.
        named_boxes, nameless_boxes: The first record, by its source, whose boxes have class names,
            and the first whose boxes have none; "" where there is no such.
        lists: Statistics of the lists of a key in existing Examples; None for other values.
    """

    dtypes: Counter[str] = dataclasses.field(default_factory=Counter)
    example: dict[str, str] = dataclasses.field(default_factory=dict)
    formats: Counter[str] = dataclasses.field(default_factory=Counter)
    sizes: dict[int, set[int]] = dataclasses.field(default_factory=dict)
    ranks: Counter[int] = dataclasses.field(default_factory=Counter)
    array_dtypes: Counter[str] = dataclasses.field(default_factory=Counter)
    sample_rates: set[int] = dataclasses.field(default_factory=set)
    lengths: tuple[int, int] | None = None
    minimum: float | int | None = None
    maximum: float | int | None = None
    nans: int = 0
    rounded: float | None = None
    classes: Counter[str] = dataclasses.field(default_factory=Counter)
    attributes: dict[str, str] = dataclasses.field(default_factory=dict)
    keypoints: int = 0
    named_boxes: str = ""
    nameless_boxes: str = ""
    lists: ListStatistics | None = None

    def add(self, value: Value, source: str) -> None:
        """Adds a value."""
        self._count(dtype_of(value), source)
        match value:
            case Image():
                self.formats[value.format] += 1
                self._add_shape((value.height, value.width))
            case ClassLabel():
                self.classes[value.name] += 1
            case Objects():
                self._add_boxes(value)
                if value.boxes:
                    self._add_naming(*((source, "") if value.labels else ("", source)))
            case int() | float():
                self._add_number(value)
            case str() | tuple():
                self._add_lengths((len(value), len(value)))
            case Array():
                self.array_dtypes[value.dtype] += 1
                self._add_shape(value.shape)
                self._add_lengths(value.shape[:1] * 2)
                self._add_range(value.minimum, value.maximum)
                self._add_rounded(value.minimum)
                self._add_rounded(value.maximum)
            case Audio():
                self.formats[value.format] += 1
                self._add_shape((value.num_samples, value.channels))
                self.sample_rates = _first(self.sample_rates, {value.sample_rate})
                self._add_lengths((value.num_samples, value.num_samples))
            case ClassLabels(names):
                self.classes.update(names)
                self._add_lengths((len(names), len(names)))

    def add_stored(self, value: Value, source: str, is_label: bool) -> None:
        """Adds the summary of a list in an existing Example.

        Args:
            value: By `stored_values.summary`.
            source: Of the record.
            is_label: Whether its numbers may be classes.
        """
        self._count(kind_of(value), source)
        self.lists = self.lists or ListStatistics()
        self.lists.add(value)
        match value:
            case int() | float():
                self._add_number(value)
                if is_label and isinstance(value, int) and 0 <= value <= MAX_CLASS:
                    self.classes[str(value)] += 1
            case str():
                self.formats["text"] += 1
                self._add_lengths((len(value), len(value)))
            case ListSummary(kind="bytes", length=1):
                self.formats[value.form] += 1
                self._add_lengths((value.num_characters, value.num_characters))
            case ListSummary():
                self._add_range(value.minimum, value.maximum)
                self._add_lengths((value.length, value.length))

    def _count(self, dtype: str, source: str) -> None:
        self.dtypes[dtype] += 1
        if source < self.example.setdefault(dtype, source):
            self.example[dtype] = source

    def merge(self, other: Self) -> None:
        """Adds all of `other`."""
        for counted in ("dtypes", "formats", "ranks", "array_dtypes", "classes"):
            getattr(self, counted).update(getattr(other, counted))
        for dtype, source in other.example.items():
            self.example[dtype] = min(source, self.example.get(dtype, source))
        for axis, sizes in other.sizes.items():
            self.sizes[axis] = _first(self.sizes.get(axis, set()), sizes)
        self.sample_rates = _first(self.sample_rates, other.sample_rates)
        self._add_lengths(other.lengths)
        self._add_range(other.minimum, other.maximum)
        self.nans += other.nans
        self._add_rounded(other.rounded)
        self._add_attributes(other.attributes)
        self.keypoints = max(self.keypoints, other.keypoints)
        self._add_naming(other.named_boxes, other.nameless_boxes)
        if other.lists:
            self.lists = self.lists or ListStatistics()
            self.lists.merge(other.lists)

    def _add_shape(self, shape: tuple[int, ...]) -> None:
        self.ranks[len(shape)] += 1
        for axis, size in enumerate(shape):
            sizes = self.sizes.setdefault(axis, set())
            if size not in sizes:
                self.sizes[axis] = _first(sizes, {size})

    def _add_lengths(self, lengths: tuple[int, ...] | None) -> None:
        if lengths and lengths != self.lengths:
            shortest, longest = self.lengths or lengths
            self.lengths = (min(shortest, lengths[0]), max(longest, lengths[1]))

    def _add_number(self, value: float) -> None:
        if value == value:
            self._add_range(value, value)
            self._add_rounded(value)
        else:
            self.nans += 1

    def _add_range(self, minimum: float | int | None, maximum: float | int | None) -> None:
        if minimum is not None and (self.minimum is None or minimum < self.minimum):
            self.minimum = minimum
        if maximum is not None and (self.maximum is None or maximum > self.maximum):
            self.maximum = maximum

    def _add_rounded(self, number: float | int | None) -> None:
        if number is None or -FIRST_SKIPPED < number < FIRST_SKIPPED:
            return
        smallest = self.rounded
        if smallest is None or (abs(number), number) < (abs(smallest), smallest):
            self.rounded = float(number) if is_rounded(number) else smallest

    def _add_boxes(self, boxes: Objects) -> None:
        self.classes.update(boxes.labels)
        self._add_attributes(
            {
                name: functools.reduce(_wider, map(dtype_of, values))
                for name, values in boxes.attributes.items()
                if values
            }
        )
        self.keypoints = max(self.keypoints, *(len(points) // 3 for points in boxes.keypoints), 0)

    def _add_naming(self, named: str, nameless: str) -> None:
        self.named_boxes = min(filter(None, (self.named_boxes, named)), default="")
        self.nameless_boxes = min(filter(None, (self.nameless_boxes, nameless)), default="")

    def _add_attributes(self, attributes: Mapping[str, str]) -> None:
        for name, dtype in attributes.items():
            self.attributes[name] = _wider(self.attributes.get(name, dtype), dtype)


def _first(some: set[Any], others: set[Any]) -> set[Any]:
    """The smallest few of both, whatever the order of merging."""
    both = some | others
    return set(sorted(both)[:_KEPT])


def _wider(one: str, other: str) -> str:
    """The dtype that holds both: float32 for ints and floats, else string."""
    if one == other:
        return one
    return "float32" if {one, other} == {"int64", "float32"} else "string"


def dtype_of(value: object) -> str:
    """The type of `value` in `FeatureStatistics.dtypes`.

    Raises:
        RecordError: "unsupported value": no kind of feature has this type.
    """
    match value:
        case Image():
            return "image"
        case ClassLabel():
            return "class_label"
        case Objects():
            return "boxes"
        case int():
            return "int64"
        case float():
            return "float32"
        case str():
            return "string"
        case bytes() | RawFile():
            return "bytes"
        case Array():
            return "array"
        case Audio():
            return "audio"
        case ClassLabels():
            return "class_labels"
        case tuple() if all(isinstance(each, str) for each in value):
            return "strings"
    raise RecordError(
        "unsupported value",
        f"{value!r} is a {type(value).__name__}; use Image, Audio, Array, RawFile, ClassLabel, "
        "ClassLabels, Objects, int, float, str, bytes or a tuple of str",
    )


def observe(records: Iterable[Record]) -> dict[str, FeatureStatistics]:
    """The statistics of `records` by feature."""
    observed: dict[str, FeatureStatistics] = {}
    for record in records:
        observe_record(record, observed)
    return observed


def observe_record(record: Record, observed: dict[str, FeatureStatistics]) -> None:
    """Adds a record to the statistics.

    Raises:
        DataError: The records have too many features.
    """
    source = record.source or record.key
    for name, value in record.features.items():
        if name not in observed:
            observed[name] = FeatureStatistics()
            check_number(observed)
        if isinstance(record, ExampleRecord):
            observed[name].add_stored(value, source, is_label_key(name))
        else:
            observed[name].add(value, source)
