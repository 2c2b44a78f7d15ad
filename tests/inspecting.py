"""Inspects records and places objects as the stages do, and combines records to a schema."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from beam_pipeline import kinds
from beam_pipeline.assign import columns
from beam_pipeline.batch import Examples, RecordBatch, batches_of, columns_of
from beam_pipeline.errors import RecordError
from beam_pipeline.inspect.inspect_batch import inspect_elements
from beam_pipeline.kinds.boxes import place_column
from beam_pipeline.records import Array, Deferred, FileRef, Record, Rejected
from beam_pipeline.schema.inference import infer


@dataclasses.dataclass(frozen=True, kw_only=True)
class Inspected:
    """One row of inspected `Examples`."""

    key: str
    features: Mapping[str, Any]
    split: str | None = None
    group: str | None = None
    source: str = ""
    source_id: str = ""
    notes: Mapping[str, int] = dataclasses.field(default_factory=dict)
    example: FileRef | None = None
    content_digest: str = ""
    num_bytes: int = 0
    look: int | None = None
    deferred: Mapping[str, Deferred] = dataclasses.field(default_factory=dict)


_FIELDS = [each.name for each in dataclasses.fields(Inspected)]
_FIELDS = [name for name in _FIELDS if name not in ("features", "deferred")]


def examples_of(*records):
    """Return inspected records as columns."""
    fields = {name: [getattr(each, name) for each in records] for name in _FIELDS}
    if not any(fields["example"]):
        del fields["example"]
    features = columns_of([each.features for each in records])
    return Examples(fields, features, columns_of([each.deferred for each in records]))


def rows_of(examples):
    """Return columns as inspected records."""
    rows = []
    for row, features in enumerate(examples.rows()):
        fields, deferred = (
            {name: values[row] for name, values in each.items()}
            for each in (examples.fields, examples.deferred)
        )
        rows.append(Inspected(**fields, features=features, deferred=deferred))
    return rows


def table_of(rows):
    """Return the table of (inspected record, split, position) tuples."""
    if not (rows := [*rows]):
        return columns.SCHEMA.empty_table()
    records, splits, positions = zip(*rows, strict=True)
    return columns.table_of(examples_of(*records), splits, positions)


def observe(records):
    """Return the statistics of inspected records, by feature."""
    records = [*records]
    return kinds.observe(examples_of(*records)) if records else {}


def in_columns(elements):
    """Return the elements of a source as Inspect gets them."""
    records = [each for each in elements if isinstance(each, Record)]
    others = [each for each in elements if not isinstance(each, Record)]
    return [
        each.examples() if isinstance(each, RecordBatch) else each
        for each in (*batches_of(records), *others)
    ]


def inspect(elements, *arguments):
    """Inspect the elements of a source: inspected records, and other elements."""
    for each in inspect_elements(in_columns(elements), *arguments):
        yield from rows_of(each) if isinstance(each, Examples) else [each]


def inspect_record(record, *arguments):
    """Inspect a record's files, given rules and a reader.

    Raises:
        RecordError: The record is rejected.
    """
    [result] = inspect([record], *arguments)
    if isinstance(result, Rejected):
        raise RecordError(result.reason, result.detail)
    return result


def packed(packer, elements):
    """Pack inspected records and other elements."""
    return packer.pack(
        examples_of(each) if isinstance(each, Inspected) else each for each in elements
    )


def encoded(encoder, record):
    """Return the Example of an inspected record, whose files are read again."""
    examples, read = encoder.read(examples_of(record))
    [example] = encoder.encode(examples, read, [record.source_id])
    return example


def schema_of(*records, **declared):
    """Return the schema of inspected records; `declared` are class names by feature."""
    return infer(observe(records), num_records=len(records), declared=declared)


def counted(observed):
    """Return all counts of `observed` in comparable form."""
    made = {field.name: getattr(observed, field.name) for field in dataclasses.fields(observed)}
    return made | {"columns": [column.facts() for column in observed.columns or ()]}


def inline(array):
    """Convert a NumPy array to values as from a source, without a file."""
    little = array.astype(array.dtype.newbyteorder("<"))
    return Array(dtype=array.dtype.name, shape=array.shape, data=little.tobytes())


def place(objects, frame, **options):
    """Return one record's objects as fractions, and the changes; raises its RecordError."""
    [placed] = place_column([objects], [frame], **options)
    if isinstance(placed, RecordError):
        raise placed
    return placed
