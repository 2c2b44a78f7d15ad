"""Texts."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from beam_pipeline.kinds.kind import Int64s, Kind, Stored, check_text, one, text_problem
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.kinds.wording import between
from tfrecord_dataset.format.example import FeatureValue, Singles
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import Lists


class TextKind(Kind[str]):
    """Texts in UTF-8; a missing one is empty."""

    values = (str,)
    features = ("text",)
    types = ("string",)
    by_column = True
    dtypes = ("string",)
    may_lack = True
    has_own_column = True

    def check_column(self, name: str, values: Sequence[str]) -> tuple[Sequence[str], Int64s | int]:
        for value in values:
            check_text(name, value)
        return values, np.fromiter(map(len, values), np.int64, len(values))

    def inline_bytes(self, value: str) -> int:
        return len(value)

    def observe_column(
        self, values: Sequence[str], sources: Sequence[str], observed: Observed
    ) -> None:
        observed.measure("length", *map(len, values))
        observed.add_strings(values)

    def summary(self, feature: Feature, observed: Observed, num_records: int) -> Iterator[str]:
        characters = observed.lists.characters if observed.lists else observed.span("length")
        if characters:
            yield between(*characters, "character")

    def encode_column(
        self, feature: Feature, values: Sequence[Any], stored: Sequence[Stored]
    ) -> dict[str, Sequence[FeatureValue]]:
        return {feature.key: Singles((value or "").encode() for value in values)}

    def problem(self, feature: Feature, lists: Lists) -> str:
        return text_problem(feature, one(lists, feature.key))
