"""One file of a dataset, held against the size and the hash that metadata.json states.

A problem is a line: the file, the record if there is one, the cause, the remedy. No Beam here:
worker processes import this module.
"""

import contextlib
from collections.abc import Iterator

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.files.hashed import HashedReader
from beam_pipeline.records import FileRef
from tfrecord_dataset.json_file import MAX_BYTES
from tfrecord_dataset.metadata import FileEntry


class FileProblemError(Exception):
    """Why a file is not the one that was written, or cannot be read."""


RESTORE = "restore it from a copy, or make the dataset again"
_BLOCK_BYTES = 1 << 20


def problem(path: str, cause: str, remedy: str = RESTORE) -> str:
    """The line of a problem with the file at `path` in the dataset's directory."""
    return f"{path}: {cause}; {remedy}"


def cause_of(error: RecordError) -> str:
    """Why a file cannot be read."""
    return error.reason if error.reason == "missing file" else str(error)


@contextlib.contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except RecordError as error:
        raise FileProblemError(cause_of(error)) from error


def hash_cause(sha256: str, stated: str) -> str:
    """Why a file is not the one that was written; "" where it is."""
    return "" if sha256 == stated else f"its sha256 is {sha256}, metadata.json states {stated}"


def stated_bytes(directory: str, path: str, entry: FileEntry | None) -> bytes:
    """All of a file.

    Args:
        directory: The dataset's.
        path: The file's path in it.
        entry: What metadata.json states of it; None where the format has no such entries.

    Raises:
        FileProblemError: It cannot be read, or is not the one that was written.
    """
    file = FileRef(path=storage.join(directory, path))
    with _readable():
        data = storage.read_bytes(file, max(MAX_BYTES, entry.num_bytes if entry else 0))
    if entry:
        _check(FileEntry.of(data), entry)
    return data


def stated_lines(directory: str, path: str, entry: FileEntry | None) -> int:
    """The number of lines of a file of any size.

    Raises:
        FileProblemError: As `stated_bytes`.
    """
    with _readable(), storage.opened(storage.join(directory, path)) as handle:
        hashed = HashedReader(handle)
        lines = sum(block.count(b"\n") for block in iter(lambda: hashed.read(_BLOCK_BYTES), b""))
    if entry:
        _check(FileEntry(hashed.num_bytes, hashed.sha256), entry)
    return lines


def _check(actual: FileEntry, stated: FileEntry) -> None:
    if actual.num_bytes != stated.num_bytes:
        raise FileProblemError(
            f"it has {actual.num_bytes:,} bytes, metadata.json states {stated.num_bytes:,}"
        )
    if cause := hash_cause(actual.sha256, stated.sha256):
        raise FileProblemError(cause)
