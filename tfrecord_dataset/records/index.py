"""The byte range of every record of a split, by the record's number."""

import contextlib
import dataclasses
import functools
from typing import Any

import numpy as np

from tfrecord_dataset.errors import DatasetDamagedError
from tfrecord_dataset.format.frames import FRAME_BYTES, HEADER_BYTES, MAX_FRAME_BYTES, payload_bytes
from tfrecord_dataset.records.shard_files import ShardFiles
from tfrecord_dataset.records.streams import not_whole
from tfrecord_dataset.store import user_cache
from tfrecord_dataset.store.at_once import at_once

_KIND = "index"
# Walking fewer records takes no longer than opening a cached index.
_WORTH_CACHING = 10_000
_FILES_AT_ONCE = 16
_WALKED_AT_ONCE = 4


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RecordIndex:
    """Where the records of a split are.

    Attributes:
        shards: The files; offsets are those in their plain bytes.
        first: int64 [shards + 1]: the number of each shard's first record, and that of all.
        bounds: int64 [records + shards]: shard by shard, where each record starts, and where
            the last one ends.
    """

    shards: ShardFiles
    first: Any
    bounds: Any

    @property
    def num_records(self) -> int:
        """Of all shards."""
        return int(self.first[-1])

    @property
    def num_bytes(self) -> int:
        """Of all shards, unpacked."""
        ends = self.first[1:] + np.arange(len(self.first) - 1)
        return int(self.bounds[ends].sum())

    @property
    def shard_lengths(self) -> Any:
        """Records by shard: int64 [shards]."""
        return np.diff(self.first)

    def locate(self, numbers: Any) -> tuple[Any, Any, Any]:
        """The shard, start and end in bytes of each record: three int64 [n]."""
        shards = np.searchsorted(self.first, numbers, side="right") - 1
        places = numbers + shards
        return shards, self.bounds[places], self.bounds[places + 1]

    def shards_of(self, numbers: Any) -> list[int]:
        """The shards that have these records, ascending."""
        shards: list[int] = np.unique(self.locate(numbers)[0]).tolist()
        return shards

    def bounds_of(self, shard: int) -> Any:
        """Where the records of a shard start, and where the last one ends: int64 [n + 1]."""
        return self.bounds[self.first[shard] + shard : self.first[shard + 1] + shard + 1]

    def describe(self, number: int) -> str:
        """`record 17 of cells-train.tfrecord-00000-of-00008`, for messages."""
        (shard,), _, _ = self.locate(np.array([number]))
        return f"record {number - self.first[shard]} of {self.shards.files.names[shard]}"


def read_index(shards: ShardFiles, num_records: int | None = None) -> RecordIndex:
    """The index of a split's shards: from `idx/<shard>.idx`, else from the frames themselves.

    Args:
        shards: The files.
        num_records: What metadata.json states; None for bare files.

    Raises:
        DatasetDamagedError: A shard ends within a record, an .idx file is not that of its
            shard, or the number of records differs.
        DatasetChangedError: A shard is another file by now.
    """
    numbers = range(len(shards))
    stated = at_once(functools.partial(_stated_bounds, shards), numbers, _FILES_AT_ONCE)
    walked = [number for number in numbers if stated[number] is None]
    found = iter(at_once(functools.partial(bounds, shards), walked, _WALKED_AT_ONCE))
    by_shard = [next(found) if each is None else each for each in stated]
    lengths = np.array([len(each) - 1 for each in by_shard], np.int64)
    index = RecordIndex(
        shards=shards,
        first=np.concatenate([[0], np.cumsum(lengths)]),
        bounds=np.concatenate([np.zeros(0, np.int64), *by_shard]),
    )
    if num_records is not None and index.num_records != num_records:
        raise DatasetDamagedError(
            f"metadata.json states {num_records} records, but the shards hold "
            f"{index.num_records}; `python -m beam_pipeline verify` names the shards that changed"
        )
    return index


def bounds(shards: ShardFiles, number: int) -> Any:
    """Where each record of a shard starts, and where the last one ends: int64 [n + 1].

    Only the frames' headers are read, which takes microseconds per record; the result is kept
    in the user's cache folder until the file changes.

    Raises:
        DatasetDamagedError: The file ends within a record, or holds something else.
        DatasetChangedError: It is another file by now.
    """
    source = shards.files.identity(number)
    if kept := user_cache.find(_KIND, source):
        return np.fromfile(kept, "<i8", user_cache.content_bytes(kept) // 8)
    found = np.asarray(walk(shards, number), "<i8")
    if len(found) > _WORTH_CACHING:
        # A folder that cannot be written costs time only.
        with contextlib.suppress(OSError), user_cache.making(_KIND, source) as handle:
            handle.write(found.tobytes())
    return found


def walk(shards: ShardFiles, number: int) -> list[int]:
    """`bounds` by the frames of a shard, whatever was kept or is stated.

    Raises:
        DatasetDamagedError, DatasetChangedError: As `bounds`.
    """
    size, name = shards.plain.num_bytes(number), shards.files.names[number]
    found = [0]
    position = 0
    with shards.plain.open(number) as read:
        while position < size:
            header = read(HEADER_BYTES, position)
            length = payload_bytes(header)
            if length is None or length > min(size - position, MAX_FRAME_BYTES) - FRAME_BYTES:
                raise not_whole(name, len(found) - 1, header)
            position += length + FRAME_BYTES
            found.append(position)
    return found


def _stated_bounds(shards: ShardFiles, number: int) -> Any:
    """The bounds by an .idx file, "<offset> <size>" a line; None where there is none."""
    if shards.compression:
        return None
    content = shards.read_index(number)
    if content is None:
        return None
    size = shards.files.num_bytes(number)
    try:
        rows = np.fromstring(content, np.int64, sep=" ").reshape(-1, 2)
    except ValueError as error:
        raise wrong_index(shards, number, "it is not an offset and a size a line") from error
    sizes = rows[:, 1]
    found = np.concatenate([[0], np.cumsum(sizes)])
    largest = min(size, MAX_FRAME_BYTES)
    if len(sizes) and not FRAME_BYTES <= sizes.min() <= sizes.max() <= largest:
        problem = f"it has a record of under {FRAME_BYTES} or over {largest:,} bytes"
    elif (rows[:, 0] != found[:-1]).any():
        problem = "its records do not follow one another"
    elif found[-1] != size:
        problem = f"its records have {found[-1]:,} bytes, but the shard has {size:,}"
    else:
        return found
    raise wrong_index(shards, number, problem)


def wrong_index(shards: ShardFiles, number: int, reason: str) -> DatasetDamagedError:
    """The error for an .idx file that is not that of its shard."""
    return DatasetDamagedError(
        f"{shards.index_name(number)} is not the index of its shard: {reason}; remove "
        "it, or build the dataset again"
    )
