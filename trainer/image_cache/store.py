"""Decoded images by record number: in memory, or in a file that processes share."""

import abc
import contextlib
import fcntl
import os
import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np

from trainer.errors import TrainerError

_CHECKSUM = struct.Struct("<I")
_SUFFIX = ".images"


class ImageStore(abc.ABC):
    """Rows of bytes by record number; a row that has not been kept is not found.

    Args:
        num_rows: Records below this number are kept.
        row_bytes: That each takes.

    Attributes:
        num_bytes: What it may take.
    """

    def __init__(self, num_rows: int, row_bytes: int) -> None:
        self.num_bytes = num_rows * row_bytes
        self._num_rows = num_rows
        self._is_kept = np.zeros(num_rows + 1, bool)  # the last is for those that are not kept

    @abc.abstractmethod
    def find(self, numbers: Any) -> tuple[Any, Any]:
        """The rows of these records, uint8 [n, row], and whether each was kept, bool [n]."""

    def holds(self, numbers: Any) -> Any:
        """Whether the row of each record was kept or found by this process: bool [n]."""
        return self._is_kept.take(numbers, mode="clip")

    @abc.abstractmethod
    def keep(self, number: int, row: Any) -> None:
        """Keeps the row of a record, uint8 [row], if there is room."""


class MemoryStore(ImageStore):
    """Rows in the memory of this process, which grows as they are kept."""

    def __init__(self, num_rows: int, row_bytes: int) -> None:
        super().__init__(num_rows, row_bytes)
        self._rows = np.zeros((num_rows + 1, row_bytes), np.uint8)  # it takes no memory yet

    def find(self, numbers: Any) -> tuple[Any, Any]:
        found = self.holds(numbers)  # before the rows, which other threads keep meanwhile
        return self._rows.take(numbers, axis=0, mode="clip"), found

    def keep(self, number: int, row: Any) -> None:
        if number < self._num_rows:
            self._rows[number] = row
            self._is_kept[number] = True


class FileStore(ImageStore):
    """Rows in a file, each with a checksum of what it is: any other row is not found.

    Processes may use the file at once, for all of them write the same. The file is locked (flock)
    while it is used; what nobody uses may be deleted.

    Args:
        folder: Made, if it is missing.
        name: What the rows are made of, and how: another one is another file.
        num_rows: Records below this number are kept.
        row_bytes: Of each row.
        max_bytes: Of all such files in the folder; the ones used longest ago are deleted.

    Raises:
        TrainerError: The folder cannot be written, or something else lies where the file should.
    """

    def __init__(
        self, folder: Path, name: str, num_rows: int, row_bytes: int, max_bytes: int
    ) -> None:
        self._made_of = (folder, name, num_rows, row_bytes, max_bytes)
        self._name = name
        self._stride = row_bytes + _CHECKSUM.size
        super().__init__(num_rows, self._stride)
        self._has_room = True
        path = folder / f"{name}{_SUFFIX}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
            fcntl.flock(self._file, fcntl.LOCK_SH)
            os.utime(path)
            for other in _unused(folder, self.num_bytes, max_bytes, path):
                other.unlink(missing_ok=True)
            if os.fstat(self._file).st_size < self.num_bytes:
                os.ftruncate(self._file, self.num_bytes)  # takes no space yet
        except OSError as error:
            raise TrainerError(
                f"decoded images cannot be kept in {path}: {error.strerror}; delete what lies "
                "there, name another folder by --cache-dir, or take --cache memory or none"
            ) from error

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), self._made_of

    def find(self, numbers: Any) -> tuple[Any, Any]:
        expected = self.holds(numbers)  # before the rows, which other threads keep meanwhile
        rows = np.zeros((len(numbers), self._stride - _CHECKSUM.size), np.uint8)
        found = np.zeros(len(numbers), bool)
        for place, number in enumerate(numbers.tolist()):
            data = self._stored(number)
            row = data[: -_CHECKSUM.size]
            if len(data) == self._stride and data[-_CHECKSUM.size :] == self._checksum(number, row):
                rows[place] = np.frombuffer(row, np.uint8)
                found[place] = True
        self._is_kept[np.minimum(numbers[found], self._num_rows)] = True
        self._is_kept[-1] = False
        if (expected & ~found).any():
            raise TrainerError(
                "the file with decoded images was changed while it was used; run the same command "
                "again, which makes what is missing"
            )
        return rows, found

    def keep(self, number: int, row: Any) -> None:
        if number >= self._num_rows or not self._has_room:
            return
        data = row.tobytes()
        data += self._checksum(number, data)
        try:
            written = os.pwrite(self._file, data, number * self._stride)
        except OSError:
            written = 0
        if written == len(data):
            self._is_kept[number] = True
        else:  # the disk is full: the rest is decoded in each pass
            self._has_room = False

    def _stored(self, number: int) -> bytes:
        try:
            return os.pread(self._file, self._stride, number * self._stride)
        except OSError:  # of the disk
            return b""

    def _checksum(self, number: int, row: bytes) -> bytes:
        """Never zeros, which is what a file has where nothing was written."""
        made_of = google_crc32c.value(f"{self._name}\n{number}".encode())
        return _CHECKSUM.pack(google_crc32c.extend(made_of, row) or 1)


def _unused(folder: Path, num_bytes: int, max_bytes: int, own: Path) -> Iterator[Path]:
    """Files to delete, so that another of this size fits, the one used longest ago first."""
    others = []
    for path in folder.glob(f"*{_SUFFIX}"):
        with contextlib.suppress(FileNotFoundError):
            status = path.lstat()
            if path != own and stat.S_ISREG(status.st_mode):
                others.append((status.st_mtime_ns, status.st_blocks * 512, path))
    excess = num_bytes + sum(size for _, size, _ in others) - max_bytes
    for _, size, path in sorted(others):
        if excess <= 0:
            return
        with contextlib.suppress(OSError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            excess -= size
            yield path
