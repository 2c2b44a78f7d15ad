"""Read-only binary handles of known size, with a position and buffers."""

import abc
import contextlib
import io
from collections.abc import Iterator
from typing import Any


class Seekable(io.RawIOBase, abc.ABC):
    """A seekable binary file of known size, for reading."""

    def __init__(self, size: int):
        self._size = size
        self._position = 0

    @abc.abstractmethod
    def _some(self, length: int) -> bytes:
        """Read up to this many bytes at `_position`, fewer only at the end."""

    def readinto(self, buffer: Any) -> int:
        length = min(len(buffer), self._size - self._position)
        data = self._some(length) if length > 0 else b""
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, start + offset)
        return self._position


@contextlib.contextmanager
def buffered(handle: Any, num_bytes: int) -> Iterator[Any]:
    """Buffer `handle` for many small reads; closing the buffer leaves it open."""
    if not isinstance(handle, io.FileIO):
        yield handle
        return
    reader = io.BufferedReader(handle, num_bytes)
    try:
        yield reader
    finally:
        reader.detach()
