"""The protocol of a kind: what the pipeline needs from values and their features."""

import dataclasses
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.kinds import tfds_features
from beam_pipeline.kinds.frame import Frame
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.kinds.wording import range_words, shortened
from beam_pipeline.media.audio import AudioOptions
from beam_pipeline.media.images import ImageOptions
from tfrecord_dataset.format.example import FeatureValue
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import Lists, ListSpec, written_key

V = TypeVar("V")
Int64s = npt.NDArray[np.int64]
Names = tuple[str, ...]
Checked = tuple[Sequence[V], Int64s | int]
"""Checked values, and the approximate bytes of each."""

# TensorFlow reads messages of up to 2 GiB; half of that leaves room for other values.
MAX_RECORD_BYTES = 1 << 30
_SHOWN_CHARACTERS = 40


class BoxPolicy(NamedTuple):
    """Treatment of boxes that extend beyond the image: they are clipped, or left out.

    Attributes:
        least_inside: Share of a box's area that must be in the image, else the box is dropped.
        refuses: Whether such a box, or one without area, refuses the record instead.
    """

    least_inside: float = 0.0
    refuses: bool = False


BOX_POLICIES: Mapping[str, BoxPolicy] = {
    "clip": BoxPolicy(),
    "drop": BoxPolicy(least_inside=1.0),
    "error": BoxPolicy(refuses=True),
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Options for checking and storing records.

    Attributes:
        box_policy: One of `BOX_POLICIES`.
        with_masks: Whether PNG masks of objects are stored; polygons always are.
        box_format: Format of boxes stated by the user; "" for the layout's.
        schema: Features declared by the user; empty if none.
        may_be_nan: Whether NaN marks a missing number.
        max_seconds: CPU time that a record may take.
        with_looks: Whether images are compared by their perceptual hashes.
    """

    image: ImageOptions = dataclasses.field(default_factory=ImageOptions)
    audio: AudioOptions = dataclasses.field(default_factory=AudioOptions)
    box_policy: str = "clip"
    with_masks: bool = False
    box_format: str = ""
    schema: tuple[Feature, ...] = ()
    may_be_nan: bool = False
    max_seconds: float = 60.0
    with_looks: bool = False


@dataclasses.dataclass(slots=True, kw_only=True)
class Inspection:
    """State of a record while its values are checked.

    Attributes:
        notes: Number of changes, by description.
        num_bytes: Approximate size of the record in a shard, in bytes.
        frames: Frames of its images by feature, in order.
        look: Perceptual hash of its first image (`media.images.look_of`), if requested.
    """

    rules: Rules
    read: storage.ReadFile
    notes: Counter[str]
    num_bytes: int
    frames: dict[str, Frame] = dataclasses.field(default_factory=dict)
    look: int | None = None

    @property
    def image_frame(self) -> Frame | None:
        """Frame of the image named "image", else of the first one; None without an image."""
        return self.frames.get("image") or next(iter(self.frames.values()), None)

    def count(self, what: str, conversions: Iterable[str], num_bytes: int = 0) -> None:
        """Count the conversions of a value, and its bytes as stored."""
        for reason in conversions:
            self.notes[f"{what} converted: {reason}"] += 1
        self.num_bytes += num_bytes


class Stored(NamedTuple):
    """Content of an Example in addition to the values of its record.

    Attributes:
        payloads: Contents of files as stored, by feature.
        numbers: By feature, the stored numbers of classes by name.
    """

    key: str
    source_id: str
    payloads: Mapping[str, bytes]
    numbers: Mapping[str, Mapping[str, int]]


class Kind(Generic[V]):
    """One kind of values: how they are checked, counted, declared, stored and described.

    A kind has no state. `kinds.of(value)` handles a value and `kinds.named(feature)` a feature;
    they may differ, as a declared scalar may hold text. An unusable value is a RecordError
    (docs/data-checks.md).

    Attributes:
        values: Classes of its values.
        features: Kinds of its features (`Feature.kind`).
        types: Names of its types of values in `Observed.types`.
        dtypes: Dtypes of its features; for media, of the decoded values.
        usual: Default fields of a declared feature, except in existing Examples.
        by_column: Whether `check_column` checks the values; false for files.
        may_lack: Whether a value represents "missing" in records without one.
        has_geometry: Whether values are turned with the record's image (`turn_column`).
        has_classes: Whether features have classes.
        has_own_column: Whether the index has a column with the values themselves.
    """

    values: tuple[type, ...] = ()
    features: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    usual: Mapping[str, Any] = {}
    by_column = False
    may_lack = False
    has_geometry = False
    has_classes = False
    has_own_column = False

    # Records under inspection.

    def check(self, name: str, value: V, inspection: Inspection) -> Any:
        """Check a value of feature `name`, and count its bytes and changes."""
        raise NotImplementedError

    def check_column(self, name: str, values: Sequence[V]) -> Checked[V]:
        """Check values of feature `name`."""
        raise NotImplementedError

    def turn_column(
        self, values: Sequence[V], inspections: Sequence[Inspection]
    ) -> Sequence[V | RecordError]:
        """Turn checked values with the images of their records; a bad value becomes its error."""
        raise NotImplementedError

    def content(self, value: V) -> object:
        """Return the identity of the value's content: a hex sha256, or an object with a `repr`."""
        return value

    def annotation(self, value: V) -> object:
        """Return the identity of the value as an annotation: an object with a `repr`."""
        return self.content(value)

    def inline_bytes(self, value: V) -> int:
        """Estimate the bytes of a value outside files."""
        return 0

    def class_names(self, value: Any, feature: Feature | None = None) -> Sequence[str]:
        """Return the names of a value's classes; their numbers for existing Examples."""
        return ()

    def group(self, value: V) -> str | None:
        """Return the name of the group for `--group-by`; None if the value cannot name one."""
        return str(value) if isinstance(value, int | float | str | bytes | tuple) else None

    # Statistics and schemas.

    def type_of(self, value: V) -> str:
        """Return the value's type, one of `types`."""
        return self.types[0]

    def observe(self, value: V, source: str, observed: Observed) -> None:
        """Count a checked value of a record from `source`."""

    def observe_column(
        self, values: Sequence[V], sources: Sequence[str], observed: Observed
    ) -> None:
        """Count checked values of one class."""
        for value, source in zip(values, sources, strict=True):
            self.observe(value, source, observed)

    def class_counts(self, feature: Feature, observed: Observed) -> Mapping[str, int]:
        """Return the number of occurrences of a feature's classes, by name."""
        return observed.classes

    def infer(
        self, name: str, observed: Observed, declared: Names, names: Collection[str]
    ) -> Feature:
        """Infer the feature `name` from its values.

        Args:
            declared: Class names in order, if layout or user declare them.
            names: Names of all features of the record, on which its key depends.

        Raises:
            DataError: No feature can hold all values.
        """
        fields = {"kind": self.features[0], "dtype": self.dtypes[0], **self.fields(name, observed)}
        key = written_key(name, fields["kind"], names)
        return self.complete(Feature(name=name, key=key, **fields), observed, declared)

    def fields(self, name: str, observed: Observed) -> Mapping[str, Any]:
        """Return the fields of feature `name` that differ from the kind's usual ones."""
        return {}

    def dtypes_of(self, feature: Feature) -> Sequence[str]:
        """Return the dtypes that a declared feature of this kind may have."""
        return self.dtypes

    def complete(self, feature: Feature, observed: Observed, declared: Names) -> Feature:
        """Complete a declared feature of this kind from the values that fit it.

        Raises:
            DataError: There are undeclared classes.
        """
        return feature

    def complete_stored(self, feature: Feature, observed: Observed, declared: Names) -> Feature:
        """Complete a feature of existing Examples, as `complete` does."""
        return feature

    def fits(self, feature: Feature, value: Any) -> bool:
        """Whether a declared feature of this kind can hold a value."""
        return isinstance(value, self.values)

    def shown(self, value: V) -> str:
        """Format a value for messages."""
        return shortened(value)

    def summary(self, feature: Feature, observed: Observed, num_records: int) -> Iterator[str]:
        """Yield the summary of a feature in `num_records` records, after its `type_words`."""
        yield from range_words(observed)

    def type_words(self, feature: Feature) -> Iterator[str]:
        """Yield format, dtype, shape and encoding of a feature, if relevant."""
        if feature.format:
            yield feature.format if feature.format != "mixed" else "in several formats"

    # Examples.

    def payload(self, value: V, data: bytes, rules: Rules) -> bytes:
        """Return the bytes to store for a value whose file contains `data`."""
        return data

    def encode(self, feature: Feature, value: Any, stored: Stored) -> dict[str, FeatureValue]:
        """Encode the value of one record, by key of the Example.

        Args:
            value: A value of an inspected record; None if it is missing.

        Raises:
            RecordError: "value out of range", "malformed annotation": the feature cannot hold it.
        """
        raise NotImplementedError

    def encode_column(
        self, feature: Feature, values: Sequence[Any], stored: Sequence[Stored]
    ) -> dict[str, Sequence[FeatureValue]]:
        """Encode the values of several records, by key."""
        rows = [self.encode(feature, *each) for each in zip(values, stored, strict=True)]
        return {key: [row[key] for row in rows] for key in rows[0]}

    def problem(self, feature: Feature, lists: Lists) -> str:
        """Return what is wrong with a feature's values in an Example of valid lists, or ""."""
        return ""

    def differences(self, feature: Feature, lists: Lists) -> Iterator[str]:
        """Describe how the media of a conforming Example differ from their stated facts.

        Raises:
            RecordError: It is damaged.
        """
        yield from ()

    def note(self, feature: Feature, lists: Mapping[str, Sequence[Any]]) -> str:
        """Return text to show after the values of a feature's key."""
        return ""

    # The index and other descriptions.

    def class_key(self, feature: Feature) -> str:
        """Return the key of the class numbers."""
        return feature.key

    def tfds(self, feature: Feature, key: str, spec: ListSpec) -> dict[str, Any]:
        """Return TFDS's description of a feature's key."""
        return tfds_features.scalar(spec.kind)

    def fact_types(self, feature: Feature) -> Mapping[str, str]:
        """Return types of a feature's further index columns: "string" or "int64" by name."""
        return {}

    def facts(self, value: V) -> Mapping[str, Any]:
        """Return a value's entries in these columns."""
        return {"length": 1}

    def fact_column(self, fact: str, values: Sequence[V]) -> Sequence[Any]:
        """Return the entries of several values in one of these columns."""
        return [self.facts(value).get(fact) for value in values]


def check_text(name: str, text: str) -> None:
    """Raise RecordError for text that is not UTF-8, such as some file names."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise RecordError("not UTF-8", f"{name}: {text!a}") from error


def one(lists: Lists, key: str) -> Any:
    """Return the first value of a key."""
    return lists[key][1][0]


def text(lists: Lists, key: str) -> str:
    """Return the first value of a key as text."""
    return str(one(lists, key).decode(errors="replace"))


def values(lists: Lists, key: str) -> Sequence[Any]:
    """Return the values of a key, which may be missing."""
    return lists.get(key, ("", ()))[1]


def range_problem(feature: Feature, numbers: Iterable[Any]) -> str:
    """Name a number beyond the range that a feature declares; "" if there is none."""
    low, high = feature.minimum, feature.maximum
    if low is None and high is None:
        return ""
    low, high = (-math.inf if low is None else low), (math.inf if high is None else high)
    given = np.asarray(numbers)
    outside = given[~((given >= low) & (given <= high))]  # NaN too
    if not outside.size:
        return ""
    return f"key {feature.key!r} holds {outside[0]:g}, where {low:g} to {high:g} was expected"


def text_problem(feature: Feature, value: bytes) -> str:
    """Say why a text is not UTF-8; "" if it is."""
    try:
        value.decode()
    except UnicodeDecodeError:
        return f"key {feature.key!r} holds {describe_bytes(value)}, where UTF-8 was expected"
    return ""


def describe_bytes(value: bytes) -> str:
    """Describe a bytes value, for messages."""
    head = repr(value[:_SHOWN_CHARACTERS])[1:]
    return f"{len(value):,} bytes that start with {head}" if value else "no bytes"
