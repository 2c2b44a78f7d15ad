"""Single values: numbers, and bytes of any format; also single texts if declared."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from beam_pipeline.errors import naming
from beam_pipeline.files.hashed import hashed
from beam_pipeline.kinds.kind import (
    Checked,
    Inspection,
    Kind,
    Stored,
    one,
    range_problem,
    text_problem,
    values,
)
from beam_pipeline.kinds.media import read_file
from beam_pipeline.kinds.numbers import (
    FIRST_SKIPPED,
    Number,
    check_number,
    in_range,
    rounding,
)
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.kinds.wording import shortened
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

    def check_column(self, name: str, values: Sequence[Number]) -> Checked[Number]:
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


class RawKind(Kind[bytes | RawFile]):
    """Bytes, with size and sha256 for files."""

    values = (bytes, RawFile)
    features = ("bytes",)
    types = ("bytes",)
    dtypes = ("string", "bytes")
    usual = {"dtype": "string"}  # noqa: RUF012

    def check(self, name: str, value: bytes | RawFile, inspection: Inspection) -> bytes | RawFile:
        if isinstance(value, bytes):
            inspection.num_bytes += len(value)
            return value
        with naming(f"feature {name!r}"):
            data = read_file(inspection.read, value.file)
        inspection.num_bytes += len(data)
        return RawFile(file=hashed(value.file, data), num_bytes=len(data))

    def content(self, value: bytes | RawFile) -> object:
        return value if isinstance(value, bytes) else value.file.sha256

    def inline_bytes(self, value: bytes | RawFile) -> int:
        return len(value) if isinstance(value, bytes) else 0

    def shown(self, value: bytes | RawFile) -> str:
        if isinstance(value, bytes):
            return shortened(value)
        return f"a file of {value.num_bytes:,} bytes"

    def encode(self, feature: Feature, value: Any, stored: Stored) -> dict[str, FeatureValue]:
        return {feature.key: [value if isinstance(value, bytes) else stored.payloads[feature.name]]}

    def fact_types(self, feature: Feature) -> Mapping[str, str]:
        return {} if feature.bare else {"sha256": "string"}

    def facts(self, value: bytes | RawFile) -> Mapping[str, Any]:
        if isinstance(value, bytes):
            return {"sha256": hashlib.sha256(value).hexdigest()}
        return {"sha256": value.file.sha256}
