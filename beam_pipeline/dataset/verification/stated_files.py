"""Checks one file of a dataset against the size and hash in metadata.json.

A problem is one line: the file, the record if any, the cause, the remedy. No Beam here: worker
processes import this module.
"""

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef
from tfrecord_dataset.format.metadata import FileEntry
from tfrecord_dataset.json_file import MAX_BYTES

_RESTORE = "restore it from a copy, or make the dataset again"


class FileProblemError(Exception):
    """Reason why a file differs from its entry, or cannot be read."""


def problem(path: str, cause: str, remedy: str = _RESTORE) -> str:
    """Format a problem with the file at `path` in the dataset's directory."""
    return f"{path}: {cause}; {remedy}"


def cause_of(error: RecordError) -> str:
    """Return the reason why a file cannot be read."""
    return error.reason if error.reason == "missing file" else str(error)


def hash_cause(sha256: str, stated: str) -> str:
    """Return how a file differs from its hash; "" if it does not."""
    return "" if sha256 == stated else f"its sha256 is {sha256}, metadata.json states {stated}"


def stated_bytes(directory: str, path: str, entry: FileEntry | None) -> bytes:
    """Read a whole file and check it.

    Raises:
        FileProblemError: The file cannot be read, or differs from its entry.
    """
    file = FileRef(path=storage.join(directory, path))
    try:
        data = storage.read_bytes(file, max(MAX_BYTES, entry.num_bytes if entry else 0))
    except RecordError as error:
        raise FileProblemError(cause_of(error)) from error
    if entry is None:
        return data
    if len(data) != entry.num_bytes:
        raise FileProblemError(
            f"it has {len(data):,} bytes, metadata.json states {entry.num_bytes:,}"
        )
    if cause := hash_cause(FileEntry.of(data).sha256, entry.sha256):
        raise FileProblemError(cause)
    return data
