"""What a record's content is: equal contents are duplicates, and share a split."""

import hashlib
from collections.abc import Mapping

from beam_pipeline.records import Array, Record, Value, file_of


def content_digest(features: Mapping[str, Value]) -> str:
    """Equal for inspected values of equal content: their files', or without files all of them."""
    digests = [
        _array_digest(value) if isinstance(value, Array) else file.sha256
        for _, value in sorted(features.items())
        if (file := file_of(value))
    ]
    if len(digests) == 1:
        return digests[0]
    text = repr(digests) if digests else _told(features)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def annotation(record: Record) -> str:
    """What `record` says of its content; equal contents with unequal annotations conflict."""
    return record.example.file.sha256 if record.example else _told(record.features)


def _told(features: Mapping[str, Value]) -> str:
    """All that lies in no file."""
    values = sorted(
        (name, _array_digest(value) if isinstance(value, Array) else value)
        for name, value in features.items()
        if not file_of(value)
    )
    return repr(values)


def _array_digest(array: Array) -> str:
    """Equal for equal values of one type and shape."""
    values = array.file.sha256 if array.file else hashlib.sha256(array.data).hexdigest()
    return hashlib.sha256(f"{array.dtype} {array.shape} {values}".encode()).hexdigest()
