"""Handles of objects: to read and to seek in, and to write."""

import errno
import mmap
import os
import tempfile
from collections.abc import Callable
from typing import IO, Any

from tfrecord_dataset.seekable import Seekable
from tfrecord_dataset.store import requests

# What a reader fetches first, and at most, when it is read on and on: a request takes some 50 ms,
# in which 4 MiB would come.
_FIRST_BLOCK_BYTES = 1 << 20
_LAST_BLOCK_BYTES = 8 << 20


class Reader(Seekable):
    """An object, read by ranges; the further one reads on, the more is fetched at once.

    Args:
        url: Where it is.
        size: Bytes of the object.
    """

    mode = "rb"  # Beam's CompressedFile asks for it

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


class Upload:
    """A new object, held in a temporary file until `put` sends it whole.

    Args:
        url: Where it will be.
        is_new: As `storage.writing` has it.
    """

    mode = "wb"  # as above

    def __init__(self, url: str, *, is_new: bool = False):
        self._url = url
        self._put = requests.put_new if is_new else requests.put
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115

    def write(self, data: Any) -> int:
        return self._file.write(data)

    def tell(self) -> int:
        """Bytes so far."""
        return self._file.tell()

    @property
    def closed(self) -> bool:
        """Whether nothing can be written any more: pyarrow asks."""
        return self._file.closed

    def flush(self) -> None:
        """Nothing: all is sent at once."""

    def put(self) -> None:
        """Sends what was written."""
        put_file(self._file, self._url, self._put)

    def close(self) -> None:
        """Forgets what was written."""
        self._file.close()


def put_file(file: IO[bytes], url: str, put: Callable[[str, Any], None]) -> None:
    """Sends an open file; a large one is never in memory as a whole."""
    file.flush()
    size = os.fstat(file.fileno()).st_size
    if size > _LAST_BLOCK_BYTES:
        with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as content:
            put(url, content)
    else:
        file.seek(0)
        put(url, file.read())
