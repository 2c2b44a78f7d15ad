"""What can go wrong, as a tree; the commands turn each branch into an exit code.

    BeamTFRecordsError           exit 1  the job failed
    ├── ConfigError              exit 2  wrong usage; nothing was written
    │   └── DatasetExistsError           the output holds a finished dataset
    ├── DataError                exit 3  the data is bad beyond what was allowed
    ├── SourceChangedError               a file changed while the job ran
    ├── CountMismatchError               records in ≠ records written + rejected
    ├── DatasetDamagedError      exit 3  a finished dataset does not verify
    └── RecordError                      one record cannot be used; becomes a `Rejected`

Every message names the value, where it came from, and the remedy.
"""


class BeamTFRecordsError(Exception):
    """Base of every error this package raises on purpose."""

    exit_code = 1


class ConfigError(BeamTFRecordsError):
    """An option or argument cannot be used; nothing was written."""

    exit_code = 2


class DatasetExistsError(ConfigError):
    """The output already holds a finished dataset."""


class DataError(BeamTFRecordsError):
    """More of the data is bad than was allowed; rejects.jsonl says which records, and why."""

    exit_code = 3


class SourceChangedError(BeamTFRecordsError):
    """A source file differs from what was inspected earlier in the same job."""


class CountMismatchError(BeamTFRecordsError):
    """The records read are not the records written plus the records rejected."""


class DatasetDamagedError(BeamTFRecordsError):
    """A dataset directory, or one of its files, is not what its metadata says."""

    exit_code = 3


class RecordError(BeamTFRecordsError):
    """One record cannot be used.

    Raised by the pure functions that work on a single record; the stage around them
    turns it into a `records.Rejected` with the same reason and detail.
    """

    def __init__(self, reason: str, detail: str):
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return (RecordError, (self.reason, self.detail))
