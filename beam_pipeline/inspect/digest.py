"""What of a record is compared: its content and its annotation."""

import hashlib
from collections.abc import Mapping

from beam_pipeline import kinds
from beam_pipeline.records import Inspected, Value, file_of
from tfrecord_dataset.inference import is_label_key


def content_digest(features: Mapping[str, Value]) -> str:
    """Equal for inspected values of equal content: their files', or without files all of them."""
    digests = [
        kinds.of(value).content(value) for _, value in sorted(features.items()) if file_of(value)
    ]
    if len(digests) == 1:
        return str(digests[0])
    text = repr(digests) if digests else _values_beside_files(features)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def annotation(record: Inspected) -> str:
    """What `record` says of its content; equal contents with unequal annotations conflict."""
    if record.example:
        return record.example.sha256
    values = sorted(
        (name, kinds.of(value).annotation(value))
        for name, value in record.features.items()
        if not file_of(value)
    )
    return repr(values)


def label_text(record: Inspected) -> str:
    """The class names of `record`, for messages."""
    names: list[str] = []
    for name, value in record.features.items():
        if not record.example:
            names.extend(kinds.of(value).class_names(value))
        elif isinstance(value, int) and is_label_key(name):
            names.append(str(value))
    return ", ".join(names)


def _values_beside_files(features: Mapping[str, Value]) -> str:
    values = sorted(
        (name, kinds.of(value).content(value))
        for name, value in features.items()
        if not file_of(value)
    )
    return repr(values)
