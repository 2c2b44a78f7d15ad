"""What can go wrong, as a tree; the commands turn each branch into an exit code.

    BeamTFRecordsError           exit 1  the job failed
    ├── ConfigError              exit 2  wrong usage; nothing was written
    │   └── DatasetExistsError           the output holds a finished dataset
    ├── UnavailableError                 a service that the job needs does not answer
    ├── DataError                exit 3  more data is bad than allowed
    │   └── MostlyBadError               a quarter or more is bad, so the input may be misread
    ├── SourceChangedError               a file changed while the job ran
    ├── CountMismatchError               records in ≠ records written + rejected
    ├── DatasetDamagedError      exit 3  a finished dataset does not verify
    ├── DatasetChangedError              a finished dataset was replaced while it was read
    └── RecordError                      one record cannot be used; becomes a `Rejected`

Every message names the value, its origin and the remedy.
"""

import contextlib
from collections.abc import Callable, Iterator, Sized
from typing import Any, TypeVar

from tfrecord_dataset.errors import BeamTFRecordsError as BeamTFRecordsError
from tfrecord_dataset.errors import ConfigError as ConfigError
from tfrecord_dataset.errors import DatasetChangedError as DatasetChangedError
from tfrecord_dataset.errors import DatasetDamagedError as DatasetDamagedError
from tfrecord_dataset.errors import RecordError as RecordError

_Several = TypeVar("_Several", bound=Sized)
_Made = TypeVar("_Made")


class DatasetExistsError(ConfigError):
    """The output already holds a finished dataset."""


class UnavailableError(BeamTFRecordsError):
    """A service that the job needs does not answer; it may do so later."""


class DataError(BeamTFRecordsError):
    """More data is bad than allowed; rejects.jsonl lists the records, with reasons."""

    exit_code = 3


class MostlyBadError(DataError):
    """A quarter or more of the records are bad: the input may have another layout."""


class SourceChangedError(BeamTFRecordsError):
    """A source file changed since it was inspected in the same job."""


class CountMismatchError(BeamTFRecordsError):
    """The number of records read differs from those written plus those rejected."""


# First words of the reasons of files that are not what they were when they were written.
_DAMAGED = ("damaged", "truncated")


def whole_input(error: RecordError, message: str) -> ConfigError | DataError:
    """Return the error for an input that cannot be read at all; a damaged one is bad data."""
    is_damaged = error.reason.partition(" ")[0] in _DAMAGED
    return (DataError if is_damaged else ConfigError)(message)


@contextlib.contextmanager
def naming(what: str) -> Iterator[None]:
    """Prefix the detail of a RecordError with what is at fault: "column 'x'"."""
    try:
        yield
    except RecordError as error:
        raise RecordError(error.reason, f"{what}: {error.detail}") from error


def _slice(several: Any, rows: range) -> Any:
    return several[rows.start : rows.stop]


def attempts(
    make: Callable[[_Several], _Made],
    several: _Several,
    take: Callable[[_Several, range], _Several] = _slice,
) -> Iterator[tuple[_Several, _Made | RecordError]]:
    """Yield values with what `make` returns for them, and each that it refuses with its error.

    Values that it refuses together are halved to find the bad ones.

    Args:
        make: Raises RecordError for values of which one is bad.
        several: The values; none if it is empty.
        take: Returns some of the values, by position; by default a slice of a sequence.
    """
    if not len(several):
        return
    try:
        yield several, make(several)
    except RecordError as error:
        if len(several) == 1:
            yield several, error
            return
        middle = len(several) // 2
        for rows in (range(middle), range(middle, len(several))):
            yield from attempts(make, take(several, rows), take)
