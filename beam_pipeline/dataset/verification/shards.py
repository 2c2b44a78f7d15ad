"""One shard and its index, held against what the dataset states of them.

No Beam here: worker processes import this module.
"""

import dataclasses
import io
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from beam_pipeline import kinds
from beam_pipeline.dataset.opening import Dataset
from beam_pipeline.dataset.verification.index_files import Stored, rows_cause, spans_cause
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
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.records import Inspected
from beam_pipeline.running.progress import Meter
from beam_pipeline.tfrecord import frames
from tfrecord_dataset.frames import payload_of
from tfrecord_dataset.metadata import ShardEntry

# Of a shard's records so many are named; all are counted.
_RECORDS_NAMED = 20
_BUFFER_BYTES = 1 << 20
# The kinds whose statistics follow from the records alone.
_COUNTED = ("image", "audio", "class_label", "boxes")


class ShardReport(NamedTuple):
    """What a shard turned out to be.

    Attributes:
        problems: What is wrong, a line each.
        values: Classes, and the sizes of media, by feature.
    """

    problems: list[str]
    values: Mapping[str, Observed]


def one_by_one(info: Dataset) -> Iterator[Dataset]:
    """A dataset for each shard: what a worker process needs to know of it, and no more."""
    facts = {name: info.metadata.get(name) for name in ("config", "changes", "existing_examples")}
    for split, shards in info.splits.items():
        for shard in shards:
            files = {
                path: info.files[path] for path in index.files(shard.file) if path in info.files
            }
            yield dataclasses.replace(info, metadata=facts, splits={split: (shard,)}, files=files)


def verify_shard(info: Dataset, progress_dir: str) -> ShardReport:
    """Reads the shard of a dataset of one, and its index, once.

    Args:
        info: The dataset (`one_by_one`).
        progress_dir: Where the progress is counted; empty for nowhere.
    """
    meter = Meter(progress_dir, "verify")
    [[shard]] = info.splits.values()
    reader = _ShardReader(shard, info, meter)
    columns = followed_columns(info)
    records = reader.records()
    of_index: list[str] = []
    differing: list[str] = []
    checks: tuple[Callable[[bytes], str], ...] = (
        lambda data: rows_cause(data, info.schema, columns, records),
        lambda data: spans_cause(data, reader.spans),
    )
    paths = index.files(shard.file, info.compressed)
    for path, cause_in in zip(paths, checks, strict=False):
        try:
            cause = cause_in(stated_bytes(info.path, path, info.files.get(path)))
        except FileProblemError as error:
            of_index.append(problem(path, str(error)))
        else:
            differing += [problem(path, cause)] if cause else []
        for _ in records:  # those that the rows did not ask for
            pass
    meter.beat()
    # An index differs from a shard that is not the one that it was made of.
    of_shard = reader.problems
    return ShardReport([*of_shard, *of_index, *([] if of_shard else differing)], reader.values)


class _ShardReader:
    """Reads a shard, and checks each record.

    Attributes:
        problems: What is wrong, once all is read.
        spans: Offset and length of every frame so far.
        values: Classes, and the sizes of media, by feature, so far.
    """

    def __init__(self, shard: ShardEntry, info: Dataset, meter: Meter):
        self._shard = shard
        self._info = info
        self._meter = meter
        self._reader = ExampleReader(info.schema, info.holds_existing_examples)
        self._counted = [
            each
            for each in info.schema
            if each.kind in _COUNTED and not (each.bare or info.holds_existing_examples)
        ]
        self._num_damaged = 0
        self.problems: list[str] = []
        self.spans: list[tuple[int, int]] = []
        self.values: dict[str, Observed] = {each.name: Observed() for each in self._counted}

    def records(self) -> Iterator[Stored]:
        """The records; what is wrong with the shard goes to `problems`."""
        file = self._shard.file
        try:
            with storage.opened(storage.join(self._info.path, file)) as handle:
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
        if cause := hash_cause(hashed.sha256, self._shard.sha256):
            self._add(cause)
        num_bytes = sum(length for _, length in self.spans)
        if (len(self.spans), num_bytes) != (self._shard.num_records, self._shard.num_bytes):
            self._add(
                f"it holds {len(self.spans)} records of {num_bytes} bytes, metadata.json states "
                f"{self._shard.num_records} of {self._shard.num_bytes}"
            )

    def _stored(self, stream: io.BufferedReader) -> Iterator[Stored]:
        for offset, frame in frames.read_open(
            stream, self._info.compressed, self._shard.file.rpartition("/")[2]
        ):
            number = len(self.spans)
            record, causes = self._checked(number, frame)
            if causes:
                self._num_damaged += 1
            for cause in causes if self._num_damaged <= _RECORDS_NAMED else ():
                self._add(f"record {number}, at byte {offset}: {cause}")
            self.spans.append((offset, len(frame)))
            self._meter.add(1)
            yield Stored(offset, len(frame), record)

    def _checked(self, number: int, frame: bytes) -> tuple[Inspected | None, list[str]]:
        try:
            example = parse_example(payload_of(frame))
            if causes := list(self._reader.causes(example)):
                return None, causes
            record = self._reader.record(example, f"{self._shard.file}:{number}")
        except RecordError as error:
            return None, [str(error)]
        causes = list(self._reader.media_causes(example, record))
        for feature in self._counted if not causes else ():
            if feature.name in record.features:
                value, observed = record.features[feature.name], self.values[feature.name]
                kind = kinds.of(value)
                observed.count(kind.type_of(value), "")
                kind.observe(value, "", observed)
        return record, causes

    def _add(self, cause: str) -> None:
        self.problems.append(problem(self._shard.file, cause))
