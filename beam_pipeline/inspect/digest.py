"""Digests of records' contents, and texts of their annotations, for comparison."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from beam_pipeline import kinds
from beam_pipeline.batch import Examples
from beam_pipeline.records import ClassLabel, Value, file_of
from tfrecord_dataset.format.inference import is_label_key

Columns = Mapping[str, Sequence[Value]]
# From here on, searching for the characters that `repr` escapes is faster than `repr`.
_LONG_CHARACTERS = 1000
_ESCAPED = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def content_digests(features: Columns, num_rows: int) -> list[str]:
    """Return digests of the examples' files, or of all values for examples without files.

    Args:
        features: The features of records that are `alike`.
    """
    files = _with_files(features)
    if not files:
        return list(map(sha256_of, _texts_beside_files(features, num_rows, "content")))
    contents = [[*map(kinds.of(values[0]).content, values)] for values in files]
    if len(contents) == 1:
        return list(map(str, contents[0]))
    return [sha256_of(repr([*row])) for row in zip(*contents, strict=True)]


def annotations(examples: Examples) -> list[str]:
    """Return texts of the annotations of examples from `content_digests`.

    Equal contents with different annotations conflict.
    """
    if "example" in examples.fields:
        return [file.sha256 for file in examples.fields["example"]]
    if not _with_files(examples.features):
        digests: list[str] = [*examples.fields["content_digest"]]
        return digests  # covers the annotations
    return _texts_beside_files(examples.features, len(examples), "annotation")


def label_texts(examples: Examples) -> Iterator[str]:
    """Yield the class names of each example, for messages."""
    rows = examples.rows()
    for features, example in zip(rows, examples.field("example"), strict=True):
        names: list[str] = []
        for name, value in features.items():
            if not example:
                names.extend(kinds.of(value).class_names(value))
            elif isinstance(value, int) and is_label_key(name):
                names.append(str(value))
        yield ", ".join(names)


def _with_files(features: Columns) -> list[Sequence[Value]]:
    columns = (values for _, values in sorted(features.items()))
    return [values for values in columns if file_of(values[0]) is not None]


def _texts_beside_files(
    features: Columns, num_rows: int, stated: Literal["content", "annotation"]
) -> list[str]:
    """Return the `repr` of each row's (name, content or annotation) pairs for values without files.

    Splits of records without files depend on these texts, so the texts must not change.
    """
    others = {name: values for name, values in features.items() if file_of(values[0]) is None}
    return texts_of(others, stated) if others else ["[]"] * num_rows


def texts_of(columns: Columns, stated: Literal["content", "annotation"] = "content") -> list[str]:
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
    """Like `repr`, in a tenth of the time for long ASCII texts."""
    if type(value) is not str or len(value) < _LONG_CHARACTERS or not value.isascii():
        return repr(value)
    text = value
    for character, escaped in _ESCAPED.items():
        text = text.replace(character, escaped) if character in text else text
    codes = np.frombuffer(text.encode(), np.uint8) - np.uint8(ord(" "))
    if codes.max() > ord("~") - ord(" "):  # another control character
        return repr(value)
    if "'" not in text:
        return f"'{text}'"
    return f'"{text}"' if '"' not in text else "'{}'".format(text.replace("'", "\\'"))


def sha256_of(text: str) -> str:
    """Return the hex digest of such a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
