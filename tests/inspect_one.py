"""`inspect_elements` of one record."""

from beam_pipeline.errors import RecordError
from beam_pipeline.inspect.record import inspect_elements
from beam_pipeline.records import Rejected


def inspect_record(record, *arguments):
    """The record with what its files tell, given rules and how files are read.

    Raises:
        RecordError: Why it is rejected.
    """
    [result] = inspect_elements([record], *arguments)
    if isinstance(result, Rejected):
        raise RecordError(result.reason, result.detail)
    return result
