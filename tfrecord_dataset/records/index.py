"""Byte ranges of a split's records by number."""

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tfrecord_dataset.errors import DatasetDamagedError
from tfrecord_dataset.format.frames import (
    FOOTER_BYTES,
    FRAME_BYTES,
    HEADER_BYTES,
    MAX_FRAME_BYTES,
    payload_bytes,
)
from tfrecord_dataset.records.shard_files import ShardFiles, not_whole
from tfrecord_dataset.shown_text import counted
from tfrecord_dataset.store import user_cache
from tfrecord_dataset.store.threads import run_in_threads

_KIND = "index"
# Scanning fewer records is as fast as opening a cached index.
_WORTH_CACHING = 10_000
_FILES_AT_ONCE = 16
_WALKED_AT_ONCE = 4
# Before they are compact, positions take 24 bytes per record.
_LOADED_AT_ONCE = 64
# Checksums of records closer than a gap are read together, up to a block.
_GAP_BYTES = 1 << 14
_BLOCK_BYTES = 1 << 20


class RecordIndex:
    """Positions of a split's records; those of a shard are read when they are first needed.

    Held are 4 bytes per record of these shards, or 8 in shards of 4 GiB or more.

    Args:
        shards: The files; offsets refer to their uncompressed bytes.
        lengths: Number of records by shard from metadata.json; None to count them now.
        check: Raises DatasetChangedError if the shards were replaced.

    Attributes:
        shards: The files.
        shard_lengths: int64 [shards]: number of records by shard.
        first: int64 [shards + 1]: number of each shard's first record, and the total.

    Raises:
        DatasetDamagedError: A shard ends within a record, an .idx file does not match its
            shard, or the number of records differs. Later calls raise it, too.
        DatasetChangedError: A shard has changed.
    """

    def __init__(
        self,
        shards: ShardFiles,
        lengths: Sequence[int] | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self.shards = shards
        self._stated = lengths
        self._check = check
        self._bounds: dict[int, Any] = {}  # by shard
        if lengths is None or shards.compression:  # such shards are unpacked several at once
            self._load(range(len(shards)))
            lengths = [len(self._bounds[shard]) - 1 for shard in range(len(shards))]
        self.shard_lengths: Any = np.array(lengths, np.int64)
        self.first: Any = np.concatenate([[0], np.cumsum(self.shard_lengths)])

    @property
    def num_records(self) -> int:
        """Number of records of all shards."""
        return int(self.first[-1])

    @functools.cached_property
    def num_bytes(self) -> int:
        """Uncompressed size of all shards."""
        return sum(map(self.shards.plain.num_bytes, range(len(self.shards))))

    def shard_of(self, numbers: Any) -> Any:
        """Return the shard of each record: int64 [n]."""
        return np.searchsorted(self.first, numbers, side="right") - 1

    def locate(self, numbers: Any) -> tuple[Any, Any, Any]:
        """Return shard, start and end in bytes of each record: three int64 [n]."""
        shards = self.shard_of(numbers)
        order = np.argsort(shards, kind="stable")
        needed, begins = np.unique(shards[order], return_index=True)
        self._load(needed.tolist())
        places = numbers - self.first[shards]
        starts, ends = np.empty(len(numbers), np.int64), np.empty(len(numbers), np.int64)
        for shard, rows in zip(needed.tolist(), np.split(order, begins[1:]), strict=True):
            starts[rows] = self._bounds[shard][places[rows]]
            ends[rows] = self._bounds[shard][places[rows] + 1]
        return shards, starts, ends

    def bounds_of(self, shard: int) -> Any:
        """Return the start of a shard's records and the end of the last one: int64 [n + 1]."""
        self._load([shard])
        return self._bounds[shard].astype(np.int64)

    def _load(self, shards: Sequence[int]) -> None:
        missing = [shard for shard in shards if shard not in self._bounds]
        try:
            for first in range(0, len(missing), _LOADED_AT_ONCE):
                some = missing[first : first + _LOADED_AT_ONCE]
                for shard, bounds_of_shard in zip(some, _read(self.shards, some), strict=True):
                    self._check_length(shard, len(bounds_of_shard) - 1)
                    dtype = np.uint32 if bounds_of_shard[-1] < 1 << 32 else np.int64
                    self._bounds[shard] = bounds_of_shard.astype(dtype)
        except DatasetDamagedError:
            self._check()
            raise

    def _check_length(self, shard: int, length: int) -> None:
        if self._stated is not None and self._stated[shard] != length:
            raise DatasetDamagedError(
                f"metadata.json states {counted(self._stated[shard], 'record')} in "
                f"{self.shards.files.names[shard]}, but it holds {length}; build the dataset "
                "again, or restore that file"
            )

    def checksums(self, shard: int) -> Any:
        """Read the checksums in the frames of a shard's records: uint32 [n].

        Neighbours are read together, so that small records take no read each.
        """
        ends = self.bounds_of(shard)[1:]
        is_apart = (np.diff(ends) > _GAP_BYTES) | (np.diff(ends // _BLOCK_BYTES) > 0)
        checksums: list[Any] = [np.zeros(0, np.uint32)]
        with self.shards.plain.open(shard) as read:
            for block in np.split(ends, 1 + np.flatnonzero(is_apart)) if len(ends) else ():
                start = int(block[0]) - FOOTER_BYTES
                content = np.frombuffer(read(int(block[-1]) - start, start), np.uint8)
                footers = (block - start - FOOTER_BYTES)[:, None] + np.arange(FOOTER_BYTES)
                checksums.append(content[footers].view("<u4")[:, 0])
        return np.concatenate(checksums)

    def describe(self, number: int) -> str:
        """Describe a record for messages: `record 17 of cells-train.tfrecord-00000-of-00008`."""
        shard = int(self.shard_of(number))
        return f"record {number - self.first[shard]} of {self.shards.files.names[shard]}"


def _read(shards: ShardFiles, numbers: Sequence[int]) -> Iterator[Any]:
    """Yield the bounds of some shards, from `idx/<shard>.idx` or else from the frames."""
    stated = run_in_threads(functools.partial(_stated_bounds, shards), numbers, _FILES_AT_ONCE)
    walked = [number for number, each in zip(numbers, stated, strict=True) if each is None]
    walked_bounds = iter(run_in_threads(functools.partial(bounds, shards), walked, _WALKED_AT_ONCE))
    return (next(walked_bounds) if each is None else each for each in stated)


def bounds(shards: ShardFiles, number: int) -> Any:
    """Return the start of each record of a shard and the end of the last one: int64 [n + 1].

    Reads only the frames' headers, in microseconds per record; the result is cached in the user's
    cache folder until the file changes.

    Raises:
        DatasetDamagedError: The file ends within a record, or is not a TFRecord file.
        DatasetChangedError: The file has changed.
    """
    source = shards.files.identity(number)
    if kept := user_cache.find(_KIND, source):
        return np.fromfile(kept, "<i8", user_cache.content_bytes(kept) // 8)
    bounds_of_shard = np.asarray(walk(shards, number), "<i8")
    if len(bounds_of_shard) > _WORTH_CACHING:
        # A cache folder that is not writable only costs time.
        with contextlib.suppress(OSError), user_cache.writing(_KIND, source) as handle:
            handle.write(bounds_of_shard.tobytes())
    return bounds_of_shard


def walk(shards: ShardFiles, number: int) -> list[int]:
    """Compute `bounds` from a shard's frames, without a cache or .idx file.

    Raises:
        DatasetDamagedError, DatasetChangedError: As in `bounds`.
    """
    size, name = shards.plain.num_bytes(number), shards.files.names[number]
    bounds = [0]
    position = 0
    with shards.plain.open(number) as read:
        while position < size:
            header = read(HEADER_BYTES, position)
            length = payload_bytes(header)
            if length is None or length > min(size - position, MAX_FRAME_BYTES) - FRAME_BYTES:
                raise not_whole(name, len(bounds) - 1, header)
            position += length + FRAME_BYTES
            bounds.append(position)
    return bounds


def _stated_bounds(shards: ShardFiles, number: int) -> Any:
    """Read the bounds from an .idx file with "<offset> <size>" lines; None if it is missing."""
    if shards.compression:
        return None
    content = shards.read_index(number)
    if content is None:
        return None
    size = shards.files.num_bytes(number)
    try:
        rows = np.fromstring(content, np.int64, sep=" ").reshape(-1, 2)
    except ValueError as error:
        raise wrong_index(
            shards, number, "it does not have an offset and a size per line"
        ) from error
    sizes = rows[:, 1]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    largest = min(size, MAX_FRAME_BYTES)
    if len(sizes) and not FRAME_BYTES <= sizes.min() <= sizes.max() <= largest:
        problem = f"it has a record of less than {FRAME_BYTES} or more than {largest:,} bytes"
    elif (rows[:, 0] != starts[:-1]).any():
        problem = "its records are not contiguous"
    elif starts[-1] != size:
        problem = f"its records have {starts[-1]:,} bytes, but the shard has {size:,}"
    else:
        return starts
    raise wrong_index(shards, number, problem)


def wrong_index(shards: ShardFiles, number: int, reason: str) -> DatasetDamagedError:
    """Return the error for an .idx file that does not match its shard."""
    return DatasetDamagedError(
        f"the index (.idx) of {shards.files.names[number]} does not match it: {reason}; remove it, "
        "or build the dataset again"
    )
