"""Lists of Examples that others wrote, in brief: under every key an unknown kind of feature."""

from collections.abc import Mapping
from typing import Any

from beam_pipeline.kinds.example_lists import kind_of
from beam_pipeline.kinds.kind import Inspection, Kind
from beam_pipeline.kinds.observed import ListCounts, Observed
from beam_pipeline.kinds.wording import unsupported
from beam_pipeline.records import ListSummary, Value
from tfrecord_dataset.format.inference import MAX_CLASS, NAMED_CLASSES
from tfrecord_dataset.format.value_forms import AUDIO_FORMS, IMAGE_FORMS


def observe_class_names(features: Mapping[str, Value], observed: Mapping[str, Observed]) -> None:
    """Count the names that are stored with class numbers."""
    for key, text in NAMED_CLASSES.items():
        value, name = features.get(key), features.get(text)
        names = value.names if isinstance(value, ListSummary) else ()
        if isinstance(value, int) and isinstance(name, str):
            names = ((value, name),)
        if names and (lists := observed[key].lists):
            lists.add_names(names)


class StoredKind(Kind[Value]):
    """What an Example holds under a key: `ListSummary`, or the one number or short text itself."""

    values = (ListSummary,)

    def check(self, name: str, value: Value, inspection: Inspection) -> Value:
        raise unsupported(value)  # no source has it: such records are checked as a whole

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
