"""Objects of Google Cloud Storage, S3 and Azure, and files behind http(s)://.

Lasting failures are OSErrors, so that callers handle local and remote files alike.
"""

import bisect
import collections
import contextlib
import errno
import functools
import io
import itertools
import mmap
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, TypeVar

from obstore.store import AzureStore, HTTPStore, S3Store

from beam_pipeline.errors import ConfigError
from beam_pipeline.files.backend import Backend, bytes_to_read, too_large
from tfrecord_dataset.seekable import Seekable
from tfrecord_dataset.store import objects, requests
from tfrecord_dataset.store.clients import client_and_key
from tfrecord_dataset.store.listing import Status
from tfrecord_dataset.store.requests import BEYOND_THE_END, KEYS_A_REQUEST, NO_RANGES
from tfrecord_dataset.store.threads import run_in_threads
from tfrecord_dataset.store.urls import is_web, split_object

_T = TypeVar("_T")

# Bytes per chunk of a reader, which fetches larger blocks.
_BUFFER_BYTES = 1 << 18
# Size of the first fetch and the largest one in a sequential read: a request takes about 50 ms,
# as long as transferring 4 MiB.
_FIRST_BLOCK_BYTES = 1 << 20
_LAST_BLOCK_BYTES = 8 << 20
# Closer ranges share a request, since transferring the gap is faster than a second request.
_GAP_BYTES = 32 << 10
_SPAN_BYTES = 4 << 20
_HELD_BYTES = 32 << 20
_SPANS = 8
_AZURE_KEYS_A_REQUEST = 256


class Remote(Backend):
    """Objects, and files behind http(s)://; written objects are durable."""

    calls = 64  # each takes about 50 ms

    is_folder = staticmethod(objects.is_folder)
    list_names = staticmethod(objects.list_names)
    scan_folder = staticmethod(objects.scan_folder)
    list_folder = staticmethod(objects.list_folder)
    match_files = staticmethod(objects.match_files)

    def read(self, path: str, offset: int, length: int | None, at_most: int) -> bytes:
        """Read a range, usually with one request."""
        if offset == 0 and length is None:
            return _read_all(path, at_most)
        if length is None or length > at_most or length == 0:
            length = bytes_to_read(path, self.status(path).size, offset, length, at_most)
            if length == 0:
                return b""
        try:
            return requests.get_range(path, offset, length)
        except OSError as error:
            if error.errno == NO_RANGES:
                return _read_all(path, sys.maxsize)[offset : offset + length]
            if error.errno == BEYOND_THE_END:
                return b""
            raise

    def open_reader(self, path: str) -> io.BufferedReader | io.BytesIO:
        """Open a handle that reads in blocks of 1 MiB or more."""
        size = self.status(path).size
        if is_web(path) and size:
            try:
                requests.get_range(path, 0, 1)
            except OSError as error:
                if error.errno != NO_RANGES:
                    raise
                return io.BytesIO(_read_all(path, sys.maxsize))
        return io.BufferedReader(ObjectReader(path, size), _BUFFER_BYTES)

    @contextlib.contextmanager
    def writing(self, path: str, durable: bool, is_new: bool) -> Iterator[Any]:
        with tempfile.TemporaryFile() as file:
            yield file
            if is_new:
                put_file(file, path, requests.put_new)
            else:
                put_file(file, path, requests.put)

    def status(self, path: str) -> Status:
        return _status(requests.head(path))

    def exists(self, path: str) -> bool:
        return bool(split_object(path)[1]) and super().exists(path)

    def make_folder(self, path: str) -> None:
        """Check that the bucket exists; folders of a store are only key prefixes.

        Raises:
            ConfigError: The bucket is missing or not writable.
        """
        _check_bucket(path)

    def delete_all(self, paths: Sequence[str]) -> None:
        """Delete objects, in batches if the store supports them."""
        client, _ = client_and_key(paths[0])
        keys = [split_object(url)[1] for url in paths]
        # Google deletes one object per request, and the first missing one would end the call.
        most = {S3Store: KEYS_A_REQUEST, AzureStore: _AZURE_KEYS_A_REQUEST}
        step = most.get(type(client.store), 1)
        chunks = [keys[start : start + step] for start in range(0, len(keys), step)]
        run_in_threads(functools.partial(requests.delete, client), chunks, self.calls)

    def delete(self, path: str) -> None:
        below = (each for each, _ in objects.list_objects(path))
        while chunk := list(itertools.islice(below, KEYS_A_REQUEST)):
            self.delete_all(chunk)
        if split_object(path)[1]:
            self.delete_all([path])


REMOTE = Remote()


class ObjectReader(Seekable):
    """A readable object of `size` bytes; sequential reads fetch growing ranges."""

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


def statuses(folder: str) -> dict[str, Status]:
    """Return the size and version of each object directly below a URL, by name."""
    return {
        meta["path"].rpartition("/")[2]: Status(meta["size"], requests.version_of(meta))
        for meta in objects.list_level(folder)["objects"]
    }


def put_file(file: IO[bytes], url: str, put: Callable[[str, Any], _T]) -> _T:
    """Upload an open file, a large one in parts, without loading all of it into memory.

    Returns what `put` returns.
    """
    file.flush()
    size = os.fstat(file.fileno()).st_size
    if size > _LAST_BLOCK_BYTES:
        with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as content:
            return put(url, content)
    file.seek(0)
    return put(url, file.read())


def _status(meta: Any) -> Status:
    return Status(meta["size"], f"{meta['size']} {meta['e_tag'] or meta['last_modified']}")


@functools.lru_cache(maxsize=64)
def _check_bucket(url: str) -> None:
    client, _ = client_and_key(url)
    if isinstance(client.store, HTTPStore):
        raise ConfigError(f"{url}: nothing is written over http://; give a folder or a bucket")
    with contextlib.suppress(PermissionError):  # writing may still be allowed
        objects.list_level(url)


def _read_all(url: str, at_most: int) -> bytes:
    with requests.opened(url) as content:
        if content.meta["size"] > at_most:
            raise too_large(url, at_most)
        return bytes(content.bytes())


class Ranges:
    """Cache of prefetched ranges of objects.

    Ranges of one object that are close together share a request. At most `_HELD_BYTES` are kept;
    the rest is read on demand.
    """

    def __init__(self, ranges: Iterable[tuple[str, int, int]]):
        by_url: dict[str, list[tuple[int, int]]] = collections.defaultdict(list)
        left = _HELD_BYTES
        for url, offset, length in ranges:
            left -= length
            if left < 0:
                break
            by_url[url].append((offset, length))
        spans = [
            (url, start, end)
            for url, each in by_url.items()
            if len(each) > 1
            for start, end in _spans(each)
        ]
        self._starts: dict[str, list[int]] = collections.defaultdict(list)
        self._parts: dict[tuple[str, int], bytes] = {}
        for (url, start, _), data in zip(spans, run_in_threads(_span, spans, _SPANS), strict=True):
            self._starts[url].append(start)
            self._parts[url, start] = data

    def get(self, url: str, offset: int, length: int) -> bytes | None:
        """Return the bytes of a range, or None if they were not all fetched."""
        starts = self._starts.get(url, [])
        number = bisect.bisect(starts, offset) - 1
        if number < 0:
            return None
        begin = offset - starts[number]
        data = self._parts[url, starts[number]][begin : begin + length]
        return data if len(data) == length else None


def _spans(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge nearby ranges into sorted (first byte, end) spans."""
    spans: list[tuple[int, int]] = []
    for offset, length in sorted(ranges):
        end = offset + length
        if spans and offset <= spans[-1][1] + _GAP_BYTES and end - spans[-1][0] <= _SPAN_BYTES:
            spans[-1] = (spans[-1][0], max(spans[-1][1], end))
        else:
            spans.append((offset, end))
    return spans


def _span(span: tuple[str, int, int]) -> bytes:
    url, start, end = span
    try:
        return REMOTE.read(url, start, end - start, sys.maxsize)
    except (OSError, ConfigError):  # raised again when the range is read
        return b""
