"""What Inspect makes of a record, and the schema that follows from inspected ones."""

import dataclasses

from beam_pipeline.errors import RecordError
from beam_pipeline.inspect.record import inspect_elements
from beam_pipeline.kinds import observe
from beam_pipeline.records import Array, Rejected
from beam_pipeline.schema.inference import infer


def inspect_record(record, *arguments):
    """The record with what its files tell, given rules and how files are read.

    Raises:
        RecordError: Why it is rejected.
    """
    [result] = inspect_elements([record], *arguments)
    if isinstance(result, Rejected):
        raise RecordError(result.reason, result.detail)
    return result


def schema_of(*records, **declared):
    """The schema of inspected records; `declared` are names of classes by feature."""
    return infer(observe(records), num_records=len(records), declared=declared)


def counted(observed):
    """All that `observed` has counted, comparable."""
    made = {field.name: getattr(observed, field.name) for field in dataclasses.fields(observed)}
    return made | {"columns": [column.facts() for column in observed.columns or ()]}


def inline(array):
    """The values of a NumPy array as a source gives them, without a file."""
    little = array.astype(array.dtype.newbyteorder("<"))
    return Array(dtype=array.dtype.name, shape=array.shape, data=little.tobytes())
