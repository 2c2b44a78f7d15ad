"""The errors that both packages raise; the errors.py of each draws its tree."""

from tfrecord_dataset.shown_text import one_line


class BeamTFRecordsError(Exception):
    """Base of every error that these packages raise on purpose.

    Its message may quote what others wrote, and is shown wherever somebody catches it: it is one
    line, without control characters and secrets.
    """

    exit_code = 1

    def __str__(self) -> str:
        return one_line(super().__str__())


class ConfigError(BeamTFRecordsError):
    """An option or argument cannot be used; nothing was written."""

    exit_code = 2


class DatasetDamagedError(BeamTFRecordsError):
    """A dataset, or one of its files, is not what its metadata says."""

    exit_code = 3


class DatasetChangedError(BeamTFRecordsError):
    """A dataset, or one of its files, was replaced or changed while it was read."""
