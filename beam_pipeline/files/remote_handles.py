"""Handles of objects: to read and to seek in, and to write."""

import contextlib
import errno
from collections.abc import Iterator
from typing import Any

import obstore

from beam_pipeline.errors import ConfigError
from tfrecord_dataset.seekable import Seekable
from tfrecord_dataset.store import requests
from tfrecord_dataset.store.clients import client_and_key, upload_store
from tfrecord_dataset.store.faults import passing_fault, tries_of, write_errors
from tfrecord_dataset.store.retries import out_of_reach
from tfrecord_dataset.store.tally import TALLY, Requests
from tfrecord_dataset.store.waiting import check_request

# What a reader fetches first, and at most, when it is read on and on: a request takes some 50 ms,
# in which 4 MiB would come.
_FIRST_BLOCK_BYTES = 1 << 20
_LAST_BLOCK_BYTES = 8 << 20
# Parts of an upload; S3 takes 10,000 of them, at least 5 MiB each.
_PART_BYTES = 8 << 20
_PARTS_AT_ONCE = 4


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
    """An upload; the object is there once it is closed, and never if it is given up.

    What is too long for one request goes in parts, which the library sends, and sends again.
    """

    mode = "wb"  # as above

    def __init__(self, url: str):
        self._url = url
        self._client, self._key = client_and_key(url)
        self._start = bytearray()  # until it is known to be too long
        self._parts: Any = None
        self._num_bytes = 0
        self.closed = False

    def write(self, data: Any) -> int:
        self._num_bytes += len(data)
        if self._parts is None:
            self._start += data
            if len(self._start) > _PART_BYTES:
                self._parts = obstore.open_writer(
                    upload_store(self._client.root),
                    self._key,
                    buffer_size=_PART_BYTES,
                    max_concurrency=_PARTS_AT_ONCE,
                )
                data, self._start = bytes(self._start), bytearray()
        if self._parts is not None:
            with self._part_errors():
                self._parts.write(data)
        return len(data)

    def tell(self) -> int:
        """Bytes so far."""
        return self._num_bytes

    def flush(self) -> None:
        """Nothing: parts are sent when they are full."""

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        if self._parts is None:
            requests.put(self._url, bytes(self._start))
            return
        with self._part_errors():
            self._parts.close()
        sent = -(-self._num_bytes // _PART_BYTES) + 2  # one begins, one ends
        TALLY.add({"upload": Requests(sent=sent, num_bytes=self._num_bytes)})

    @contextlib.contextmanager
    def _part_errors(self) -> Iterator[None]:
        with write_errors(self._client, self._url):
            check_request()
            try:
                yield
            except Exception as error:
                tries, seconds = tries_of(error)
                if fault := passing_fault(error):
                    raise out_of_reach(self._url, fault.reason, tries, seconds) from error
                # The answer to the last request was lost, and there was nothing left to repeat.
                if tries == 1 or not self._is_written():
                    raise

    def _is_written(self) -> bool:
        with contextlib.suppress(OSError, ConfigError):
            return bool(requests.head(self._url)["size"] == self._num_bytes)
        return False

    def give_up(self, error: BaseException) -> None:
        """Ends the upload without an object."""
        self.closed = True
        if self._parts is not None:
            with contextlib.suppress(Exception):
                self._parts.__exit__(type(error), error, None)
