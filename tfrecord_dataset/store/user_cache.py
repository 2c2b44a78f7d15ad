"""What this machine makes of files once, such as their indexes, in the user's cache folder.

    <kind>/<hash of what it is made of>     the content, and its seal (`seal`)
    <kind>/<…>.partial                      one that is being written

A file that its seal does not fit is deleted, and made again. Anyone may delete the folder. A seal
is a checksum of what the content is, and all of it: so what was cut, changed, mixed up or never
finished is told from a whole one. CRC-32C reads as fast as any disk.
"""

import contextlib
import hashlib
import os
import stat
import struct
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

import google_crc32c

from tfrecord_dataset.errors import BeamTFRecordsError

_PARTIAL = ".partial"
# Nobody writes a file any more that has not changed for so long: its writer was killed.
_LEFT_AFTER_S = 3600
_SEAL = struct.Struct("<I")
SEAL_BYTES = _SEAL.size
_BLOCK_BYTES = 1 << 20


def cache_folder() -> Path:
    """For what is made of files once: `beam-tfrecords` in `$XDG_CACHE_HOME`, or in `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "beam-tfrecords"


class Made(NamedTuple):
    """An open file that was made before.

    Attributes:
        descriptor: Whoever has it closes it.
        num_bytes: Of its content.
        place: Its device and inode.
    """

    descriptor: int
    num_bytes: int
    place: tuple[int, int]


def find(kind: str, source: str, known: tuple[int, int] | None = None) -> Made | None:
    """What was made of a source, once all of it was read and found whole; None if it was not.

    Args:
        kind: Of what is made, such as "index".
        source: The identity of what it is made of.
        known: The place of a file that was found whole before, and is not read again.
    """
    path = path_of(kind, source)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return None
    num_bytes = None
    with contextlib.suppress(OSError):
        facts = os.fstat(descriptor)
        place = (facts.st_dev, facts.st_ino)
        if place == known:
            num_bytes = facts.st_size - SEAL_BYTES
        elif stat.S_ISREG(facts.st_mode):
            num_bytes = sealed_bytes(descriptor, f"{kind}\n{source}")
    if num_bytes is None:
        os.close(descriptor)
        with contextlib.suppress(OSError):
            path.unlink()
        return None
    return Made(descriptor, num_bytes, place)


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
            seal(handle.fileno(), handle.tell(), f"{kind}\n{source}")
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


def seal(descriptor: int, num_bytes: int, name: str) -> None:
    """Puts the checksum behind the content of an open file.

    Args:
        descriptor: Of the file.
        num_bytes: Of its content.
        name: What the content is.
    """
    os.pwrite(descriptor, _checksum(descriptor, num_bytes, name), num_bytes)


def sealed_bytes(descriptor: int, name: str) -> int | None:
    """The bytes of an open file's content; None where it is not whole, or another one."""
    num_bytes = os.fstat(descriptor).st_size - SEAL_BYTES
    if num_bytes < 0:
        return None
    stated = os.pread(descriptor, SEAL_BYTES, num_bytes)
    return num_bytes if stated == _checksum(descriptor, num_bytes, name) else None


def _checksum(descriptor: int, num_bytes: int, name: str) -> bytes:
    checksum = google_crc32c.value(name.encode())
    for data in blocks(descriptor, num_bytes):
        checksum = google_crc32c.extend(checksum, data)
    return _SEAL.pack(checksum)


def blocks(descriptor: int, num_bytes: int) -> Iterator[bytes]:
    """The first bytes of an open file, so many unless somebody cuts it."""
    position = 0
    while data := os.pread(descriptor, min(_BLOCK_BYTES, num_bytes - position), position):
        yield data
        position += len(data)
