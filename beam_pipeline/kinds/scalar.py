"""Single numbers; also single texts and bytes if declared."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from beam_pipeline.kinds.example_lists import one, range_problem, text_problem, values
from beam_pipeline.kinds.kind import Int64s, Kind, Stored
from beam_pipeline.kinds.numbers import (
    FIRST_SKIPPED,
    Number,
    check_number,
    in_range,
    rounding,
)
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.records import RawFile
from tfrecord_dataset.format.example import FeatureValue, Singles
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import Lists


class ScalarKind(Kind[Number]):
    """Numbers: 64-bit integers and 32-bit floats; NaN may mark a missing number."""

    values = (int, float)
    features = ("scalar",)
    types = ("int64", "float32")
    by_column = True
    dtypes = ("int64", "float32", "string", "bytes")
    has_own_column = True

    def check_column(
        self, name: str, values: Sequence[Number]
    ) -> tuple[Sequence[Number], Int64s | int]:
        for value in values:
            if not -FIRST_SKIPPED < value < FIRST_SKIPPED:
                check_number(name, value)
        return values, 8

    def type_of(self, value: Number) -> str:
        return "int64" if isinstance(value, int) else "float32"

    def observe_column(
        self, values: Sequence[Number], sources: Sequence[str], observed: Observed
    ) -> None:
        observed.add_numbers(values)
        observed.num_numbers += len(values)
        observed.rounding = observed.rounding.merged(rounding(values))

    def fields(self, name: str, observed: Observed) -> Mapping[str, Any]:
        return {"dtype": "float32" if "float32" in observed.types else "int64"}

    def fits(self, feature: Feature, value: Any) -> bool:
        if isinstance(value, str | bytes):
            return feature.dtype == ("string" if isinstance(value, str) else "bytes")
        if not isinstance(value, int | float):
            return False
        dtypes = ("int64", "float32") if isinstance(value, int) else ("float32",)
        return feature.dtype in dtypes and in_range(feature, value, value)

    def type_words(self, feature: Feature) -> Iterator[str]:
        yield feature.dtype

    def encode_column(
        self, feature: Feature, values: Sequence[Any], stored: Sequence[Stored]
    ) -> dict[str, Sequence[FeatureValue]]:
        if feature.dtype in ("int64", "float32"):
            number = float if feature.dtype == "float32" else int
            return {feature.key: Singles(map(number, values))}
        return super().encode_column(feature, values, stored)

    def encode(self, feature: Feature, value: Any, stored: Stored) -> dict[str, FeatureValue]:
        if isinstance(value, RawFile):
            return {feature.key: [stored.payloads[feature.name]]}
        return {feature.key: [value if isinstance(value, bytes) else str(value).encode()]}

    def problem(self, feature: Feature, lists: Lists) -> str:
        if feature.dtype == "string":
            return text_problem(feature, one(lists, feature.key))
        if feature.dtype == "bytes":
            return ""
        return range_problem(feature, values(lists, feature.key))
