"""Texts."""

from collections.abc import Iterator, Sequence
from typing import Any

from beam_pipeline.kinds.example_lists import one, text_problem
from beam_pipeline.kinds.kind import Inspection, Kind, Stored, check_text
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.kinds.wording import between
from tfrecord_dataset.example import FeatureValue
from tfrecord_dataset.feature import Feature
from tfrecord_dataset.feature_keys import Lists


class TextKind(Kind[str]):
    """Texts in UTF-8; a missing one is empty."""

    values = (str,)
    features = ("text",)
    types = ("string",)
    dtypes = ("string",)
    may_lack = True
    has_own_column = True

    def check(self, name: str, value: str, inspection: Inspection) -> str:
        check_text(name, value)
        inspection.num_bytes += len(value)
        return value

    def inline_bytes(self, value: str) -> int:
        return len(value)

    def group(self, value: str) -> str | None:
        return str(value)

    def observe(self, value: str, source: str, observed: Observed) -> None:
        observed.measure("length", len(value))
        observed.add_strings((value,))

    def infer(self, name: str, observed: Observed, declared: tuple[str, ...]) -> Feature:
        return Feature(name=name, kind="text", dtype="string", shape=(), key="")

    def summary(self, feature: Feature, observed: Observed, num_records: int) -> Iterator[str]:
        characters = observed.lists.characters if observed.lists else observed.span("length")
        if characters:
            yield between(*characters, "character")

    def encode_column(
        self, feature: Feature, values: Sequence[Any], stored: Sequence[Stored]
    ) -> dict[str, Sequence[FeatureValue]]:
        return {feature.key: [[(value or "").encode()] for value in values]}

    def problem(self, feature: Feature, lists: Lists) -> str:
        return text_problem(feature, one(lists, feature.key))

    def read(self, feature: Feature, lists: Lists) -> str:
        return str(one(lists, feature.key).decode())

    read_existing = read
