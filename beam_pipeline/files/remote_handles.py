"""Handles of objects: to read and to seek in, and to write."""

import contextlib
import errno
import io
from collections.abc import Callable
from typing import Any

import obstore

from beam_pipeline.files.clients import Client
from beam_pipeline.files.remote_faults import write_errors

# What a reader fetches first, and at most, when it is read on and on: a request takes some 50 ms,
# in which 4 MiB would come.
_FIRST_BLOCK_BYTES = 1 << 20
_LAST_BLOCK_BYTES = 8 << 20

# Parts of an upload; S3 takes 10,000 of them, at least 5 MiB each.
PART_BYTES = 8 << 20
_PARTS_AT_ONCE = 4


class Reader(io.RawIOBase):
    """An object, read by ranges; the further one reads on, the more is fetched at once.

    Args:
        read_range: (offset, length) → those bytes.
        size: Bytes of the object.
    """

    mode = "rb"  # Beam's CompressedFile asks for it

    def __init__(self, read_range: Callable[[int, int], bytes], size: int):
        self._read_range = read_range
        self._size = size
        self._position = 0
        self._block = b""
        self._block_start = 0
        self._block_bytes = _FIRST_BLOCK_BYTES

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

    def readinto(self, buffer: Any) -> int:
        length = min(len(buffer), self._size - self._position)
        if length <= 0:
            return 0
        start = self._position - self._block_start
        if not 0 <= start < len(self._block):
            self._fetch(length)
            start = 0
        data = self._block[start : start + length]
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def _fetch(self, length: int) -> None:
        reads_on = self._block and self._position == self._block_start + len(self._block)
        self._block_bytes = (
            min(2 * self._block_bytes, _LAST_BLOCK_BYTES) if reads_on else _FIRST_BLOCK_BYTES
        )
        length = min(max(length, self._block_bytes), self._size - self._position)
        self._block = self._read_range(self._position, length)
        self._block_start = self._position
        if not self._block:
            raise OSError(errno.EREMOTEIO, "The object became shorter while it was read")

    def readall(self) -> bytes:
        length = max(0, self._size - self._position)
        data = self._read_range(self._position, length) if length else b""
        self._position += len(data)
        return data


class Upload:
    """An upload; the object is there once it is closed, and never if it is given up."""

    mode = "wb"  # as above

    def __init__(self, client: Client, url: str, key: str):
        self._client = client
        self._url = url
        self._upload = obstore.open_writer(
            client.store, key, buffer_size=PART_BYTES, max_concurrency=_PARTS_AT_ONCE
        )
        self._num_bytes = 0
        self.closed = False

    def write(self, data: Any) -> int:
        with write_errors(self._client, self._url):
            self._upload.write(data)
        self._num_bytes += len(data)
        return len(data)

    def tell(self) -> int:
        """Bytes so far."""
        return self._num_bytes

    def flush(self) -> None:
        """Nothing: parts are sent when they are full."""

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            with write_errors(self._client, self._url):
                self._upload.close()

    def give_up(self, error: BaseException) -> None:
        """Ends the upload without an object."""
        self.closed = True
        with contextlib.suppress(Exception):
            self._upload.__exit__(type(error), error, None)
