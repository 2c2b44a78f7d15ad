"""Hash files while they are read or written, to save a second read."""

import hashlib
import io
from typing import Any

from beam_pipeline.records import FileRef

_BLOCK_BYTES = 1 << 20
IN_MEMORY = FileRef(path="")
"""Stands for the file of bytes that are not in one."""


def hashed(file: FileRef, data: bytes) -> FileRef:
    """Add the SHA-256 of `data`, the range's content, to a file reference."""
    sha256 = hashlib.sha256(data).hexdigest()
    return FileRef(path=file.path, offset=file.offset, length=file.length, sha256=sha256)


class _Hashed:
    """A handle that hashes and counts the bytes that pass through it.

    Attributes:
        num_bytes: Bytes so far.
    """

    def __init__(self, handle: Any):
        self._handle = handle
        self._digest = hashlib.sha256()
        self.num_bytes = 0

    @property
    def sha256(self) -> str:
        """Return the hex digest of the bytes so far."""
        return self._digest.hexdigest()


class HashedFile(_Hashed):
    """A handle of a new file that hashes what is written."""

    def write(self, data: Any) -> None:
        self._digest.update(data)
        self.num_bytes += memoryview(data).nbytes
        self._handle.write(data)

    def __getattr__(self, name: str) -> Any:  # the rest of the file interface
        return getattr(self._handle, name)


class HashedReader(_Hashed, io.RawIOBase):
    """An open file that hashes what is read from its start."""

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.num_bytes

    def readinto(self, buffer: Any) -> int:
        data = self._handle.read(len(buffer))
        buffer[: len(data)] = data
        self._digest.update(data)
        self.num_bytes += len(data)
        return len(data)

    def read_rest(self) -> None:
        """Read to the end."""
        while self.read(_BLOCK_BYTES):
            pass
