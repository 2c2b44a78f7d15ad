"""What of a record is compared: its content and its annotation."""

import hashlib
from collections.abc import Mapping

from beam_pipeline.records import (
    Array,
    ClassLabel,
    ClassLabels,
    ExampleRecord,
    Objects,
    Record,
    Value,
    file_of,
)
from beam_pipeline.schema.stored_values import is_label_key


def content_digest(features: Mapping[str, Value]) -> str:
    """Equal for inspected values of equal content: their files', or without files all of them."""
    digests = [
        _array_digest(value) if isinstance(value, Array) else file.sha256
        for _, value in sorted(features.items())
        if (file := file_of(value))
    ]
    if len(digests) == 1:
        return digests[0]
    text = repr(digests) if digests else _values_beside_files(features)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def annotation(record: Record) -> str:
    """What `record` says of its content; equal contents with unequal annotations conflict."""
    if isinstance(record, ExampleRecord):
        return record.file.sha256
    return _values_beside_files(record.features)


def label_text(record: Record) -> str:
    """The class names of `record`, for messages."""
    names: list[str] = []
    for name, value in record.features.items():
        match value:
            case int() if isinstance(record, ExampleRecord) and is_label_key(name):
                names.append(str(value))
            case ClassLabel(label):
                names.append(label)
            case ClassLabels(labels) | Objects(labels=labels):
                names.extend(labels)
    return ", ".join(names)


def _values_beside_files(features: Mapping[str, Value]) -> str:
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
