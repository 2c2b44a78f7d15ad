"""Kinds whose values are files: what is alike in images, audio and other files."""

import contextlib
import dataclasses
import hashlib
from collections.abc import Collection, Iterator

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.example_lists import describe_bytes, one
from beam_pipeline.kinds.kind import Kind, V
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.records import FileRef
from tfrecord_dataset.feature import Feature
from tfrecord_dataset.feature_keys import Lists
from tfrecord_dataset.inference import stored_format
from tfrecord_dataset.value_forms import form_of


class MediaKind(Kind[V]):
    """Encoded media.

    Attributes:
        forms: Those that Examples of others may hold, by `stored_values.form_of`.
    """

    forms: Collection[str] = ()

    def complete_stored(
        self, feature: Feature, observed: Observed, declared: tuple[str, ...]
    ) -> Feature:
        return dataclasses.replace(feature, format=stored_format(feature.kind, observed.formats))

    def problem(self, feature: Feature, lists: Lists) -> str:
        value = one(lists, feature.key)
        if form_of(value) in self.forms:
            return ""
        key = feature.key
        return f"key {key!r} holds {describe_bytes(value)}, where {feature.kind} was expected"


def size_problem(feature: Feature, sizes: tuple[int, ...], sample_rate: int = 0) -> str:
    """Where an image or audio is not as large as declared, or has another sample rate, or ""."""
    if not agrees(feature.shape, sizes):
        wanted = list(feature.shape[: len(sizes)])
        return (
            f"key {feature.key!r} holds {feature.kind} {list(sizes)}, where {wanted} was expected"
        )
    if feature.sample_rate and feature.sample_rate != sample_rate:
        return (
            f"key {feature.key!r} has {sample_rate:,} samples per second, where "
            f"{feature.sample_rate:,} were expected"
        )
    return ""


@contextlib.contextmanager
def of_key(key: str) -> Iterator[None]:
    """Names the key of an image or audio that is damaged."""
    try:
        yield
    except RecordError as error:
        raise RecordError(f"key {key!r} holds {error.reason}", error.detail) from error


def hashed(file: FileRef, data: bytes) -> FileRef:
    """A range with the sha256 of what it holds."""
    sha256 = hashlib.sha256(data).hexdigest()
    return FileRef(path=file.path, offset=file.offset, length=file.length, sha256=sha256)


@contextlib.contextmanager
def of_feature(name: str) -> Iterator[None]:
    """Names the feature in what is wrong with its value."""
    try:
        yield
    except RecordError as error:
        raise RecordError(error.reason, f"feature {name!r}: {error.detail}") from error


def one_format(observed: Observed) -> str:
    """The encoding of all values, or "mixed"."""
    return next(iter(observed.formats)) if len(observed.formats) == 1 else "mixed"


def one_shape(observed: Observed) -> tuple[int | None, ...]:
    """The sizes by axis, None where records differ."""
    axes = (observed.sizes[axis] for axis in sorted(observed.sizes))
    return tuple(next(iter(sizes)) if len(sizes) == 1 else None for sizes in axes)


def agrees(shape: tuple[int | None, ...], sizes: tuple[int, ...]) -> bool:
    """Whether `sizes` are the first of a feature's shape, where those are fixed."""
    return all(want in (None, size) for want, size in zip(shape, sizes, strict=False))


def shape_text(feature: Feature) -> str:
    """A feature's shape, for messages."""
    return f"[{', '.join('any' if size is None else str(size) for size in feature.shape)}]"
