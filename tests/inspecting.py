"""Inspects records and places objects as the stages do, and combines records to a schema."""

import dataclasses

from beam_pipeline.errors import RecordError
from beam_pipeline.inspect.record import inspect_elements
from beam_pipeline.kinds import observe
from beam_pipeline.kinds.boxes import place_column
from beam_pipeline.records import Array, Rejected
from beam_pipeline.schema.inference import infer


def inspect_record(record, *arguments):
    """Inspect a record's files, given rules and a reader.

    Raises:
        RecordError: The record is rejected.
    """
    [result] = inspect_elements([record], *arguments)
    if isinstance(result, Rejected):
        raise RecordError(result.reason, result.detail)
    return result


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
