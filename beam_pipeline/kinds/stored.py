"""Summaries of lists in existing Examples, whose keys have features of unknown kind."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from beam_pipeline.kinds.kind import Inspection, Kind
from beam_pipeline.kinds.observed import ListCounts, Observed
from beam_pipeline.kinds.wording import unsupported
from beam_pipeline.records import ListSummary, Value
from tfrecord_dataset.format.inference import MAX_CLASS, NAMED_CLASSES
from tfrecord_dataset.format.value_forms import AUDIO_FORMS, IMAGE_FORMS, form_of

# Only the length of longer texts is kept.
_SHORT_CHARACTERS = 100


def observe_class_names(features: Mapping[str, Value], observed: Mapping[str, Observed]) -> None:
    """Count the names stored with class numbers."""
    for key, text in NAMED_CLASSES.items():
        value, name = features.get(key), features.get(text)
        names = value.names if isinstance(value, ListSummary) else ()
        if isinstance(value, int) and isinstance(name, str):
            names = ((value, name),)
        if names and (lists := observed[key].lists):
            lists.add_names(names)


class StoredKind(Kind[Value]):
    """Lists in Examples: `ListSummary`, or the only number or short text."""

    values = (ListSummary,)

    def check(self, name: str, value: Value, inspection: Inspection) -> Value:
        raise unsupported(value)  # Examples are checked as a whole

    def type_of(self, value: Value) -> str:
        return kind_of(value)

    def observe(self, value: Value, source: str, observed: Observed) -> None:
        lists = observed.lists = observed.lists or ListCounts()
        if isinstance(value, ListSummary):
            lists.add(value.length)
            observed.measure("length", value.length)
            observed.columns = observed.strings = None
            observed.add_list(value)
            if value.kind == "bytes" and value.length == 1:
                observed.formats[value.form] += 1
                lists.add_characters(value.num_characters)
        elif isinstance(value, str):
            lists.add(1)
            lists.add_characters(len(value))
            observed.formats["text"] += 1
            observed.measure("length", len(value))
            observed.add_strings((value,))
        else:
            assert isinstance(value, int | float)
            lists.add(1)
            lists.has_classes |= isinstance(value, int) and 0 <= value <= MAX_CLASS
            observed.add_numbers((value,))

    def facts(self, value: Value) -> Mapping[str, Any]:
        assert isinstance(value, ListSummary)
        if value.form in IMAGE_FORMS and value.shape:
            height, width = value.shape
            return {"sha256": value.sha256, "width": width, "height": height}
        if value.form in AUDIO_FORMS and value.shape:
            num_samples, channels = value.shape
            return {
                "sha256": value.sha256,
                "sample_rate": value.sample_rate,
                "num_samples": num_samples,
                "channels": channels,
            }
        return {"length": value.length}


def summary(kind: str, values: Sequence[Any]) -> Value:
    """Summarize a list in an Example."""
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
    """Return the kind of list with this summary."""
    match value:
        case int():
            return "int64"
        case float():
            return "float32"
        case ListSummary(kind=kind):
            return kind
    return "bytes"
