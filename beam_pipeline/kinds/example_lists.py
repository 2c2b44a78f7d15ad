"""Values and problems of the lists in an Example."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import Lists

_SHOWN_CHARACTERS = 40


def one(lists: Lists, key: str) -> Any:
    """Return the first value of a key."""
    return lists[key][1][0]


def text(lists: Lists, key: str) -> str:
    """Return the first value of a key as text."""
    return str(one(lists, key).decode(errors="replace"))


def values(lists: Lists, key: str) -> Sequence[Any]:
    """Return the values of a key, which may be missing."""
    return lists.get(key, ("", ()))[1]


def range_problem(feature: Feature, numbers: Iterable[Any]) -> str:
    """Name a number beyond the range that a feature declares; "" if there is none."""
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
    """Say why a text is not UTF-8; "" if it is."""
    try:
        value.decode()
    except UnicodeDecodeError:
        return f"key {feature.key!r} holds {describe_bytes(value)}, where UTF-8 was expected"
    return ""


def describe_bytes(value: bytes) -> str:
    """Describe a bytes value, for messages."""
    head = repr(value[:_SHOWN_CHARACTERS])[1:]
    return f"{len(value):,} bytes that start with {head}" if value else "no bytes"
