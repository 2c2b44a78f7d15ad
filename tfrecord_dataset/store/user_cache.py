"""What this machine makes of files once, such as their indexes, in the user's cache folder.

    <kind>/<hash of what it is made of>     the content, and its seal
    <kind>/<…>.partial                      one that is being written

A file that its seal does not fit is deleted, and made again. Anyone may delete the folder. A seal
is a CRC-32C of what the content is, and of all of it, so a file that was cut, changed, mixed up or
never finished is found.
"""

import contextlib
import hashlib
import os
import struct
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import google_crc32c

from tfrecord_dataset import regular_files
from tfrecord_dataset.errors import BeamTFRecordsError

_PARTIAL = ".partial"
# Nobody writes a file any more that has not changed for so long: its writer was killed.
_LEFT_AFTER_S = 3600
_SEAL = struct.Struct("<I")
_BLOCK_BYTES = 1 << 20


def cache_folder() -> Path:
    """For what is made of files once: `beam-tfrecords` in `$XDG_CACHE_HOME`, or in `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "beam-tfrecords"


def find(kind: str, source: str) -> str | None:
    """The path of what was made of a source; None if nothing was. All of it is read.

    A file that is not whole, or was made of something else, is deleted.

    Args:
        kind: Of what is made, such as "index".
        source: The identity of what it is made of.
    """
    path = path_of(kind, source)
    try:
        with regular_files.opened(path) as file:
            if _is_sealed(file.fileno(), f"{kind}\n{source}"):
                return str(path)
    except FileNotFoundError:
        return None
    except OSError:  # no regular file, or another user's
        pass
    with contextlib.suppress(OSError):
        path.unlink()
    return None


@contextlib.contextmanager
def making(kind: str, source: str) -> Iterator[IO[bytes]]:
    """A handle of what is made of a source; it counts when the block ends well.

    Raises:
        BeamTFRecordsError: A folder lies in its place.
        OSError: The folder cannot be written; `explain` says what to do.
    """
    path = path_of(kind, source)
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_left(path.parent)
    with tempfile.NamedTemporaryFile(
        "w+b", dir=path.parent, suffix=_PARTIAL, delete=False
    ) as handle:
        try:
            yield handle
            handle.flush()
            handle.write(_seal(handle.fileno(), handle.tell(), f"{kind}\n{source}"))
            handle.flush()
            try:
                os.replace(handle.name, path)
            except IsADirectoryError as error:
                raise BeamTFRecordsError(
                    f"{path} is a folder where a file is kept; delete it"
                ) from error
        except BaseException:
            os.unlink(handle.name)
            raise


def explain(error: OSError) -> BeamTFRecordsError:
    """What to do about a folder that cannot be written."""
    return BeamTFRecordsError(
        f"{cache_folder()} cannot be written: {error.strerror}; free space there, or name another "
        "folder for it in XDG_CACHE_HOME"
    )


def path_of(kind: str, source: str) -> Path:
    """Where what is made of a source is kept."""
    return cache_folder() / kind / hashlib.sha256(source.encode()).hexdigest()[:32]


def _remove_left(folder: Path) -> None:
    for path in folder.glob(f"*{_PARTIAL}"):
        with contextlib.suppress(OSError):
            if path.lstat().st_mtime < time.time() - _LEFT_AFTER_S:
                path.unlink()


def content_bytes(path: str) -> int:
    """The bytes of a file that `find` found, without its seal."""
    return os.path.getsize(path) - _SEAL.size


def _is_sealed(descriptor: int, name: str) -> bool:
    num_bytes = os.fstat(descriptor).st_size - _SEAL.size
    if num_bytes < 0:
        return False
    stated = os.pread(descriptor, _SEAL.size, num_bytes)
    return stated == _seal(descriptor, num_bytes, name)


def _seal(descriptor: int, num_bytes: int, name: str) -> bytes:
    """The checksum of what the content of an open file is, and of the content."""
    checksum, position = google_crc32c.value(name.encode()), 0
    while data := os.pread(descriptor, min(_BLOCK_BYTES, num_bytes - position), position):
        checksum = google_crc32c.extend(checksum, data)
        position += len(data)
    return _SEAL.pack(checksum)
