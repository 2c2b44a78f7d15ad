"""Checks one shard and its index against the dataset's description.

No Beam here: worker processes import this module.
"""

import dataclasses
import hashlib
import io
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow
import pyarrow.parquet

from beam_pipeline.dataset.opening import Dataset
from beam_pipeline.dataset.verification.stated_files import (
    FileProblemError,
    cause_of,
    hash_cause,
    problem,
    stated_bytes,
)
from beam_pipeline.dataset.verification.stored_record import ExampleReader, followed_columns
from beam_pipeline.describe import index
from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.files.hashed import HashedReader
from beam_pipeline.inspect.stored_example import parse_example
from beam_pipeline.kinds.example_lists import summary
from beam_pipeline.records import Inspected
from beam_pipeline.running.progress import Meter
from beam_pipeline.tfrecord import frames
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.frames import payload_of
from tfrecord_dataset.format.metadata import ShardEntry

# The first damaged records of a shard are named, all are counted.
_RECORDS_NAMED = 20
_BUFFER_BYTES = 1 << 20
_BATCH_ROWS = 256
_SPANS = ("offset", "length")
# A record without bytes has no hash in the index, but empty bytes in the Example.
_NO_BYTES = hashlib.sha256().hexdigest()


class _Stored(NamedTuple):
    """A record of a shard: the span of its frame, and its content; None if damaged."""

    offset: int
    length: int
    record: Inspected | None


def one_by_one(info: Dataset) -> Iterator[Dataset]:
    """Split a dataset into one per shard, reduced to what a worker process needs."""
    facts = {name: info.metadata.get(name) for name in ("config", "changes", "existing_examples")}
    for split, shards in info.splits.items():
        for shard in shards:
            files = {
                path: info.files[path] for path in index.files(shard.file) if path in info.files
            }
            yield dataclasses.replace(info, metadata=facts, splits={split: (shard,)}, files=files)


def verify_shard(info: Dataset, progress_dir: str) -> list[str]:
    """Check the only shard of a dataset and its index in one pass; return a line per problem.

    Args:
        progress_dir: Folder of the progress counter; empty for none.
    """
    meter = Meter(progress_dir, "verify")
    [[shard]] = info.splits.values()
    reader = _ShardReader(shard, info, meter)
    columns, records = followed_columns(info), reader.records()
    unreadable: list[str] = []
    differing: list[str] = []
    checks: tuple[Callable[[bytes], str], ...] = (
        lambda data: _rows_cause(data, info.schema, columns, records),
        lambda data: _spans_cause(data, reader.spans),
    )
    paths = index.files(shard.file, info.compressed)
    for path, cause_in in zip(paths, checks, strict=False):
        try:
            cause = cause_in(stated_bytes(info.path, path, info.files.get(path)))
        except FileProblemError as error:
            unreadable.append(problem(path, str(error)))
        else:
            differing += [problem(path, cause)] if cause else []
        for _ in records:  # the rest, if the index ends early
            pass
    meter.beat()
    # The index of a damaged shard is bound to differ.
    return [*reader.problems, *unreadable, *([] if reader.problems else differing)]


class _ShardReader:
    """Reader of a shard that checks each record.

    Attributes:
        problems: A line per problem, complete after the read.
        spans: Offset and length of every frame so far.
    """

    def __init__(self, shard: ShardEntry, info: Dataset, meter: Meter):
        self._shard = shard
        self._info = info
        self._meter = meter
        self._reader = ExampleReader(info.schema, info.holds_existing_examples)
        self._num_damaged = 0
        self.problems: list[str] = []
        self.spans: list[tuple[int, int]] = []

    def records(self) -> Iterator[_Stored]:
        """Yield the records; problems of the shard go to `problems`."""
        shard = self._shard
        try:
            with storage.opened(storage.join(self._info.path, shard.file)) as handle:
                hashed = HashedReader(handle)
                try:
                    yield from self._stored(io.BufferedReader(hashed, _BUFFER_BYTES))
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

    def _stored(self, stream: io.BufferedReader) -> Iterator[_Stored]:
        name = self._shard.file.rpartition("/")[2]
        for offset, frame in frames.read_open(stream, self._info.compressed, name):
            number = len(self.spans)
            self.spans.append((offset, len(frame)))
            record, causes = self._checked(number, frame)
            if causes:
                self._num_damaged += 1
                if self._num_damaged <= _RECORDS_NAMED:
                    self._add(f"record {number}, at byte {offset}: {'; '.join(causes)}")
            yield _Stored(offset, len(frame), record)
            self._meter.add(1)

    def _checked(self, number: int, frame: bytes) -> tuple[Inspected | None, list[str]]:
        """Return a record, None if it is damaged, and the causes of its problems."""
        try:
            example = parse_example(payload_of(frame))
            if causes := list(self._reader.causes(example)):
                return None, causes
            record = self._reader.record(example, f"{self._shard.file}:{number}")
        except RecordError as error:
            return None, [str(error)]
        return record, list(self._reader.media_causes(example, record))

    def _add(self, cause: str) -> None:
        self.problems.append(problem(self._shard.file, cause))


def _rows_cause(
    data: bytes, schema: Sequence[Feature], columns: Sequence[str], records: Iterator[_Stored]
) -> str:
    """Return the first difference between an index and the records; "" if none.

    Args:
        columns: The columns that depend only on the records.
        records: All records of the shard; consumed up to the last row.

    Raises:
        FileProblemError: The index cannot be read.
    """
    try:
        # Not `read_table`: its thread pool, still busy at exit, aborts one process in sixty.
        file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(data))
        if lacking := [name for name in columns if name not in file.schema_arrow.names]:
            return f"it lacks the column {lacking[0]}"
        first = 0
        for batch in file.iter_batches(_BATCH_ROWS, columns=list(columns), use_threads=False):
            stored = list(itertools.islice(records, batch.num_rows))
            if len(stored) < batch.num_rows:
                return f"it has more rows than the shard's {first + len(stored)} records"
            if any(each.record is None for each in stored):
                return ""
            if cause := _batch_cause(batch, schema, stored, first):
                return cause
            first += batch.num_rows
    except (pyarrow.ArrowException, OSError, ValueError) as error:  # text may not be UTF-8
        reason = str(error).partition("\n")[0]
        raise FileProblemError(f"it cannot be read: {reason}") from error
    return f"it has {first} rows, the shard more records" if next(records, None) else ""


def _batch_cause(
    batch: pyarrow.RecordBatch, schema: Sequence[Feature], stored: Sequence[_Stored], first: int
) -> str:
    table = index.rows(schema, [each.record for each in stored if each.record])
    for name in _SPANS:
        spans = pyarrow.array([getattr(each, name) for each in stored], pyarrow.int64())
        table = table.append_column(name, spans)
    for name, found in zip(batch.schema.names, batch.columns, strict=True):
        wanted = table.column(name).combine_chunks()
        if found.type != wanted.type:
            return f"its column {name} is of the type {found.type}, not {wanted.type}"
        if found.equals(wanted):
            continue
        for number, one, other in zip(
            itertools.count(first), found.to_pylist(), wanted.to_pylist(), strict=False
        ):
            if not _is_same(one, other):
                return (
                    f"record {number}: its {name} is {_shown(one)}, the shard's record has "
                    f"{_shown(other)}"
                )
    return ""


def _is_same(found: Any, wanted: Any) -> bool:
    if found is None:
        return wanted in (None, "", _NO_BYTES) or _is_left_out(wanted)
    return bool(found == wanted) or (found != found and wanted != wanted)  # both NaN


def _is_left_out(value: Any) -> bool:
    """Whether the index of existing Examples omits such a text."""
    return isinstance(value, str) and not isinstance(summary("bytes", [value.encode()]), str)


def _spans_cause(data: bytes, spans: Sequence[tuple[int, int]]) -> str:
    """Return the first wrong line of a file for DALI; "" if none."""
    wanted = [*(b"%d %d" % span for span in spans), b""]
    found = data.split(b"\n")
    for number, (line, other) in enumerate(itertools.zip_longest(found, wanted)):
        if line != other:
            return f"its line {number} is {_shown(line)}, the shard has {_shown(other)}"
    return ""


def _shown(value: Any) -> str:
    text = repr(value.decode(errors="replace") if isinstance(value, bytes) else value)
    return text if len(text) <= 80 else f"{text[:77]}…"
