"""Digests of records' contents, and texts of their annotations, for comparison."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from beam_pipeline import kinds
from beam_pipeline.records import Array, ClassLabel, Inspected, Value, file_of
from tfrecord_dataset.format.inference import is_label_key

Features = Mapping[str, Value]
# Bytes that `repr` leaves unchanged.
_PLAIN = bytes({*range(ord(" "), 0x7F)} - {*b"'\\"})


def content_digests(rows: Sequence[Features]) -> list[str]:
    """Return digests of the records' files, or of all values for records without files.

    Args:
        rows: The features of records that are `alike`.
    """
    if not any(map(_may_have_file, rows[0].values())):
        return list(map(sha256_of, _texts_beside_files(rows, "content")))
    return list(map(_digest_of_files, rows))


def _digest_of_files(features: Features) -> str:
    contents = [
        kinds.of(value).content(value) for _, value in sorted(features.items()) if file_of(value)
    ]
    if len(contents) == 1:
        return str(contents[0])
    [text] = [repr(contents)] if contents else _texts_beside_files([features], "content")
    return sha256_of(text)


def annotations(records: Sequence[Inspected]) -> list[str]:
    """Return texts of the annotations of records that are `alike`.

    Equal contents with different annotations conflict.
    """
    if records[0].example:
        return [record.example.sha256 for record in records if record.example]
    if not any(map(_may_have_file, records[0].features.values())):
        return [record.content_digest for record in records]  # covers the annotations
    return _texts_beside_files([record.features for record in records], "annotation")


def label_text(record: Inspected) -> str:
    """Return the class names of `record`, for messages."""
    names: list[str] = []
    for name, value in record.features.items():
        if not record.example:
            names.extend(kinds.of(value).class_names(value))
        elif isinstance(value, int) and is_label_key(name):
            names.append(str(value))
    return ", ".join(names)


def _may_have_file(value: Value) -> bool:
    return file_of(value) is not None or isinstance(value, Array)


def _texts_beside_files(
    rows: Sequence[Features], stated: Literal["content", "annotation"]
) -> list[str]:
    """Return the `repr` of each row's (name, content or annotation) pairs for values without files.

    Splits of records without files depend on these texts, so the texts must not change.
    """
    names = [name for name, value in sorted(rows[0].items()) if file_of(value) is None]
    if len(rows) > 1 and any(isinstance(value, Array) for value in rows[0].values()):
        return [text for row in rows for text in _texts_beside_files([row], stated)]
    if not names:
        return ["[]"] * len(rows)
    return texts_of({name: [row[name] for row in rows] for name in names}, stated)


def texts_of(
    columns: Mapping[str, Sequence[Value]], stated: Literal["content", "annotation"] = "content"
) -> list[str]:
    """Return the same texts for one or more columns, each with values of one class."""
    names = sorted(columns)
    pairs = ", ".join(f"({name!r}, ".replace("%", "%%") + "%s)" for name in names)
    values = [_shown(columns[name], stated) for name in names]
    return [f"[{pairs}]" % each for each in zip(*values, strict=True)]


def _shown(values: Sequence[Value], stated: Literal["content", "annotation"]) -> Iterable[str]:
    """Return the `repr` of contents or annotations of values of one class."""
    state = getattr(kinds.of(values[0]), stated)
    if type(values[0]) is not ClassLabel:
        return map(_repr, map(state, values))
    few = {id(value): value for value in values}  # often the same objects
    shown = {number: repr(state(value)) for number, value in few.items()}
    return [shown[id(value)] for value in values]


def _repr(value: object) -> str:
    """Like `repr`, in a third of the time for long ASCII texts."""
    is_plain = (
        isinstance(value, str) and value.isascii() and not value.encode().translate(None, _PLAIN)
    )
    return f"'{value}'" if is_plain else repr(value)


def sha256_of(text: str) -> str:
    """Return the hex digest of such a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
