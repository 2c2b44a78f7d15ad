"""Summaries of the lists in existing Examples, of one record and over many."""

import math
from collections.abc import Sequence
from typing import Any

from beam_pipeline.records import Value
from beam_pipeline.stored_lists import ListSummary
from tfrecord_dataset.value_forms import form_of

# Of a longer text only the length is kept.
_SHORT_CHARACTERS = 100


def summary(kind: str, values: Sequence[Any]) -> Value:
    """The summary of a list in an Example.

    Args:
        kind: "int64", "float32", "bytes", or "" if none is set.
        values: The list.
    """
    length = len(values)
    if kind == "bytes":
        return _of_bytes(values[0]) if length == 1 else ListSummary(kind=kind, length=length)
    if length == 1 and kind:
        number: int | float = values[0]
        return number
    known = [each for each in values if each == each]  # not NaN
    minimum, maximum = min(known, default=None), max(known, default=None)
    finite_range, not_finite = None, length - len(known)
    if not all(map(math.isfinite, filter(None, (minimum, maximum)))):
        finite = list(filter(math.isfinite, known))
        finite_range = (min(finite, default=None), max(finite, default=None))
        not_finite = length - len(finite)
    return ListSummary(
        kind=kind,
        length=length,
        minimum=minimum,
        maximum=maximum,
        finite_range=finite_range,
        not_finite=not_finite,
    )


def _of_bytes(value: bytes) -> Value:
    form = form_of(value)
    text = value.decode() if form == "text" else ""
    if 0 < len(text) <= _SHORT_CHARACTERS:
        return text
    return ListSummary(
        kind="bytes",
        length=1,
        form=form,
        num_bytes=len(value),
        num_characters=len(text),
    )


def kind_of(value: Value) -> str:
    """The kind of list with this summary."""
    match value:
        case int():
            return "int64"
        case float():
            return "float32"
        case ListSummary(kind=kind):
            return kind
    return "bytes"
