"""One file of a dataset, compared with the size and the hash that metadata.json states.

A problem is a line: the file, the record if there is one, the cause, the remedy. No Beam here:
worker processes import this module.
"""

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef
from tfrecord_dataset.format.metadata import FileEntry
from tfrecord_dataset.json_file import MAX_BYTES

_RESTORE = "restore it from a copy, or make the dataset again"


class FileProblemError(Exception):
    """Why a file is not the one that was written, or cannot be read."""


def problem(path: str, cause: str, remedy: str = _RESTORE) -> str:
    """The line of a problem with the file at `path` in the dataset's directory."""
    return f"{path}: {cause}; {remedy}"


def cause_of(error: RecordError) -> str:
    """Why a file cannot be read."""
    return error.reason if error.reason == "missing file" else str(error)


def hash_cause(sha256: str, stated: str) -> str:
    """Why a file is not the one that was written; "" where it is."""
    return "" if sha256 == stated else f"its sha256 is {sha256}, metadata.json states {stated}"


def stated_bytes(directory: str, path: str, entry: FileEntry | None) -> bytes:
    """All of a file.

    Args:
        directory: The dataset's.
        path: The file's path in it.
        entry: What metadata.json states of it; None where it states nothing.

    Raises:
        FileProblemError: It cannot be read, or is not the one that was written.
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
