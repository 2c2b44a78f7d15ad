"""Handles of objects for seekable reads, and uploads of files."""

import errno
import mmap
import os
from collections.abc import Callable
from typing import IO, Any

from tfrecord_dataset.seekable import Seekable
from tfrecord_dataset.store import requests

# Size of the first fetch and the largest one in a sequential read: a request takes some 50 ms,
# as long as 4 MiB of transfer.
_FIRST_BLOCK_BYTES = 1 << 20
_LAST_BLOCK_BYTES = 8 << 20


class Reader(Seekable):
    """A readable object; sequential reads fetch growing ranges.

    Args:
        url: URL of the object.
        size: Size of the object, in bytes.
    """

    def __init__(self, url: str, size: int):
        super().__init__(size)
        self._url = url
        self._block = b""
        self._block_start = 0
        self._block_bytes = _FIRST_BLOCK_BYTES

    def _some(self, length: int) -> bytes:
        start = self._position - self._block_start
        if not 0 <= start < len(self._block):
            self._fetch(length)
            start = 0
        return self._block[start : start + length]

    def _fetch(self, length: int) -> None:
        reads_on = self._block and self._position == self._block_start + len(self._block)
        self._block_bytes = (
            min(2 * self._block_bytes, _LAST_BLOCK_BYTES) if reads_on else _FIRST_BLOCK_BYTES
        )
        length = min(max(length, self._block_bytes), self._size - self._position)
        self._block = requests.get_range(self._url, self._position, length)
        self._block_start = self._position
        if not self._block:
            raise OSError(errno.EREMOTEIO, "The object became shorter while it was read")

    def readall(self) -> bytes:
        length = max(0, self._size - self._position)
        data = requests.get_range(self._url, self._position, length) if length else b""
        self._position += len(data)
        return data


def put_file(file: IO[bytes], url: str, put: Callable[[str, Any], None]) -> None:
    """Upload an open file; a large one in parts, never as a whole in memory."""
    file.flush()
    size = os.fstat(file.fileno()).st_size
    if size > _LAST_BLOCK_BYTES:
        with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as content:
            put(url, content)
    else:
        file.seek(0)
        put(url, file.read())
