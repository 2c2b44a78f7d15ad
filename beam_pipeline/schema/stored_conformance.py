"""Whether an Example conforms to a schema."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy

from beam_pipeline.records import ListSummary
from tfrecord_dataset.feature import Feature
from tfrecord_dataset.feature_keys import Lists as Lists
from tfrecord_dataset.feature_keys import (
    ListSpec,
    list_problem,
    list_specs,
    num_values,
)
from tfrecord_dataset.value_forms import AUDIO_FORMS, IMAGE_FORMS, form_of

_ENCODED = {"image": IMAGE_FORMS, "audio": AUDIO_FORMS}
_SHOWN_CHARACTERS = 40


Specs = Sequence[tuple[Feature, Mapping[str, ListSpec]]]
"""What the keys of each feature must hold."""


def schema_specs(schema: Iterable[Feature]) -> Specs:
    """The `list_specs` of each feature, to be made once for many Examples."""
    return [(feature, list_specs(feature)) for feature in schema]


def mismatches(specs: Specs, lists: Lists) -> Iterator[str]:
    """Messages about keys of an Example that do not fit the schema of `specs`, one per key."""
    for feature, keys in specs:
        list_problems = [list_problem(key, each, lists) for key, each in keys.items()]
        problems = [problem for problem in list_problems if problem]
        if not problems and feature.kind == "boxes" and not feature.encoding:
            problems = [_lengths_problem(feature, keys, lists)]
        elif not problems:
            problems = [_value_problem(feature, lists)]
        yield from filter(None, problems)


def _lengths_problem(feature: Feature, keys: Iterable[str], lists: Lists) -> str:
    """Checks that all lists of boxes, except keypoints, have one value per box."""
    lengths = {
        key: len(lists.get(key, ("", ()))[1])
        for key in keys
        if not key.startswith(feature.key_beside("keypoint/"))
    }
    (one, shortest), *_, (other, longest) = sorted(lengths.items(), key=lambda item: item[1])
    if shortest == longest:
        return ""
    return f"key {one!r} has {shortest} values, but {other!r} has {longest}; both need one per box"


def size_problem(feature: Feature, value: ListSummary) -> str:
    """Checks the size of an image or audio, and its sample rate; "" or a message."""
    sizes = feature.shape[: len(value.shape)]
    if any(want not in (None, size) for want, size in zip(sizes, value.shape, strict=True)):
        return (
            f"key {feature.key!r} holds {feature.kind} {list(value.shape)}, where {list(sizes)} "
            "was expected"
        )
    if feature.sample_rate and feature.sample_rate != value.sample_rate:
        return (
            f"key {feature.key!r} has {value.sample_rate:,} samples per second, where "
            f"{feature.sample_rate:,} were expected"
        )
    return ""


def _value_problem(feature: Feature, lists: Lists) -> str:
    """Checks a feature's values, after its lists; "" or a message."""
    key, kind = feature.key, feature.kind
    values = lists.get(key, ("", ()))[1]
    if kind in _ENCODED:
        if form_of(values[0]) not in _ENCODED[kind]:
            return f"key {key!r} holds {describe_bytes(values[0])}, where {kind} was expected"
    elif feature.encoding == "bytes":
        num_bytes = num_values(feature.shape) * numpy.dtype(feature.dtype).itemsize
        if len(values[0]) != num_bytes:
            return (
                f"key {key!r} holds {len(values[0]):,} bytes, where {feature.dtype} "
                f"{list(feature.shape)} has {num_bytes:,}"
            )
        little_endian = numpy.dtype(feature.dtype).newbyteorder("<")
        return _range_problem(feature, numpy.frombuffer(values[0], little_endian))
    elif kind == "class_label":
        return _class_problem(feature, values)
    elif kind in ("text", "scalar") and feature.dtype == "string":
        try:
            values[0].decode()
        except UnicodeDecodeError:
            return f"key {key!r} holds {describe_bytes(values[0])}, where UTF-8 was expected"
    elif feature.dtype in ("int64", "float32"):
        return _range_problem(feature, values)
    return ""


def _range_problem(feature: Feature, values: Iterable[Any]) -> str:
    low, high = feature.minimum, feature.maximum
    if low is None and high is None:
        return ""
    low, high = (-math.inf if low is None else low), (math.inf if high is None else high)
    numbers = numpy.asarray(values)
    outside = numbers[~((numbers >= low) & (numbers <= high))]  # NaN too
    if not outside.size:
        return ""
    return f"key {feature.key!r} holds {outside[0]:g}, where {low:g} to {high:g} was expected"


def _class_problem(feature: Feature, values: Sequence[int]) -> str:
    first, count = feature.label_offset, len(feature.classes)
    for value in values:
        if value != -1 and (value < first or (count and value >= first + count)):
            last = f"to {first + count - 1} " if count else "or more "
            return (
                f"key {feature.key!r} holds the class {value}, where {first} {last}was expected, "
                "or -1 for none"
            )
    return ""


def describe_bytes(value: bytes) -> str:
    """A bytes value, for messages."""
    head = repr(value[:_SHOWN_CHARACTERS])[1:]
    return f"{len(value):,} bytes that start with {head}" if value else "no bytes"
