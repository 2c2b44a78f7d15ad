"""Inspects one existing TFRecord file as a whole, then indexes it.

No Beam here: worker processes import this module.
"""

import dataclasses
import hashlib
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from beam_pipeline import kinds, tfrecord
from beam_pipeline.batch import Examples, columns_of
from beam_pipeline.describe import index
from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.inspect.stored_example import inspect_example
from beam_pipeline.kinds.kind import Rules
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.records import Expectation, FileRef, Value
from beam_pipeline.running.progress import Meter
from beam_pipeline.running.shared_values import SharedValues
from beam_pipeline.schema.conformance import check_number
from beam_pipeline.sources.tfrecord.record_files import RecordFile
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.frames import payload_of
from tfrecord_dataset.format.metadata import FileEntry

_Inspected = tuple[str, Mapping[str, Value], Mapping[str, int], FileRef]
"""A record: key, features, notes, frame."""

# Problems named per inspection; all are counted.
_PROBLEMS_NAMED = 10
_RECORDS_A_CHUNK = 256


@dataclasses.dataclass(slots=True, kw_only=True)
class ShardInspection:
    """Findings about a file.

    Attributes:
        num_bytes: Size of the records with their framing, before compression.
        features: Statistics of the records, by feature.
        notes: Number of unusual values, by description.
        problems: The first problems, one per line; `num_problems` counts all.
    """

    num_records: int = 0
    num_bytes: int = 0
    sha256: str = ""
    features: dict[str, Observed] = dataclasses.field(default_factory=dict)
    notes: Counter[str] = dataclasses.field(default_factory=Counter)
    problems: list[str] = dataclasses.field(default_factory=list)
    num_problems: int = 0

    def add_problem(self, where: str, error: RecordError) -> None:
        """Count a problem."""
        self.num_problems += 1
        if len(self.problems) < _PROBLEMS_NAMED:
            self.problems.append(f"{where}: {error.reason} ({error.detail})")


def inspect_shard(
    shard: RecordFile,
    rules: Rules,
    expected: Mapping[str, Expectation],
    progress_dir: str,
    values: SharedValues,
) -> ShardInspection:
    """Read and check a whole file, as Inspect does with every record.

    Args:
        expected: Specs of the dataset's first records, by key.
        values: Gets the columns that the file's index needs.
    """
    inspection = ShardInspection()
    meter = Meter(progress_dir, "inspect")
    records = _records(shard, rules, expected, inspection)
    values.save(_name(shard), _observed(records, inspection, meter))
    meter.beat()
    try:
        inspection.sha256 = storage.sha256_of(shard.path)
    except RecordError as error:
        inspection.add_problem(shard.relative, error)
    return inspection


def _observed(
    records: Iterator[_Inspected], inspection: ShardInspection, meter: Meter
) -> Iterator[Examples]:
    """Yield the records in columns, and add their statistics."""
    while rows := list(itertools.islice(records, _RECORDS_A_CHUNK)):
        keys, features, notes, frames = zip(*rows, strict=True)
        chunk = Examples({"key": keys, "example": frames}, columns_of(features))
        kinds.observe(chunk, inspection.features)
        check_number(inspection.features)
        for each in notes:
            inspection.notes.update(each)
        yield chunk
        meter.add(len(chunk))


def _records(
    shard: RecordFile,
    rules: Rules,
    expected: Mapping[str, Expectation],
    inspection: ShardInspection,
) -> Iterator[_Inspected]:
    """Yield the good records of a file; `inspection` counts all and names the others."""
    try:
        for offset, frame in tfrecord.read_file(shard.path, shard.compressed):
            key = f"{shard.relative}:{inspection.num_records}"
            inspection.num_records += 1
            inspection.num_bytes += len(frame)
            try:
                features, notes = inspect_example(payload_of(frame), rules, expected)
            except RecordError as error:
                inspection.add_problem(key, error)
                continue
            span = FileRef(path=shard.path, offset=offset, length=len(frame))
            yield key, features, notes, span
    except RecordError as error:
        inspection.add_problem(shard.relative, error)


def write_index(
    shard: RecordFile, schema: tuple[Feature, ...], directory: str, values: SharedValues
) -> dict[str, FileEntry]:
    """Write a file's index below its dataset's `directory`, from the output of `inspect_shard`."""
    files = index.files(shard.relative, shard.compressed)
    paths = [storage.join(directory, file) for file in files]
    with index.writing(schema, paths, durable=True) as writer:
        for chunk in values.load(_name(shard)):
            lengths = [frame.length for frame in chunk.fields["example"]]
            writer.add(index.rows(schema, chunk), np.array(lengths, np.int64))
    return {file: each.entry for file, each in zip(files, writer.files, strict=True)}


def _name(shard: RecordFile) -> str:
    return hashlib.sha256(shard.relative.encode()).hexdigest()
