"""Byte ranges of a split's records by number."""

import contextlib
import dataclasses
import functools
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
from tfrecord_dataset.store import user_cache
from tfrecord_dataset.store.threads import run_in_threads

_KIND = "index"
# Scanning fewer records is as fast as opening a cached index.
_WORTH_CACHING = 10_000
_FILES_AT_ONCE = 16
_WALKED_AT_ONCE = 4
# Checksums of records closer than a gap are read together, up to a block.
_GAP_BYTES = 1 << 14
_BLOCK_BYTES = 1 << 20


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RecordIndex:
    """Positions of a split's records.

    Attributes:
        shards: The files; offsets refer to their uncompressed bytes.
        first: int64 [shards + 1]: number of each shard's first record, and the total.
        bounds: int64 [records + shards]: for each shard, the start of each record and the
            end of the last one.
    """

    shards: ShardFiles
    first: Any
    bounds: Any

    @property
    def num_records(self) -> int:
        """Number of records of all shards."""
        return int(self.first[-1])

    @property
    def num_bytes(self) -> int:
        """Uncompressed size of all shards."""
        ends = self.first[1:] + np.arange(len(self.first) - 1)
        return int(self.bounds[ends].sum())

    @property
    def shard_lengths(self) -> Any:
        """Number of records by shard: int64 [shards]."""
        return np.diff(self.first)

    def locate(self, numbers: Any) -> tuple[Any, Any, Any]:
        """Return shard, start and end in bytes of each record: three int64 [n]."""
        shards = np.searchsorted(self.first, numbers, side="right") - 1
        places = numbers + shards
        return shards, self.bounds[places], self.bounds[places + 1]

    def shards_of(self, numbers: Any) -> list[int]:
        """Return the shards that have these records, ascending."""
        shards: list[int] = np.unique(self.locate(numbers)[0]).tolist()
        return shards

    def bounds_of(self, shard: int) -> Any:
        """Return the start of a shard's records and the end of the last one: int64 [n + 1]."""
        return self.bounds[self.first[shard] + shard : self.first[shard + 1] + shard + 1]

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
        (shard,), _, _ = self.locate(np.array([number]))
        return f"record {number - self.first[shard]} of {self.shards.files.names[shard]}"


def read_index(shards: ShardFiles, num_records: int | None = None) -> RecordIndex:
    """Index a split's shards from `idx/<shard>.idx`, or else from the frames themselves.

    Raises:
        DatasetDamagedError: A shard ends within a record, an .idx file does not match its
            shard, or the number of records differs.
        DatasetChangedError: A shard has changed.
    """
    numbers = range(len(shards))
    stated = run_in_threads(functools.partial(_stated_bounds, shards), numbers, _FILES_AT_ONCE)
    walked = [number for number in numbers if stated[number] is None]
    walked_bounds = iter(run_in_threads(functools.partial(bounds, shards), walked, _WALKED_AT_ONCE))
    by_shard = [next(walked_bounds) if each is None else each for each in stated]
    lengths = np.array([len(each) - 1 for each in by_shard], np.int64)
    index = RecordIndex(
        shards=shards,
        first=np.concatenate([[0], np.cumsum(lengths)]),
        bounds=np.concatenate([np.zeros(0, np.int64), *by_shard]),
    )
    if num_records is not None and index.num_records != num_records:
        raise DatasetDamagedError(
            f"metadata.json states {num_records} records, but the shards hold "
            f"{index.num_records}; `beam-tfrecords verify` names the shards that changed"
        )
    return index


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
