"""The protocol of a kind: what the pipeline asks of values, and of the features that hold them."""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.kinds import tfds_features
from beam_pipeline.kinds.frame import Frame
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.kinds.rules import Rules
from beam_pipeline.kinds.wording import shortened
from tfrecord_dataset.format.example import FeatureValue
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import Lists, ListSpec

V = TypeVar("V")
Int64s = npt.NDArray[np.int64]

# TensorFlow reads messages of up to 2 GiB: half of that leaves room for all else.
MAX_RECORD_BYTES = 1 << 30


@dataclasses.dataclass(slots=True, kw_only=True)
class Inspection:
    """State of a record while its values are checked.

    Attributes:
        notes: Changes, and how often each was made.
        num_bytes: About how many bytes the record takes in a shard.
        frames: Frames of its images by feature, in order.
        look: Perceptual hash of its first image (`media.looks`), if requested.
    """

    rules: Rules
    read: storage.ReadFile
    notes: Counter[str]
    num_bytes: int
    frames: dict[str, Frame] = dataclasses.field(default_factory=dict)
    look: int | None = None

    @property
    def image_frame(self) -> Frame | None:
        """Frame of the image called "image", else of the first one; None without an image."""
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

    A kind has no state. What a value needs is asked of `kinds.of(value)`, what a feature needs of
    `kinds.named(feature)`: the features of a kind may hold values of others, as a declared scalar
    holds text. A value that cannot be used is a RecordError (docs/data-checks.md).

    Attributes:
        values: The classes of its values.
        features: The kinds of its features (`Feature.kind`).
        types: The names of its types of values in `Observed.types`.
        dtypes: Dtypes of its features; for media, of the decoded values.
        usual: Fields of a declared feature that does not state them, other than in existing
            Examples.
        by_column: Whether `check_column` checks the values: they are not files.
        may_lack: Whether records without a value have one that stands for "missing".
        has_geometry: Whether values are turned with the record's image (`turn_column`).
        has_classes: Whether features have classes.
        has_own_column: Whether the index has a column of the values themselves.
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

    def check_column(self, name: str, values: Sequence[V]) -> tuple[Sequence[V], Int64s | int]:
        """Check values of feature `name`; returns them, and about how many bytes each takes."""
        raise NotImplementedError

    def turn_column(
        self, values: Sequence[V], inspections: Sequence[Inspection]
    ) -> Sequence[V | RecordError]:
        """Turn checked values with the images of their records; a bad value becomes its error."""
        raise NotImplementedError

    def content(self, value: V) -> object:
        """Identity of the value's content: a sha256 in hex, or an object with a text of its own."""
        return value

    def annotation(self, value: V) -> object:
        """Identity of the value as an annotation of its content: an object with a text."""
        return self.content(value)

    def inline_bytes(self, value: V) -> int:
        """About how many bytes a value holds itself."""
        return 0

    def class_names(self, value: Any, feature: Feature | None = None) -> Sequence[str]:
        """The names of a value's classes; their numbers in existing Examples."""
        return ()

    def group(self, value: V) -> str | None:
        """Name of the group that the value puts its record in; None if it cannot name one."""
        return str(value) if isinstance(value, int | float | str | bytes | tuple) else None

    # Statistics and schemas.

    def type_of(self, value: V) -> str:
        """One of `types`."""
        return self.types[0]

    def observe(self, value: V, source: str, observed: Observed) -> None:
        """Counts a checked value of a record from `source`."""

    def observe_column(
        self, values: Sequence[V], sources: Sequence[str], observed: Observed
    ) -> None:
        """Counts checked values of one class."""
        for value, source in zip(values, sources, strict=True):
            self.observe(value, source, observed)

    def class_counts(self, feature: Feature, observed: Observed) -> Mapping[str, int]:
        """Number of occurrences of each class of a feature, by name."""
        return observed.classes

    def infer(self, name: str, observed: Observed, declared: tuple[str, ...]) -> Feature:
        """The feature `name` of such values, without a key.

        Args:
            declared: Class names in order, if layout or user declare them.

        Raises:
            DataError: No feature holds all of them.
        """
        fields = {"kind": self.features[0], "dtype": self.dtypes[0], **self.fields(name, observed)}
        return self.complete(Feature(name=name, key="", **fields), observed, declared)

    def fields(self, name: str, observed: Observed) -> Mapping[str, Any]:
        """Fields of the feature `name` of such values, other than the kind's usual ones."""
        return {}

    def dtypes_of(self, feature: Feature) -> Sequence[str]:
        """The dtypes that a declared feature of this kind may have."""
        return self.dtypes

    def complete(self, feature: Feature, observed: Observed, declared: tuple[str, ...]) -> Feature:
        """A declared feature of this kind, completed from the values that fit it.

        Raises:
            DataError: There are undeclared classes.
        """
        return feature

    def complete_stored(
        self, feature: Feature, observed: Observed, declared: tuple[str, ...]
    ) -> Feature:
        """Complete a feature of existing Examples, as `complete` does."""
        return feature

    def fits(self, feature: Feature, value: Any) -> bool:
        """Whether a declared feature of this kind holds such a value."""
        return isinstance(value, self.values)

    def shown(self, value: V) -> str:
        """A value, for messages."""
        return shortened(value)

    def summary(self, feature: Feature, observed: Observed, num_records: int) -> Iterator[str]:
        """Yield the summary of a feature of so many records, after its `type_words`."""
        yield from observed.range_words()

    def type_words(self, feature: Feature) -> Iterator[str]:
        """Format, dtype, shape and encoding of a feature, if they matter."""
        if feature.format:
            yield feature.format if feature.format != "mixed" else "in several formats"

    # Examples.

    def payload(self, value: V, data: bytes, rules: Rules) -> bytes:
        """Bytes to store for a value whose file holds `data`."""
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
        """Encode the values of some records, by key."""
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
        """Text to show after the values of a feature's key."""
        return ""

    # The index and other descriptions.

    def class_key(self, feature: Feature) -> str:
        """The key that holds the numbers of classes."""
        return feature.key

    def tfds(self, feature: Feature, key: str, spec: ListSpec) -> dict[str, Any]:
        """TFDS's description of a key of a feature."""
        return tfds_features.scalar(spec.kind)

    def fact_types(self, feature: Feature) -> Mapping[str, str]:
        """Further columns of a feature in the index: "string" or "int64" by name."""
        return {}

    def facts(self, value: V) -> Mapping[str, Any]:
        """A value's entries in these columns."""
        return {"length": 1}


def check_text(name: str, text: str) -> None:
    """Raises RecordError for text that is not UTF-8, as file names may be."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise RecordError("not UTF-8", f"{name}: {text!a}") from error
