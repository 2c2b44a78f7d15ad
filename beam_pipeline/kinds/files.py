"""Kinds whose values are files: what is alike in images, audio, arrays and other files."""

import contextlib
import hashlib
from collections.abc import Iterator

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.records import FileRef
from tfrecord_dataset.feature import Feature


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
