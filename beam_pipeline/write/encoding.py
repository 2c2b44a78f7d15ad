"""Encodes records as Examples: reads their files again and maps values to the schema's keys.

No Beam here: worker processes import this module.
"""

import dataclasses
import functools
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from beam_pipeline import kinds
from beam_pipeline.assign import columns
from beam_pipeline.batch import may_have_files, values_by_feature
from beam_pipeline.describe import index
from beam_pipeline.errors import BeamTFRecordsError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.inspect.deferred import changed, hash_change, with_values
from beam_pipeline.kinds.kind import Rules, Stored
from beam_pipeline.records import FileRef, Inspected, file_of
from beam_pipeline.running.parallel import map_threads
from beam_pipeline.running.pickling import Constant
from beam_pipeline.running.record_limits import ending_after
from beam_pipeline.running.worker_processes import Death, Work, run_isolated
from tfrecord_dataset.format.example import FeatureValue, encode_columns
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import list_specs
from tfrecord_dataset.format.frames import framed, payload_of

# Inspection read the record in less time; encoding decodes it in full and may convert it.
_TIMES_INSPECTION = 10


class ReadRecord(NamedTuple):
    """A record with all its values, its files' stored content by feature, or its Example."""

    record: Inspected
    payloads: Mapping[str, bytes]
    example: bytes = b""


class EncodedChunk(NamedTuple):
    """Consecutive records: frames, their lengths (int64 [n], little-endian), index rows."""

    frames: bytes
    lengths: bytes
    rows: bytes


# Not slotted: `cached_property` needs the dictionary.
@dataclasses.dataclass(frozen=True, kw_only=True)
class Encoder:
    """Encoder of records as Examples of a schema."""

    schema: tuple[Feature, ...]
    rules: Rules

    @functools.cached_property
    def _numbers(self) -> dict[str, dict[str, int]]:
        """Cached: searching 21,841 names takes 1.8 ms per record."""
        return {
            feature.name: {
                name: number for number, name in enumerate(feature.classes, feature.label_offset)
            }
            for feature in self.schema
            if feature.classes
        }

    @functools.cached_property
    def _lists(self) -> dict[str, str]:
        return {
            key: spec.kind for feature in self.schema for key, spec in list_specs(feature).items()
        }

    def read(self, record: Inspected) -> "ReadRecord":
        """Read the files of a record again; SourceChangedError if one has changed since Inspect."""
        if record.example:
            return ReadRecord(record, {}, payload_of(_read_again(record, record.example)))
        whole = with_values(record)
        payloads = {}
        for name, value in whole.features.items():
            if file := file_of(value):
                data = _read_again(whole, file)
                payloads[name] = kinds.of(value).payload(value, data, self.rules)
        return ReadRecord(whole, payloads)

    def encode(self, records: Sequence["ReadRecord"]) -> list[bytes]:
        """Return the serialized Examples of records; RecordError if one does not fit the schema."""
        others = [record for record in records if not record.example]
        made = iter(encode_columns(self.values(others), self._lists) if others else ())
        return [record.example or next(made) for record in records]

    def encode_rows(
        self, column: Callable[[str], Sequence[Any]], keys: Sequence[str], ids: Sequence[str]
    ) -> list[bytes]:
        """Return the serialized Examples of rows; `column` returns a feature's values by name."""
        pairs = zip(keys, ids, strict=True)
        stored = [Stored(key, source_id, {}, self._numbers) for key, source_id in pairs]
        return encode_columns(self._values(stored, column), self._lists)

    def values(self, records: Sequence["ReadRecord"]) -> dict[str, Sequence[FeatureValue]]:
        """Return each record's values by key, for every key of the schema."""
        stored = [
            Stored(record.record.key, record.record.source_id, record.payloads, self._numbers)
            for record in records
        ]
        return self._values(
            stored, lambda name: [record.record.features.get(name) for record in records]
        )

    def _values(
        self, stored: Sequence[Stored], column: Callable[[str], Sequence[Any]]
    ) -> dict[str, Sequence[FeatureValue]]:
        values: dict[str, Sequence[FeatureValue]] = {}
        for feature in self.schema:
            kind = kinds.named(feature)
            values.update(kind.encode_column(feature, column(feature.name), stored))
        return values


class Chunk(NamedTuple):
    """Consecutive records of a shard (`columns.to_bytes`), and the number of the first, if any."""

    table: bytes
    first_number: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class EncodeChunk(Work[Chunk, EncodedChunk]):
    """Encode the records of a chunk, `threads` at once."""

    encoder: Constant[Encoder]
    threads: int

    def __call__(self, chunk: Chunk) -> EncodedChunk:
        seconds = _TIMES_INSPECTION * self.encoder.value.rules.max_seconds
        with ending_after(seconds * self.threads) as start_time:
            return self._encoded(chunk, start_time)

    def here(self, chunk: Chunk) -> EncodedChunk:
        """Encode a chunk in this process, which must not be killed on a timeout."""
        return self._encoded(chunk, lambda: None)

    def piece_by_piece(self, chunk: Chunk) -> EncodedChunk:
        one_by_one = dataclasses.replace(self, threads=1)
        chunks = list(_single_records(chunk))
        encoded = []
        for each, outcome in zip(chunks, run_isolated(one_by_one, chunks), strict=True):
            if isinstance(outcome, Death):
                raise BeamTFRecordsError(_undone(each, outcome))
            encoded.append(outcome)
        rows = pa.concat_tables(columns.table_from_bytes(each.rows) for each in encoded)
        return EncodedChunk(
            frames=b"".join(each.frames for each in encoded),
            lengths=b"".join(each.lengths for each in encoded),
            rows=columns.to_bytes(rows.combine_chunks(), compressed=False),
        )

    def _encoded(self, chunk: Chunk, start_time: Callable[[], None]) -> EncodedChunk:
        encoder, table = self.encoder.value, columns.table_from_bytes(chunk.table)
        if not may_have_files(table):
            return _encoded_rows(encoder, table, chunk.first_number)
        records = columns.records_of(table, chunk.first_number)

        def read(record: Inspected) -> ReadRecord:
            if not record.example and kinds.are_by_column(record.features.values()):
                return ReadRecord(record, {})
            start_time()
            return encoder.read(record)

        read_records = list(map_threads(read, records, self.threads))
        rows = index.rows(encoder.schema, [each.record for each in read_records])
        return _chunk_of(encoder.encode(read_records), rows)


def _encoded_rows(encoder: Encoder, table: pa.Table, first_number: int | None) -> EncodedChunk:
    values, nothing = values_by_feature(table), [None] * table.num_rows

    def column(name: str) -> Sequence[Any]:
        return values.get(name, nothing)

    keys, sources = table.column("key").to_pylist(), columns.sources_of(table)
    rows = index.rows_of_columns(encoder.schema, keys, sources, lambda each: column(each.name))
    ids = columns.source_ids(table, first_number)
    return _chunk_of(encoder.encode_rows(column, keys, ids), rows)


def _chunk_of(examples: Sequence[bytes], rows: pa.Table) -> EncodedChunk:
    frames = list(map(framed, examples))
    return EncodedChunk(
        frames=b"".join(frames),
        lengths=np.array(list(map(len, frames)), "<i8").tobytes(),
        rows=columns.to_bytes(rows, compressed=False),
    )


def _single_records(chunk: Chunk) -> Iterator[Chunk]:
    table = columns.from_bytes([chunk.table])
    for row in range(table.num_rows):
        number = None if chunk.first_number is None else chunk.first_number + row
        yield Chunk(columns.to_bytes(table.slice(row, 1), compressed=False), number)


def _undone(chunk: Chunk, death: Death) -> str:
    """Return the error for a single record that killed its worker process."""
    [record] = columns.records_of(columns.from_bytes([chunk.table]))
    cause = f"used {_TIMES_INSPECTION} times max_record_seconds" if death.ran_out_of_time else ""
    return f"record {record.key} cannot be encoded: {cause or death}; leave it out, or repair it"


def _read_again(record: Inspected, file: FileRef) -> bytes:
    try:
        data = storage.read_bytes(file)
    except RecordError as error:
        raise changed(record, f"{file.path} is now a {error}") from error
    sha256 = hashlib.sha256(data).hexdigest()
    if sha256 != file.sha256:
        raise changed(record, hash_change(file, sha256))
    return data
