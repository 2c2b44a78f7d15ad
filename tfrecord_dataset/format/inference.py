"""Infers the features of existing Examples from statistics of their keys.

Every key is a feature of the same name, except for the keys of TensorFlow's Object Detection API
and Model Garden: their images, labels and boxes are the features `image`, `label` and `boxes`. The
rules are documented in docs/dev/metadata.md.
"""

import dataclasses
import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from tfrecord_dataset.errors import ConfigError
from tfrecord_dataset.format import example
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import (
    GEOMETRY,
    LISTS,
    SIDES,
    Lists,
    ListSpec,
    describe_list,
    is_reserved_subkey,
    list_specs,
)
from tfrecord_dataset.format.value_forms import AUDIO_FORMS, IMAGE_FORMS, form_of

_LABELS = frozenset(
    {"label", "labels", "class", "class_id", "class_label", "category", "category_id"}
    | {"target", "y"}
)
# How users declare the features of bare files.
DECLARE = "features of trainer.open (--schema FILE)"
# Larger numbers are ids, not classes.
MAX_CLASS = 9_999


@dataclasses.dataclass(slots=True, kw_only=True)
class KeyStatistics:
    """Statistics of one key.

    Attributes:
        where: Place of a record for each kind of list ("int64", "float32", "bytes").
        num_records: Number of records with the key.
        shortest, longest: Least and largest number of values in these records.
        fours: Whether all lengths are multiples of 4.
        smallest, largest: Bounds of the int64 values; None if there are none.
        forms: Forms of single bytes values: a key of `IMAGE_FORMS` or `AUDIO_FORMS`, "text",
            "raw", or "" for an empty one.
        num_bytes: Sizes of single bytes values that are not empty.
        names: Names of each class number that records store in another key.
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
    names: dict[int, set[str]] = dataclasses.field(default_factory=dict)

    def add(self, kind: str, values: Sequence[Any], where: str) -> None:
        """Add the list of one more record, as from `example.lists`."""
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
            self.forms.add(form_of(values[0]))
            if values[0]:
                self.num_bytes.add(len(values[0]))


_Keys = Mapping[str, KeyStatistics]
_Features = Mapping[str, Feature]


@dataclasses.dataclass(frozen=True, slots=True)
class RecordSample:
    """Statistics of a sample of a dataset's records."""

    num_records: int
    keys: Mapping[str, KeyStatistics]


def observe(records: Iterable[tuple[str, bytes]]) -> RecordSample:
    """Compute the statistics of (where, serialized Example) pairs.

    Raises:
        ValueError: A record is not an Example, or it has, or all have together, too many keys.
    """
    keys: dict[str, KeyStatistics] = {}
    num_records = 0
    for where, serialized in records:
        num_records += 1
        lists = example.lists(serialized)
        for key, (kind, values) in lists.items():
            keys.setdefault(key, KeyStatistics()).add(kind, values, where)
        for key, named in named_classes(lists).items():
            for number, name in named:
                keys[key].names.setdefault(number, set()).add(name)
        if len(keys) > example.MAX_KEYS:
            raise ValueError(f"they have {example.TOO_MANY}")
    return RecordSample(num_records, keys)


def infer(sample: RecordSample) -> Mapping[str, Feature]:
    """Infer the features by name: conventional names first, then by key, sorted.

    Raises:
        ConfigError: A key holds lists of two kinds.
    """
    by_key = {
        key: infer_feature(key, sample.keys[key], sample.num_records) for key in sorted(sample.keys)
    }
    return with_known_names(by_key, sample.keys, sample.num_records)


def infer_feature(
    key: str, statistics: KeyStatistics, num_records: int, *, names_classes: bool = False
) -> Feature:
    """Infer the feature of a key in a sample of `num_records` records.

    A record without the key counts as an empty list, but a class label may be missing.

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
    """Return "int64", "float32" or "bytes"; "" if no record has any value.

    Raises:
        ConfigError: There are two kinds.
    """
    if len(statistics.where) > 1:
        raise ConfigError(
            f"{mixed_lists(key, statistics)}; leave it out by {DECLARE}, or write the records again"
        )
    return next(iter(statistics.where), "")


def mixed_lists(key: str, statistics: KeyStatistics) -> str:
    """Return the message for a key with lists of two kinds, with an example of each."""
    lists = (
        f"{describe_list(kind)} in {where}" for kind, where in sorted(statistics.where.items())
    )
    return f"key {key!r} must hold lists of one kind, but holds {', '.join(lists)}"


def number_feature(key: str, dtype: str, statistics: KeyStatistics) -> Feature:
    """Infer a class label if the key's name and numbers look like one, else a scalar."""
    if dtype == "int64" and is_label_key(key) and statistics.smallest is not None:
        assert statistics.largest is not None
        if statistics.smallest >= -1 and statistics.largest <= MAX_CLASS:
            return _bare(key, "class_label", dtype, ())
    return _bare(key, "scalar", dtype, ())


def bytes_feature(key: str, statistics: KeyStatistics) -> Feature:
    """Infer the feature of a key with single values, some of which may be empty."""
    forms = statistics.forms - {""}
    if forms and forms <= IMAGE_FORMS:
        return _bare(key, "image", "uint8", (None, None, 3), format=stored_format("image", forms))
    if forms and forms <= AUDIO_FORMS:
        return _bare(key, "audio", "float32", (None, None), format=stored_format("audio", forms))
    if forms <= {"text"}:
        return _bare(key, "text", "string", ())
    return _bare(key, "bytes", "string", ())


def stored_format(kind: str, forms: Collection[str]) -> str:
    """Return `Feature.format` for images or audio of these forms."""
    known = {*forms} - {""}
    stated = known & ({"jpeg", "png", "bmp"} if kind == "image" else AUDIO_FORMS)
    return known.pop() if len(known) == 1 and stated else "mixed"


def _bare(key: str, kind: str, dtype: str, shape: tuple[int | None, ...], **more: Any) -> Feature:
    return Feature(name=key, kind=kind, dtype=dtype, shape=shape, key=key, bare=True, **more)


_IMAGE, _LABEL, _BOXES = "image/encoded", "image/class/label", "image/object"
# Keys of class numbers, and of the classes' names.
NAMED_CLASSES = {
    _LABEL: "image/class/text",
    f"{_BOXES}/class/label": f"{_BOXES}/class/text",
}


def named_classes(lists: Lists) -> dict[str, set[tuple[int, str]]]:
    """Return an Example's class numbers with their names by key, if both are stored."""
    keys_by_name = {}
    for key, text in NAMED_CLASSES.items():
        (kind, numbers), (text_kind, texts) = (lists.get(each, ("", ())) for each in (key, text))
        if (kind, text_kind) == ("int64", "bytes") and len(numbers) == len(texts):
            names = (each.decode(errors="replace") for each in texts)
            keys_by_name[key] = {pair for pair in zip(numbers, names, strict=True) if pair[1]}
    return keys_by_name


def with_known_names(by_key: _Features, keys: _Keys, num_records: int) -> dict[str, Feature]:
    """Return features by name: first images, labels and boxes under TensorFlow's keys."""
    always = {key for key, each in keys.items() if each.num_records == num_records}
    features: dict[str, Feature] = {}
    taken: set[str] = set()
    for name, infer_named in (("image", _image), ("label", _label), ("boxes", _boxes)):
        if name not in keys and (feature := infer_named(by_key, keys, always)):
            features[name] = dataclasses.replace(feature, name=name)
            taken |= {feature.key, *list_specs(feature)}
    return features | {key: feature for key, feature in by_key.items() if key not in taken}


def _image(by_key: _Features, keys: _Keys, always: Collection[str]) -> Feature | None:
    feature = by_key.get(_IMAGE)
    if feature is None or feature.kind != "image":
        return None
    whole = dataclasses.replace(feature, bare=False)
    return whole if _has_one_each(list_specs(whole), keys, always) else feature


def _has_one_each(specs: Mapping[str, ListSpec], keys: _Keys, always: Collection[str]) -> bool:
    """Whether all records have one value of the right kind under each key."""
    return all(
        key in always
        and {*keys[key].where} == {spec.kind}
        and keys[key].shortest == keys[key].longest == 1
        for key, spec in specs.items()
    )


def _label(by_key: _Features, keys: _Keys, always: Collection[str]) -> Feature | None:
    feature = by_key.get(_LABEL)
    if feature is None or feature.kind != "class_label" or feature.shape:
        return None
    whole = dataclasses.replace(feature, bare=False)
    if not _has_one_each(list_specs(whole), keys, always):
        return feature
    statistics = keys[_LABEL]
    offset = int((statistics.smallest or 0) >= 1)
    names = _class_names(statistics, offset)
    if feature.classes:
        are_declared = feature.classes != tuple(map(str, range(len(feature.classes))))
        names = feature.classes if are_declared else names
    elif not statistics.names.keys() >= {*range(offset, 1 + int(statistics.largest or 0))}:
        names = ()  # not every class has a name
    return dataclasses.replace(whole, label_offset=offset, classes=names)


def _class_names(statistics: KeyStatistics, offset: int) -> tuple[str, ...]:
    """Name the classes up to the largest number; a number without a unique name names itself."""
    numbers = range(offset, 1 + int(-1 if statistics.largest is None else statistics.largest))
    named = (statistics.names.get(number, set()) for number in numbers)
    names = tuple(
        min(each) if len(each) == 1 else str(number)
        for number, each in zip(numbers, named, strict=True)
    )
    return names if len({*names}) == len(names) else tuple(map(str, numbers))


def _boxes(by_key: _Features, keys: _Keys, always: Collection[str]) -> Feature | None:
    """Boxes as one list per side, with each box's number, attributes and masks."""
    feature = Feature(name="boxes", kind="boxes", dtype="float32", shape=(None, 4), key=_BOXES)
    xmin = keys.get(feature.subkey(f"bbox/{SIDES[0]}"))

    def is_of_each_box(part: str, kind: str) -> bool:
        """Whether a key can have a value per box, according to its statistics."""
        facts = keys.get(feature.subkey(part))
        return (
            facts is not None
            and xmin is not None
            and {*facts.where} <= {kind}
            and (facts.num_records, facts.shortest, facts.longest)
            == (xmin.num_records, xmin.shortest, xmin.longest)
        )

    if not all(is_of_each_box(f"bbox/{side}", "float32") for side in SIDES):
        return None
    label = keys.get(feature.subkey("class/label"), KeyStatistics())
    classes: tuple[str, ...] = ()
    offset = 1
    is_class = label.largest is not None and label.largest <= MAX_CLASS
    if is_class and is_of_each_box("class/label", "int64"):
        offset = int((label.smallest or 0) >= 1)
        classes = _class_names(label, offset)
    prefix = feature.subkey("")
    attributes = {
        part: by_key[key].dtype if by_key[key].dtype in LISTS else "string"
        for key in by_key
        if (part := key.removeprefix(prefix)) != key
        and not is_reserved_subkey(part)
        and "/" not in part
        and is_of_each_box(part, LISTS.get(by_key[key].dtype, "bytes"))
    }
    return dataclasses.replace(
        feature,
        bare=not (classes and is_of_each_box("class/text", "bytes")),
        label_offset=offset,
        classes=classes,
        attributes=attributes,
        geometry=tuple(
            name
            for name, column in GEOMETRY.items()
            if all(is_of_each_box(part, kind) for part, kind in column.lists.items())
        ),
    )


@functools.lru_cache(maxsize=4096)
def is_label_key(key: str) -> bool:
    """Whether numbers under `key` may be classes, judged by its name."""
    last = last_part(key)
    return last in _LABELS or last.endswith(("_label", "_class"))


def last_part(key: str) -> str:
    """Return the part of `key` after its last slash, in lower case."""
    return key.rpartition("/")[2].lower()
