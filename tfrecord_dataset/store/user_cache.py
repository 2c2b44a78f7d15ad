"""The user's cache folder for data derived from files, such as their indexes.

    <kind>/<hash of the source>             the content, and its seal
    <kind>/<…>.partial                      a file in progress

A file with a wrong seal is deleted and made again. The folder may be deleted at any time. The seal
is a CRC-32C of the source's identity and the content, which detects truncated, changed, swapped
and unfinished files.
"""

import contextlib
import hashlib
import os
import struct
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import google_crc32c

from tfrecord_dataset import durable, regular_files
from tfrecord_dataset.errors import BeamTFRecordsError

PARTIAL = ".partial"
# Partial files that have not changed for this long belong to killed processes.
ABANDONED_S = 3600
_SEAL = struct.Struct("<I")
_BLOCK_BYTES = 1 << 20


def cache_folder() -> Path:
    """Return the folder: `beam-tfrecords` in `$XDG_CACHE_HOME`, or in `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "beam-tfrecords"


def find(kind: str, source: str) -> str | None:
    """Return the path of the data of a kind derived from a source; None if missing.

    Deletes a file that is incomplete, or was derived from something else.
    """
    path = path_of(kind, source)
    try:
        with regular_files.opened(path) as file:
            if _is_sealed(file.fileno(), f"{kind}\n{source}"):
                return str(path)
    except FileNotFoundError:
        return None
    except OSError:  # not a regular file, or another user's
        pass
    with contextlib.suppress(OSError):
        path.unlink()
    return None


@contextlib.contextmanager
def writing(kind: str, source: str) -> Iterator[IO[bytes]]:
    """Open a file for the data derived from a source; it is kept if the context succeeds.

    Raises:
        BeamTFRecordsError: A folder has the file's path.
        OSError: The folder is not writable; see `explain`.
    """
    path = path_of(kind, source)
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.glob(f"*{PARTIAL}"):
        with contextlib.suppress(OSError):
            if left.lstat().st_mtime < time.time() - ABANDONED_S:
                left.unlink()
    partial = f"{path}.{uuid.uuid4().hex}{PARTIAL}"
    try:
        with durable.replacing(str(path), partial, synced=False) as handle:
            yield handle
            handle.flush()
            handle.write(_seal(handle.fileno(), handle.tell(), f"{kind}\n{source}"))
    except IsADirectoryError as error:
        raise BeamTFRecordsError(f"{path} is a folder, but should be a file; delete it") from error


def explain(error: OSError) -> BeamTFRecordsError:
    """Return the error for a folder that is not writable."""
    return BeamTFRecordsError(
        f"{cache_folder()} cannot be written: {error.strerror}; free space there, or choose "
        "another folder with XDG_CACHE_HOME"
    )


def path_of(kind: str, source: str) -> Path:
    """Return the path for the data derived from a source."""
    return cache_folder() / kind / hashlib.sha256(source.encode()).hexdigest()[:32]


def content_bytes(path: str) -> int:
    """Read the content of a file from `find`, without its seal."""
    return os.path.getsize(path) - _SEAL.size


def _is_sealed(descriptor: int, name: str) -> bool:
    num_bytes = os.fstat(descriptor).st_size - _SEAL.size
    if num_bytes < 0:
        return False
    stated = os.pread(descriptor, _SEAL.size, num_bytes)
    return stated == _seal(descriptor, num_bytes, name)


def _seal(descriptor: int, num_bytes: int, name: str) -> bytes:
    """Compute the checksum of the source's identity and the content of an open file."""
    checksum, position = google_crc32c.value(name.encode()), 0
    while data := os.pread(descriptor, min(_BLOCK_BYTES, num_bytes - position), position):
        checksum = google_crc32c.extend(checksum, data)
        position += len(data)
    return _SEAL.pack(checksum)
