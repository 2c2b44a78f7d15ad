"""What is asked of the lists of an Example: values of a key, and what is wrong with them."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from beam_pipeline.records import ListSummary, Value
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import Lists
from tfrecord_dataset.format.value_forms import form_of

_SHOWN_CHARACTERS = 40


def one(lists: Lists, key: str) -> Any:
    """The first value under a key."""
    return lists[key][1][0]


def text(lists: Lists, key: str) -> str:
    """The first value under a key, a text."""
    return str(one(lists, key).decode(errors="replace"))


def values(lists: Lists, key: str) -> Sequence[Any]:
    """The values under a key, which may be missing."""
    return lists.get(key, ("", ()))[1]


def range_problem(feature: Feature, numbers: Iterable[Any]) -> str:
    """Which number is beyond the range that a feature declares; "" where none is."""
    low, high = feature.minimum, feature.maximum
    if low is None and high is None:
        return ""
    low, high = (-math.inf if low is None else low), (math.inf if high is None else high)
    given = np.asarray(numbers)
    outside = given[~((given >= low) & (given <= high))]  # NaN too
    if not outside.size:
        return ""
    return f"key {feature.key!r} holds {outside[0]:g}, where {low:g} to {high:g} was expected"


def text_problem(feature: Feature, value: bytes) -> str:
    """What is wrong with a text; "" where nothing is."""
    try:
        value.decode()
    except UnicodeDecodeError:
        return f"key {feature.key!r} holds {describe_bytes(value)}, where UTF-8 was expected"
    return ""


def describe_bytes(value: bytes) -> str:
    """A bytes value, for messages."""
    head = repr(value[:_SHOWN_CHARACTERS])[1:]
    return f"{len(value):,} bytes that start with {head}" if value else "no bytes"


# Of a longer text only the length is kept.
_SHORT_CHARACTERS = 100


def summary(kind: str, values: Sequence[Any]) -> Value:
    """The summary of a list in an Example."""
    length = len(values)
    if kind == "bytes":
        return _of_bytes(values[0]) if length == 1 else ListSummary(kind=kind, length=length)
    if length == 1 and kind:
        number: int | float = values[0]
        return number
    known = [value for value in values if value == value]  # not NaN
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
