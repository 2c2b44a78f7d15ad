"""Base of kinds whose values are media files: images, audio and maps."""

import contextlib
import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, TypeVar

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.kinds.example_lists import describe_bytes, one
from beam_pipeline.kinds.kind import MAX_RECORD_BYTES, Kind, Stored
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.records import Audio, FileRef, Image, Map
from tfrecord_dataset.format.example import FeatureValue
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import Lists, agrees, rate_problem, shape_problem
from tfrecord_dataset.format.inference import stored_format
from tfrecord_dataset.format.value_forms import form_of

Media = TypeVar("Media", Audio, Image, Map)

# Larger files are read completely only if their first bytes are valid.
_LARGE_FILE_BYTES = 32 << 20
_START_BYTES = 1 << 12
_TOO_LARGE = "file too large"


def read_file(
    read: storage.ReadFile, file: FileRef, check_start: Callable[[bytes], object] | None = None
) -> bytes:
    """Read a file of up to 1 GiB; `check_start` gets the first bytes of a large file."""
    if check_start is None:
        return read(file, MAX_RECORD_BYTES)
    try:
        return read(file, _LARGE_FILE_BYTES)
    except RecordError as error:
        if error.reason != _TOO_LARGE:
            raise
    check_start(read(dataclasses.replace(file, length=_START_BYTES), _START_BYTES))
    return read(file, MAX_RECORD_BYTES)


class MediaKind(Kind[Media]):
    """Encoded media.

    Attributes:
        forms: Forms (`form_of`) that existing Examples may contain.
        numbers: Numeric facts of a value in the index.
    """

    forms: Collection[str] = ()
    numbers: tuple[str, ...] = ()

    def sizes(self, value: Media) -> tuple[int, ...]:
        """Return the size by axis."""
        raise NotImplementedError

    def parts(self, value: Media, payload: bytes, stored: Stored) -> Mapping[str, Any]:
        """Return values stored in addition to the payload, by part of the feature's key."""
        raise NotImplementedError

    def content(self, value: Media) -> object:
        return value.file.sha256

    def complete_stored(
        self, feature: Feature, observed: Observed, declared: tuple[str, ...]
    ) -> Feature:
        return dataclasses.replace(feature, format=stored_format(feature.kind, observed.formats))

    def fits(self, feature: Feature, value: Any) -> bool:
        is_one = issubclass(type(value), self.values)
        return is_one and agrees(feature.shape, self.sizes(value))

    def shown(self, value: Media) -> str:
        return f"{self.type_of(value)} {list(self.sizes(value))}"

    def encode(self, feature: Feature, value: Any, stored: Stored) -> dict[str, FeatureValue]:
        payload = stored.payloads[feature.name]
        lists: dict[str, FeatureValue] = {feature.key: [payload]}
        if not feature.bare:
            prefix = feature.subkey("")  # computed once, as a record has many
            for part, stated in self.parts(value, payload, stored).items():
                lists[prefix + part] = [stated.encode() if isinstance(stated, str) else stated]
        return lists

    def problem(self, feature: Feature, lists: Lists) -> str:
        value = one(lists, feature.key)
        if form_of(value) in self.forms:
            return ""
        expected = f"{feature.kind} ({', '.join(sorted(self.forms))})"
        return f"key {feature.key!r} holds {describe_bytes(value)}, where {expected} was expected"

    def fact_types(self, feature: Feature) -> Mapping[str, str]:
        return {"sha256": "string", **dict.fromkeys(self.numbers, "int64")} if self.numbers else {}

    def facts(self, value: Media) -> Mapping[str, Any]:
        return {"sha256": value.file.sha256} | {name: getattr(value, name) for name in self.numbers}


def size_problem(feature: Feature, sizes: tuple[int, ...], sample_rate: int = 0) -> str:
    """Describe how a size or sample rate differs from the declaration; "" if it does not."""
    return shape_problem(feature, sizes) or rate_problem(feature, sample_rate)


@contextlib.contextmanager
def of_key(key: str) -> Iterator[None]:
    """Prefix errors about a damaged image or audio with its key."""
    try:
        yield
    except RecordError as error:
        raise RecordError(f"key {key!r} holds {error.reason}", error.detail) from error


def one_format(observed: Observed) -> str:
    """Return the encoding of all values, or "mixed"."""
    return next(iter(observed.formats)) if len(observed.formats) == 1 else "mixed"


def one_shape(observed: Observed) -> tuple[int | None, ...]:
    """Return the sizes by axis, None for an axis in which records differ."""
    axes = (observed.sizes[axis] for axis in sorted(observed.sizes))
    return tuple(next(iter(sizes)) if len(sizes) == 1 else None for sizes in axes)
