"""Shards of a split, plain or gzip: their records in order, and the bytes of their frames.

Sequential reads take memory of about one record. For random access gzip files are unpacked into the
user's cache once.
"""

import contextlib
import dataclasses
import functools
import gzip
import io
import os
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tfrecord_dataset import regular_files
from tfrecord_dataset.errors import BeamTFRecordsError, DatasetDamagedError
from tfrecord_dataset.format import inflation
from tfrecord_dataset.format.frames import (
    FRAME_BYTES,
    HEADER_BYTES,
    MAX_FRAME_BYTES,
    payload_bytes,
    unframed,
)
from tfrecord_dataset.seekable import Seekable
from tfrecord_dataset.store import user_cache
from tfrecord_dataset.store.pinned_files import Files, ReadRange

_BLOCK_BYTES = 1 << 20
_LENGTH = struct.Struct("<Q")


def windows(
    files: Files, number: int, compression: str, wanted: int | None = None
) -> Iterator[list[bytes]]:
    """Yield batches of a file's serialized records in order, with checksums checked.

    `wanted` is the number of bytes to read; None for all.

    Raises:
        DatasetDamagedError: The file is damaged, or not a TFRecord file; after its intact records.
        DatasetChangedError, BeamTFRecordsError: As in `Files.open`.
    """
    name, count = files.names[number], 0
    parts, have, need = list[bytes](), 0, HEADER_BYTES
    blocks = _blocks(files, number, compression, wanted)
    while True:
        try:
            block = next(blocks, b"")
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise not_whole(name, count) from error
        parts.append(block)
        have += len(block)
        if not block and have:
            raise not_whole(name, count)
        if not block:
            return
        if have < need:
            continue
        content = b"".join(parts)
        bounds, need = _frames(content)
        payloads, is_whole = unframed(content, bounds[:-1], bounds[1:])
        num_whole = len(payloads) if is_whole.all() else int(np.argmin(is_whole))
        if num_whole:
            yield payloads[:num_whole]
        count += num_whole
        if num_whole < len(payloads):
            raise DatasetDamagedError(
                f"record {count} of {name} has a wrong checksum; copy that file again"
            )
        if need < 0 or need > MAX_FRAME_BYTES:
            raise not_whole(name, count, content[bounds[-1] :])
        parts = [content[bounds[-1] :]]
        have = len(parts[0])


def _frames(content: bytes) -> tuple[Any, int]:
    """Return the bounds of the frames in part of a file, int64 [n + 1].

    Also returns the size of the next frame, if known; -1 if no frame begins.
    """
    bounds = [0]
    position, size = 0, len(content)
    while size - position >= HEADER_BYTES:
        (length,) = _LENGTH.unpack_from(content, position)
        if position + length + FRAME_BYTES > size:
            # The checksum of a complete frame's length is redundant: its payload is checked.
            stated = payload_bytes(content[position : position + HEADER_BYTES])
            return np.array(bounds), -1 if stated is None else stated + FRAME_BYTES
        position += length + FRAME_BYTES
        bounds.append(position)
    return np.array(bounds), HEADER_BYTES


def unpacked(files: Files, number: int) -> Iterator[bytes]:
    """Yield the uncompressed bytes of a gzip file in blocks.

    Raises:
        DatasetDamagedError: The file cannot be unpacked, or exceeds the limit.
        DatasetChangedError, BeamTFRecordsError: As in `Files.open`.
    """
    try:
        yield from _blocks(files, number, "GZIP")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DatasetDamagedError(
            f"{files.names[number]} cannot be unpacked: {error}; it is truncated or damaged, copy "
            "it again"
        ) from error


def _blocks(
    files: Files, number: int, compression: str, wanted: int | None = None
) -> Iterator[bytes]:
    """Yield the uncompressed bytes of a file; damaged gzip raises its library's errors."""
    size, num_bytes = files.num_bytes(number), 0
    with files.open(number, wanted) as read:
        content = _Content(read, size)
        plain = iter(lambda: bytes(content.read(_BLOCK_BYTES)), b"")
        for block in filter(None, _unzipped(content) if compression else plain):
            num_bytes += len(block)
            if inflation.is_inflated(size, num_bytes):
                raise DatasetDamagedError(
                    f"{files.names[number]} unpacks to over {inflation.MAX_BYTES >> 20} MiB and "
                    f"over {inflation.MAX_RATIO} times its size; if this is intended, "
                    "write it uncompressed"
                )
            yield block


def _unzipped(content: Any) -> Iterator[bytes]:
    """Yield the uncompressed bytes of gzip up to any damage, then raise the library's error."""
    unzipping = gzip.GzipFile(fileobj=io.BufferedReader(content, _BLOCK_BYTES))
    parts, have = list[bytes](), 0
    try:
        while part := unzipping.read1(_BLOCK_BYTES):
            parts.append(part)
            have += len(part)
            if have >= _BLOCK_BYTES:
                yield b"".join(parts)
                parts, have = [], 0
    except (EOFError, gzip.BadGzipFile, zlib.error):
        yield b"".join(parts)
        raise
    yield b"".join(parts)


def not_whole(name: str, count: int, start: bytes = b"") -> DatasetDamagedError:
    """Return the error for a file whose record `count`, with these first bytes, is incomplete."""
    length = payload_bytes(start[:HEADER_BYTES])
    if length is None and len(start) >= HEADER_BYTES:
        return DatasetDamagedError(
            f"{name} is damaged, compressed as ZLIB, or not a TFRecord file: record {count} does "
            "not start with a length and its checksum; copy the file again, or write it as GZIP"
        )
    num_bytes = (length or 0) + FRAME_BYTES
    if num_bytes > MAX_FRAME_BYTES:
        return DatasetDamagedError(
            f"record {count} of {name} has {num_bytes:,} bytes, more than {MAX_FRAME_BYTES:,}; "
            "leave it out"
        )
    return DatasetDamagedError(
        f"{name} ends within its record {count}: it is truncated, or not a TFRecord file"
    )


class _Content(Seekable):
    """The bytes of a file as a source of ranges."""

    def __init__(self, read: ReadRange, num_bytes: int) -> None:
        super().__init__(num_bytes)
        self._read = read

    def _some(self, length: int) -> bytes:
        return self._read(length, self._position)


_KIND = "unpacked"


class UnpackedFiles:
    """Uncompressed content of gzip files, as `store.pinned_files.Files`.

    Each process verifies a cached file's seal before the first use.
    """

    is_remote = False
    paths_stay = True

    def __init__(self, packed: Files) -> None:
        self.names = packed.names
        self._packed = packed
        self._paths: dict[int, str] = {}  # of verified files

    def num_bytes(self, number: int) -> int:
        return user_cache.content_bytes(self._path(number))

    def identity(self, number: int) -> str:
        return self._packed.identity(number)

    @contextlib.contextmanager
    def open(self, number: int, wanted: int | None = None) -> Iterator[ReadRange]:
        path = self._path(number)
        try:
            size = user_cache.content_bytes(path)
            with regular_files.opened(path) as file:
                yield lambda num_bytes, offset: os.pread(
                    file.fileno(), max(0, min(num_bytes, size - offset)), offset
                )
        except OSError as error:
            raise BeamTFRecordsError(
                f"the unpacked {self.names[number]} cannot be read: {error.strerror}; delete {path}"
            ) from error

    def paths(self, numbers: Sequence[int]) -> list[str]:
        return [*map(self._path, numbers)]

    def fits(self, num_bytes: int) -> bool:
        return True

    def fetch_ahead(self, numbers: Sequence[int]) -> None:
        """Do nothing: unpacking takes the CPU that the records before need."""

    def renew(self, number: int) -> bool:
        self._paths.pop(number, None)
        return user_cache.find(_KIND, self.identity(number)) is None

    def _path(self, number: int) -> str:
        path = self._paths.get(number)
        if path is None or not os.path.exists(path):
            path = self._paths[number] = self._made(number)
        return path

    def _made(self, number: int) -> str:
        source = self.identity(number)
        if cached := user_cache.find(_KIND, source):
            return cached
        try:
            with user_cache.writing(_KIND, source) as handle:
                for data in unpacked(self._packed, number):
                    handle.write(data)
        except OSError as error:
            raise user_cache.explain(error) from error
        return str(user_cache.path_of(_KIND, source))


@dataclasses.dataclass(frozen=True)
class ShardFiles:
    """Shards of a split.

    Attributes:
        files: The stored files.
        compression: "" or "GZIP".
        read_index: Returns the content of a shard's .idx file; None if it is missing.
    """

    files: Files
    compression: str = ""
    read_index: Callable[[int], bytes | None] = lambda number: None

    @functools.cached_property
    def plain(self) -> Files:
        """Files with the frames of records as bytes; gzip is unpacked on first use."""
        return UnpackedFiles(self.files) if self.compression else self.files

    def __len__(self) -> int:
        return len(self.files.names)
