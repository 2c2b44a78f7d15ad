"""Reads and checks single shards: their frames, their Examples, and their index.

A problem is one line: the file, the record if any, the cause, the remedy. No Beam here: worker
processes import this module.
"""

import dataclasses
import functools
import io
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow
import pyarrow.parquet

from beam_pipeline import kinds, tfrecord
from beam_pipeline.dataset.opening import Dataset, check_unchanged
from beam_pipeline.describe import index, tfds
from beam_pipeline.errors import DatasetDamagedError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.files.hashed import HashedReader
from beam_pipeline.inspect.stored_example import parse_example
from beam_pipeline.kinds.wording import shortened
from beam_pipeline.records import FileRef
from beam_pipeline.running.progress import Meter
from beam_pipeline.schema.conformance import mismatches, schema_specs
from tfrecord_dataset.format.example import lists
from tfrecord_dataset.format.example_columns import SingleValues
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import Lists, ListSpec, list_specs
from tfrecord_dataset.format.frames import FOOTER_BYTES, HEADER_BYTES, payload_of, unframed
from tfrecord_dataset.format.metadata import FileEntry, ShardEntry
from tfrecord_dataset.json_file import MAX_BYTES

# The first damaged records of a shard are named, all are counted.
_RECORDS_NAMED = 20
_BUFFER_BYTES = 1 << 20
# Plain values of records are checked together; checking few records one by one is faster.
_PLAIN = ("scalar", "class_label", "text")
_CHUNK_BYTES, _FEW_RECORDS = 4 << 20, 32
_RESTORE = "restore it from a copy, or make the dataset again"
# (offset, length) of the frames of a shard.
_Spans = Iterable[tuple[int, int]]


class FramedPayload(NamedTuple):
    """One record of a shard: the place of its frame in the uncompressed stream, and its Example."""

    offset: int
    length: int
    payload: bytes


def read_frames(path: str, compressed: bool) -> Iterator[FramedPayload]:
    """Read the records of the TFRecord file at `path`, and check both checksums of each.

    A DatasetDamagedError names file, record and byte offset.
    """
    number = end = 0
    try:
        for offset, frame in tfrecord.read_file(path, compressed):
            end = offset
            yield FramedPayload(offset, len(frame), payload_of(frame))
            number, end = number + 1, offset + len(frame)
    except RecordError as error:
        if error.reason == "missing file":
            raise DatasetDamagedError(f"{path}: missing file") from error
        raise DatasetDamagedError(
            f"{path}: record {number}, at byte {end}, is damaged: {error.detail}"
        ) from error


class ExampleChecker:
    """Check Examples, as lists by key, against a schema."""

    def __init__(self, schema: Sequence[Feature]):
        self._kinds = [(feature, kinds.named(feature)) for feature in schema]
        self._specs = schema_specs(schema)
        # Keys in features.json, which every Example by this project has.
        written = (feature for feature in schema if not feature.bare)
        self._keys = frozenset(key for each in written for key in tfds.leaves(each))
        self._single_kinds = _single_kinds(schema)

    def fit(self, frames: Sequence[bytes]) -> list[bool]:
        """Return whether each record is intact and fits; False if it needs a closer look."""
        if not self._single_kinds or len(frames) < _FEW_RECORDS:
            return [False] * len(frames)
        content = b"".join(frames)
        ends = np.cumsum([*map(len, frames)])
        starts = np.concatenate([[0], ends[:-1]])
        _, are_intact = unframed(content, starts, ends)
        values = SingleValues(
            content, starts + HEADER_BYTES, ends - FOOTER_BYTES, self._single_kinds
        )
        if any(
            kind.problem(feature, self._merged(feature, values)) for feature, kind in self._kinds
        ):
            return [False] * len(frames)
        return [*(are_intact & values.are_such).tolist()]

    def _merged(self, feature: Feature, values: SingleValues) -> Lists:
        """Return a list that has a problem if a record's has."""
        kind, each = self._single_kinds[feature.key], values.of(feature.key)
        return {feature.key: (kind, [b"\n".join(each)] if kind == "bytes" else [*set(each)])}

    def causes(self, example: Lists) -> Iterator[str]:
        """Yield the reasons why an Example does not fit the schema."""
        if missing := sorted(self._keys - example.keys()):
            yield f"the Example lacks {', '.join(missing)}"
        else:
            yield from mismatches(self._specs, example)

    def media_causes(self, example: Lists) -> Iterator[str]:
        """Yield differences between media of a fitting Example and its facts."""
        for feature, kind in self._kinds:
            if feature.key in example:
                yield from kind.differences(feature, example)


def _single_kinds(schema: Sequence[Feature]) -> dict[str, str]:
    """Return the kind of list by key if each key has one value, a number or text; else {}."""
    specs = {key: spec for feature in schema for key, spec in list_specs(feature).items()}
    are_single = all(spec == ListSpec(spec.kind) for spec in specs.values())
    are_plain = all(feature.kind in _PLAIN for feature in schema)
    return {key: spec.kind for key, spec in specs.items()} if are_single and are_plain else {}


def read_examples(info: Dataset, split: str) -> Iterator[dict[str, Any]]:
    """Read the Examples of a split as values by key, in the order of its shards.

    A damaged record is a DatasetDamagedError, a replaced dataset a DatasetChangedError.
    """
    checker = ExampleChecker(info.schema)
    try:
        for shard in info.splits[split]:
            path = storage.join(info.path, shard.file)
            for number, frame in enumerate(read_frames(path, info.compressed)):
                try:
                    example = lists(frame.payload)
                    cause = next(checker.causes(example), "")
                except ValueError as error:
                    cause = str(error)
                if cause:
                    where = f"{path}: record {number}, at byte {frame.offset}"
                    raise DatasetDamagedError(f"{where}: {cause}; `verify` finds all like it")
                yield {key: list(values) for key, (_, values) in sorted(example.items())}
    except DatasetDamagedError:
        check_unchanged(info)
        raise


class FileProblemError(Exception):
    """Reason why a file differs from its entry, or cannot be read."""


def problem(path: str, cause: str, remedy: str = _RESTORE) -> str:
    """Format a problem with the file at `path` in the dataset's directory."""
    return f"{path}: {cause}; {remedy}"


def cause_of(error: RecordError) -> str:
    """Return the reason why a file cannot be read."""
    return error.reason if error.reason == "missing file" else str(error)


def hash_cause(sha256: str, stated: str) -> str:
    """Return how a file differs from its hash; "" if it does not."""
    return "" if sha256 == stated else f"its sha256 is {sha256}, metadata.json states {stated}"


def stated_bytes(directory: str, path: str, entry: FileEntry | None) -> bytes:
    """Read a whole file; FileProblemError if it cannot be read, or differs from its entry."""
    file = FileRef(path=storage.join(directory, path))
    try:
        data = storage.read_bytes(file, max(MAX_BYTES, entry.num_bytes if entry else 0))
    except RecordError as error:
        raise FileProblemError(cause_of(error)) from error
    if entry is None:
        return data
    if len(data) != entry.num_bytes:
        raise FileProblemError(
            f"it has {len(data):,} bytes, metadata.json states {entry.num_bytes:,}"
        )
    if cause := hash_cause(FileEntry.of(data).sha256, entry.sha256):
        raise FileProblemError(cause)
    return data


class StatedShard(NamedTuple):
    """A shard and the files of its index, as metadata.json states them."""

    shard: ShardEntry
    files: dict[str, FileEntry]


def stated_shards(info: Dataset) -> Iterator[StatedShard]:
    """Yield the shards of all splits in order."""
    for shard in itertools.chain.from_iterable(info.splits.values()):
        files = index.files(shard.file)
        yield StatedShard(shard, {path: info.files[path] for path in files if path in info.files})


def without_shards(info: Dataset) -> Dataset:
    """Reduce a dataset to what is the same for all its shards."""
    return dataclasses.replace(
        info, metadata={"config": info.metadata["config"]}, splits={}, files={}
    )


def verify_shard(stated: StatedShard, info: Dataset, progress_dir: str) -> list[str]:
    """Check a shard of a dataset and its index; return a line per problem."""
    meter = Meter(progress_dir, "verify")
    shard, files = stated
    reader = _ShardReader(shard, info, meter)
    reader.read()
    meter.beat()
    unreadable: list[str] = []
    differing: list[str] = []
    checks: Sequence[Callable[[bytes, _Spans], str]] = (
        functools.partial(_rows_cause, info.schema),
        _lines_cause,
    )
    for path, cause_in in zip(index.files(shard.file, info.compressed), checks, strict=False):
        try:
            data = stated_bytes(info.path, path, files.get(path))
            cause = cause_in(data, reader.spans)
        except FileProblemError as error:
            unreadable.append(problem(path, str(error)))
        else:
            differing += [problem(path, cause)] if cause else []
    # The index of a damaged shard is bound to differ.
    return [*reader.problems, *unreadable, *([] if reader.problems else differing)]


class _ShardReader:
    """Reader of a shard that checks each record, and notes problems and the span of every frame."""

    def __init__(self, shard: ShardEntry, info: Dataset, meter: Meter):
        self._shard = shard
        self._info = info
        self._meter = meter
        self._checker = ExampleChecker(info.schema)
        self._num_damaged = 0
        self.problems: list[str] = []
        self.spans: list[tuple[int, int]] = []

    def read(self) -> None:
        """Read the shard once, to its end."""
        shard = self._shard
        try:
            with storage.opened(storage.join(self._info.path, shard.file)) as handle:
                hashed = HashedReader(handle)
                try:
                    self._read_records(io.BufferedReader(hashed, _BUFFER_BYTES))
                except RecordError as error:
                    self._add(cause_of(error))
                hashed.read_rest()
        except RecordError as error:
            self._add(cause_of(error))
            return
        if (more := self._num_damaged - _RECORDS_NAMED) > 0:
            self._add(f"{more:,} more records are damaged")
        if cause := hash_cause(hashed.sha256, shard.sha256):
            self._add(cause)
        num_bytes = sum(length for _, length in self.spans)
        if (len(self.spans), num_bytes) != (shard.num_records, shard.num_bytes):
            self._add(
                f"it holds {len(self.spans)} records of {num_bytes} bytes, metadata.json states "
                f"{shard.num_records} of {shard.num_bytes}"
            )

    def _read_records(self, stream: io.BufferedReader) -> None:
        name = self._shard.file.rpartition("/")[2]
        for chunk in _chunks(tfrecord.read_open(stream, self._info.compressed, name)):
            fit = self._checker.fit([frame for _, frame in chunk])
            for (offset, frame), fits in zip(chunk, fit, strict=True):
                if not fits and (causes := self._causes(frame)):
                    self._num_damaged += 1
                    if self._num_damaged <= _RECORDS_NAMED:
                        where = f"record {len(self.spans)}, at byte {offset}"
                        self._add(f"{where}: {'; '.join(causes)}")
                self.spans.append((offset, len(frame)))
            self._meter.add(len(chunk))

    def _causes(self, frame: bytes) -> list[str]:
        """Return what is wrong with a record."""
        try:
            example = parse_example(payload_of(frame))
            causes = list(self._checker.causes(example))
            return causes or list(self._checker.media_causes(example))
        except RecordError as error:
            return [str(error)]

    def _add(self, cause: str) -> None:
        self.problems.append(problem(self._shard.file, cause))


def _chunks(frames: Iterator[tuple[int, bytes]]) -> Iterator[list[tuple[int, bytes]]]:
    """Yield (offset, frame) in lists, the last before an error."""
    chunk, num_bytes = list[tuple[int, bytes]](), 0
    try:
        for offset, frame in frames:
            chunk.append((offset, frame))
            num_bytes += len(frame)
            if num_bytes >= _CHUNK_BYTES:
                yield chunk
                chunk, num_bytes = [], 0
    except RecordError:
        yield chunk
        raise
    yield chunk


def _rows_cause(schema: Sequence[Feature], data: bytes, spans: _Spans) -> str:
    """Return the first difference between an index and the frames of its shard; "" if none."""
    try:
        # Not `read_table`: its thread pool, still busy at exit, aborts one process in sixty.
        file = pyarrow.parquet.ParquetFile(
            pyarrow.BufferReader(data), page_checksum_verification=True
        )
        types = dict(zip(file.schema_arrow.names, file.schema_arrow.types, strict=True))
        for field in index.arrow_schema(schema):
            if field.name not in types:
                return f"it lacks the column {field.name}"
            if types[field.name] != field.type:
                return (
                    f"its column {field.name} is of the type {types[field.name]}, not {field.type}"
                )
        batches = file.iter_batches(columns=["offset", "length"], use_threads=False)
        columns = ((batch.column("offset"), batch.column("length")) for batch in batches)
        stated = (
            span
            for offsets, lengths in columns
            for span in zip(offsets.to_pylist(), lengths.to_pylist(), strict=True)
        )
        return _first_difference("row", stated, spans)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise FileProblemError(f"it cannot be read: {reason}") from error


def _lines_cause(data: bytes, spans: _Spans) -> str:
    """Return the first wrong line of a file for DALI; "" if none."""
    wanted = itertools.chain((b"%d %d" % span for span in spans), [b""])
    return _first_difference("line", data.split(b"\n"), wanted)


def _first_difference(unit: str, found: Iterable[Any], wanted: Iterable[Any]) -> str:
    for number, (one, other) in enumerate(itertools.zip_longest(found, wanted)):
        if one != other:
            return f"its {unit} {number} is {_shown(one)}, the shard has {_shown(other)}"
    return ""


def _shown(value: Any) -> str:
    return shortened(value.decode(errors="replace") if isinstance(value, bytes) else value)
