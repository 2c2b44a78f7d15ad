"""The features of existing Examples, by what a sample of them holds: every key is a feature of the
same name. The rules are those of docs/format.md.
"""

import dataclasses
import functools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tfrecord_dataset import example, example_keys
from tfrecord_dataset.errors import ConfigError
from tfrecord_dataset.feature import Feature
from tfrecord_dataset.feature_keys import describe_list
from tfrecord_dataset.value_forms import AUDIO_FORMS, IMAGE_FORMS, form_of

_LABELS = frozenset(
    {"label", "labels", "class", "class_id", "class_label", "category", "category_id"}
    | {"target", "y"}
)
# How users declare the features of bare files.
DECLARE = "features (--schema FILE)"
# A larger number is an id, not a class.
MAX_CLASS = 9_999

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


def infer(sample: Sample) -> Mapping[str, Feature]:
    """The features by key, sorted.

    Raises:
        ConfigError: A key holds lists of two kinds.
    """
    return {
        key: infer_feature(key, sample.keys[key], sample.num_records) for key in sorted(sample.keys)
    }


def infer_feature(
    key: str, statistics: KeyStatistics, num_records: int, *, names_classes: bool = False
) -> Feature:
    """The feature of a key with these statistics, in a sample of `num_records` records.

    A record without the key counts as an empty list, but a class label may be missing.

    Args:
        key: In the Examples.
        statistics: Of its lists.
        num_records: With the key, or without it.
        names_classes: Whether somebody has named the classes that its numbers are.

    Raises:
        ConfigError: The key holds lists of two kinds.
    """
    kind = one_kind(key, statistics) or "bytes"  # only empty lists
    shortest = statistics.shortest if statistics.num_records == num_records else 0
    if kind == "float32" and "box" in last_part(key) and statistics.fours:
        return _bare(key, "sequence", "float32", (None, 4))
    dtype = "string" if kind == "bytes" else kind
    if kind == "int64" and statistics.shortest == statistics.longest == 1:
        number = number_feature(key, kind, statistics)
        if names_classes or number.kind == "class_label":
            default = None if shortest else -1
            return dataclasses.replace(number, kind="class_label", default=default)
    if shortest != statistics.longest or not statistics.longest:
        return _bare(key, "sequence", dtype, (None,))
    if statistics.longest > 1:
        return _bare(key, "tensor", dtype, (statistics.longest,))
    return (
        bytes_feature(key, statistics) if kind == "bytes" else number_feature(key, kind, statistics)
    )


def one_kind(key: str, statistics: KeyStatistics) -> str:
    """ "int64", "float32" or "bytes"; "" if no record has any value.

    Raises:
        ConfigError: There are two kinds.
    """
    if len(statistics.where) > 1:
        raise ConfigError(
            f"{mixed_lists(key, statistics)}; leave it out by {DECLARE}, or write the records again"
        )
    return next(iter(statistics.where), "")


def mixed_lists(key: str, statistics: KeyStatistics) -> str:
    """What is said of a key that holds lists of two kinds, with a record of each."""
    lists = (
        f"{describe_list(kind)} in {where}" for kind, where in sorted(statistics.where.items())
    )
    return f"key {key!r} must hold lists of one kind, but holds {', '.join(lists)}"


def number_feature(key: str, dtype: str, statistics: KeyStatistics) -> Feature:
    """A class label if the key's name and numbers look like one, else a scalar."""
    if dtype == "int64" and is_label_key(key) and statistics.smallest is not None:
        assert statistics.largest is not None
        if statistics.smallest >= -1 and statistics.largest <= MAX_CLASS:
            return _bare(key, "class_label", dtype, ())
    return _bare(key, "scalar", dtype, ())


def bytes_feature(key: str, statistics: KeyStatistics) -> Feature:
    """The feature of a key with single values; an empty value may be anything but raw numbers."""
    forms = statistics.forms - {""}
    if forms and forms <= IMAGE_FORMS:
        return _bare(key, "image", "uint8", (None, None, 3), format=stored_format("image", forms))
    if forms and forms <= AUDIO_FORMS:
        return _bare(key, "audio", "float32", (None, None), format=stored_format("audio", forms))
    if forms <= {"text"}:
        return _bare(key, "text", "string", ())
    if "" not in statistics.forms and len(statistics.num_bytes) == 1 and statistics.layouts:
        dtype, channels = statistics.layouts[0]
        side = square_side(max(statistics.num_bytes), dtype, channels)
        shape = (side, side) if channels == 1 else (side, side, channels)
        return _bare(key, "tensor", dtype, shape, encoding="bytes")
    return _bare(key, "bytes", "string", ())


def stored_format(kind: str, forms: Collection[str]) -> str:
    """The `Feature.format` of images or audio of these forms."""
    known = {*forms} - {""}
    stated = known & ({"jpeg", "png", "bmp"} if kind == "image" else AUDIO_FORMS)
    return known.pop() if len(known) == 1 and stated else "mixed"


def _bare(key: str, kind: str, dtype: str, shape: tuple[int | None, ...], **more: Any) -> Feature:
    return Feature(name=key, kind=kind, dtype=dtype, shape=shape, key=key, bare=True, **more)


def guesses(features: Mapping[str, Feature], sample: Sample) -> list[str]:
    """The types of inferred features that are guesses, one message each."""
    return [
        f"{feature.key}: {max(sample.keys[feature.key].num_bytes):,} raw bytes per record "
        f"are assumed to be {feature.dtype} {list(feature.shape)}; otherwise declare by {DECLARE}, "
        f'as {{"{name}": {{"kind": "tensor", "dtype": …, "shape": …, "encoding": "bytes"}}}}'
        for name, feature in features.items()
        if feature.encoding == "bytes"
    ]


@functools.lru_cache(maxsize=4096)
def is_label_key(key: str) -> bool:
    """Whether numbers under `key` may be classes, by its name."""
    last = last_part(key)
    return last in _LABELS or last.endswith(("_label", "_class"))


def last_part(key: str) -> str:
    """What follows the last slash of `key`, in lower case."""
    return key.rpartition("/")[2].lower()
