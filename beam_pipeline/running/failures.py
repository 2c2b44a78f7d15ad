"""Finds this project's own error in the error of a failed job."""

import contextlib
import re
from collections.abc import Iterator

from apache_beam.typehints.decorators import TypeCheckError

from beam_pipeline import errors
from beam_pipeline.records import Record

# Runners report a worker's error as text, after the tracebacks of its causes.
_OUR_ERROR = re.compile(
    r"(?:beam_pipeline|tfrecord_dataset)\.errors\.(?P<name>\w+): (?P<message>.*?)"
    r"(?: \[while running .*?\])?(?:\\n|\n|$)"
)


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Replace an error that contains one of this project by that."""
    try:
        yield
    except Exception as error:
        cause = explain(error)
        if cause is error:
            raise
        raise cause from error


def explain(error: Exception) -> Exception:
    """Return this project's own error in `error`, as cause or as text; else `error`."""
    if isinstance(error, TypeCheckError) and f"{Record.__module__}.Record" in str(error):
        given = str(error).rpartition("got ")[2]
        return errors.ConfigError(
            f"the source yields {given}; yield Record, Rejected or DeclaredClasses"
        )
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, errors.BeamTFRecordsError):
            return cause
        cause = cause.__cause__
    if matches := list(_OUR_ERROR.finditer(str(error))):
        last = matches[-1]
        kind = getattr(errors, last["name"])
        if kind is errors.RecordError:
            return errors.BeamTFRecordsError(last["message"])
        return kind(last["message"])  # type: ignore[no-any-return]
    return error
