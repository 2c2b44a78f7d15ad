"""Bytes of any format, in files or inline."""

import hashlib
from collections.abc import Mapping
from typing import Any

from beam_pipeline.errors import naming
from beam_pipeline.files.hashed import hashed
from beam_pipeline.kinds.kind import Inspection, Kind, Stored
from beam_pipeline.kinds.media_kind import read_file
from beam_pipeline.kinds.wording import shortened
from beam_pipeline.records import RawFile
from tfrecord_dataset.format.example import FeatureValue
from tfrecord_dataset.format.feature import Feature


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
