"""Handles of objects: to read and to seek in, and to write."""

import contextlib
import io
from collections.abc import Callable
from typing import Any

import obstore

from beam_pipeline.files.clients import Client
from beam_pipeline.files.remote_faults import translated_write

# Parts of an upload; S3 takes 10,000 of them, at least 5 MiB each.
PART_BYTES = 8 << 20
_PARTS_AT_ONCE = 4


class Reader(io.RawIOBase):
    """An object, read by ranges.

    Args:
        read_range: (offset, length) → those bytes.
        size: Bytes of the object.
    """

    mode = "rb"  # Beam's CompressedFile asks for it

    def __init__(self, read_range: Callable[[int, int], bytes], size: int):
        self._read_range = read_range
        self._size = size
        self._position = 0

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
        data = self._next(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def readall(self) -> bytes:
        return self._next(self._size)

    def _next(self, length: int) -> bytes:
        length = min(length, self._size - self._position)
        if length <= 0:
            return b""
        data = self._read_range(self._position, length)
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
        with translated_write(self._client, self._url):
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
            with translated_write(self._client, self._url):
                self._upload.close()

    def give_up(self, error: BaseException) -> None:
        """Ends the upload without an object."""
        self.closed = True
        with contextlib.suppress(Exception):
            self._upload.__exit__(type(error), error, None)
