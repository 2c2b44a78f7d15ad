"""Encodes records as Examples: reads their files again and maps values to the schema's keys.

No Beam here: worker processes import this module.
"""

import dataclasses
import functools
import hashlib
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import NoneType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from beam_pipeline import kinds
from beam_pipeline.assign import columns
from beam_pipeline.batch import Examples, by_row, from_stream
from beam_pipeline.describe import index
from beam_pipeline.errors import BeamTFRecordsError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.files.kept import NOTHING_KEPT, Kept
from beam_pipeline.inspect.deferred import changed, hash_change, whole
from beam_pipeline.kinds.kind import Rules, Stored
from beam_pipeline.records import FileRef, Value, file_of
from beam_pipeline.running.parallel import MOST_RECORDS_AT_ONCE, Turns, map_threads
from beam_pipeline.running.pickling import Constant
from beam_pipeline.running.record_limits import ending_after
from beam_pipeline.running.worker_processes import Death, Work, run_isolated
from tfrecord_dataset.format.example import FeatureValue, encode_columns
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import list_specs
from tfrecord_dataset.format.frames import framed, payload_of

Each = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
# Inspection read the record in less time; encoding decodes it in full and may convert it.
_TIMES_INSPECTION = 10


class Read(NamedTuple):
    """What is read of an example again: values, its files' stored contents, or its Example."""

    values: Mapping[str, Value]
    payloads: Mapping[str, bytes]
    example: bytes = b""


_NOTHING = Read({}, {})


class EncodedChunk(NamedTuple):
    """Consecutive records: frames, their lengths (int64 [n], little-endian), index rows.

    Between processes each is a buffer, which is not copied into a pickle.
    """

    frames: bytes
    lengths: bytes
    rows: bytes

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle the fields as buffers."""
        return EncodedChunk, tuple(map(pickle.PickleBuffer, self))


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

    def read(
        self,
        examples: Examples,
        each: Each = map,
        read: storage.ReadFile = storage.read_bytes,
    ) -> tuple[Examples, Sequence[Read]]:
        """Read the files of examples again, and return the examples with all their values.

        Raises:
            SourceChangedError: A file has changed since Inspect.
        """
        in_files = {
            name: values
            for name, values in examples.features.items()
            if not kinds.are_by_column({*map(type, values)} - {NoneType})
        }
        if not in_files and "example" not in examples.fields:
            return examples, [_NOTHING] * len(examples)
        rows = by_row(in_files, len(examples))
        stated = zip(examples.fields["key"], examples.field("example"), rows, strict=True)
        content = list(each(functools.partial(self._read, read), stated))
        others = {name: [row.values.get(name) for row in content] for name in in_files}
        return dataclasses.replace(examples, features={**examples.features, **others}), content

    def _read(
        self, read: storage.ReadFile, stated: tuple[str, FileRef | None, Mapping[str, Value]]
    ) -> Read:
        key, example, features = stated
        if example:
            return Read(features, {}, payload_of(_read_again(key, example, read)))
        values = whole(key, features, read)
        return Read(
            values,
            {
                name: kinds.of(value).payload(value, _read_again(key, file, read), self.rules)
                for name, value in values.items()
                if (file := file_of(value))
            },
        )

    def encode(
        self, examples: Examples, read: Sequence[Read], ids: Sequence[str]
    ) -> Sequence[bytes]:
        """Return the serialized Examples; RecordError if one does not fit the schema."""
        rows = [row for row, each in enumerate(read) if not each.example]
        if not rows:
            return [each.example for each in read]
        some = examples.taken(rows), [read[row] for row in rows], [ids[row] for row in rows]
        encoded = iter(encode_columns(self.values(*some), self._lists))
        return [each.example or next(encoded) for each in read]

    def values(
        self, examples: Examples, read: Sequence[Read], ids: Sequence[str]
    ) -> dict[str, Sequence[FeatureValue]]:
        """Return each example's values by key, for every key of the schema."""
        stored = [
            Stored(key, source_id, each.payloads, self._numbers)
            for key, source_id, each in zip(examples.fields["key"], ids, read, strict=True)
        ]
        values: dict[str, Sequence[FeatureValue]] = {}
        nothing = [None] * len(examples)
        for feature in self.schema:
            column = examples.features.get(feature.name, nothing)
            values.update(kinds.named(feature).encode_column(feature, column, stored))
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
    kept: Kept = NOTHING_KEPT

    def __call__(self, chunk: Chunk) -> EncodedChunk:
        seconds = _TIMES_INSPECTION * self.encoder.value.rules.max_seconds
        with ending_after(seconds * min(self.threads, MOST_RECORDS_AT_ONCE)) as start_time:
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
        rows = pa.concat_tables(from_stream(each.rows) for each in encoded)
        return EncodedChunk(
            frames=b"".join(each.frames for each in encoded),
            lengths=b"".join(each.lengths for each in encoded),
            rows=columns.to_bytes(rows.combine_chunks(), compressed=False),
        )

    def _encoded(self, chunk: Chunk, start_time: Callable[[], None]) -> EncodedChunk:
        encoder, table = self.encoder.value, from_stream(chunk.table)
        turns = Turns(self.threads)

        def each(function: Callable[[Any], Read], items: Iterable[Any]) -> Iterator[Read]:
            def timed(item: Any) -> Read:
                start_time()
                return function(item)

            return map_threads(turns.working(timed), items, self.threads)

        examples, read = encoder.read(Examples.of(table), each, turns.waiting(self.kept.read))
        encoded = encoder.encode(examples, read, columns.source_ids(table, chunk.first_number))
        frames = list(map(framed, encoded))
        return EncodedChunk(
            frames=b"".join(frames),
            lengths=np.array(list(map(len, frames)), "<i8").tobytes(),
            rows=columns.to_bytes(index.rows(encoder.schema, examples), compressed=False),
        )


def _single_records(chunk: Chunk) -> Iterator[Chunk]:
    table = columns.from_bytes([chunk.table])
    for row in range(table.num_rows):
        number = None if chunk.first_number is None else chunk.first_number + row
        yield Chunk(columns.to_bytes(table.slice(row, 1), compressed=False), number)


def _undone(chunk: Chunk, death: Death) -> str:
    """Return the error for a single record that killed its worker process."""
    [key] = columns.from_bytes([chunk.table]).column("key").to_pylist()
    cause = f"used {_TIMES_INSPECTION} times max_record_seconds" if death.ran_out_of_time else ""
    return f"record {key} cannot be encoded: {cause or death}; leave it out, or repair it"


def _read_again(key: str, file: FileRef, read: storage.ReadFile) -> bytes:
    try:
        data = read(file)
    except RecordError as error:
        raise changed(key, f"{file.path} is now a {error}") from error
    sha256 = hashlib.sha256(data).hexdigest()
    if sha256 != file.sha256:
        raise changed(key, hash_change(file, sha256))
    return data
