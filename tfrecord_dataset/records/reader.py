"""Reads records by their numbers: neighbours together, many ranges at once."""

import concurrent.futures
import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from tfrecord_dataset.errors import DatasetDamagedError
from tfrecord_dataset.format.frames import unframed
from tfrecord_dataset.records.index import RecordIndex, walk, wrong_index

# Reading through a gap costs less than another read, or another request.
_GAP_BYTES = 1 << 14
_REMOTE_GAP_BYTES = 1 << 18
# One thread's part: ranges of up to a megabyte, or one record.
_PART_BYTES = 1 << 20
_THREADS = 16
# A request waits some 50 ms for its answer.
_REMOTE_THREADS = 64


class RecordReader:
    """Reads records of a split, with their checksums checked.

    Args:
        index: Where they are.
        threads: Ranges that are read at once; None for 16, or 64 of a store.
    """

    def __init__(self, index: RecordIndex, threads: int | None = None) -> None:
        self._index = index
        self._files = index.shards.plain
        self._gap = _REMOTE_GAP_BYTES if self._files.is_remote else _GAP_BYTES
        self._threads = concurrent.futures.ThreadPoolExecutor(
            threads or (_REMOTE_THREADS if self._files.is_remote else _THREADS), "read-records"
        )

    @property
    def reads_singly(self) -> bool:
        """Whether records lie so far apart that neighbours are read by themselves, too."""
        mean_bytes = self._index.num_bytes // max(1, self._index.num_records)
        return not self._files.is_remote and mean_bytes > self._gap

    def read(self, numbers: Any) -> Any:
        """The serialized records of these numbers, int64 [n]: bytes objects [n], in their order.

        Raises:
            DatasetDamagedError: A record is not what it was when it was written.
            DatasetChangedError: A shard is another file by now.
        """
        records, is_whole = self._read(numbers)
        if not is_whole.all():
            damaged = numbers[~is_whole]
            renewed = [self._files.renew(shard) for shard in self._index.shards_of(damaged)]
            if any(renewed):
                records[~is_whole], is_whole[~is_whole] = self._read(damaged)
        if not is_whole.all():
            raise self._damaged(int(numbers[~is_whole].min()))
        return records

    def _damaged(self, number: int) -> DatasetDamagedError:
        """The error for a record whose frame is not where, or what, it should be."""
        (shard,), _, _ = self._index.locate(np.array([number]))
        with contextlib.suppress(DatasetDamagedError):  # if the frames can be followed
            if walk(self._index.shards, int(shard)) != self._index.bounds_of(shard).tolist():
                return wrong_index(
                    self._index.shards, int(shard), "its records are not where the shard has them"
                )
        return DatasetDamagedError(
            f"a shard is damaged: {self._index.describe(number)} is not what was written "
            "(its checksum differs); copy that file again, or build the dataset again; "
            "`python -m beam_pipeline verify` finds all such shards"
        )

    def _read(self, numbers: Any) -> tuple[Any, Any]:
        """The serialized records, and whether each is whole: bool [n]."""
        records = np.empty(len(numbers), object)
        if not len(numbers):
            return records, np.ones(0, bool)
        order = np.argsort(numbers, kind="stable")
        ordered = numbers[order]
        shards, starts, ends = self._index.locate(ordered)

        # Ranges without larger gaps; parts of them that one thread reads, each of one shard.
        is_far = starts[1:] - ends[:-1] > self._gap
        part = np.cumsum(ends - starts) // _PART_BYTES
        begins_part = (shards[1:] != shards[:-1]) | (part[1:] != part[:-1])
        if self._files.is_remote:  # a part is a request
            begins_part |= is_far
        parts = np.concatenate([[0], np.flatnonzero(begins_part) + 1, [len(ordered)]]).tolist()
        wanted = np.bincount(shards, ends - starts)
        is_whole = np.empty(len(numbers), bool)

        def read_part(begin: int, end: int) -> None:
            """Each record is copied once more: out of the bytes of its part, while they are new."""
            shard, places = int(shards[begin]), order[begin:end]
            with self._files.open(shard, int(wanted[shard])) as read:
                payloads, is_whole[places] = _read_part(
                    read, starts[begin:end], ends[begin:end], is_far[begin : end - 1]
                )
            records[places] = _objects(payloads)

        if len(parts) == 2:
            read_part(*parts)
        else:
            for _ in self._threads.map(read_part, parts[:-1], parts[1:]):
                pass  # raises what a part raised
        return records, is_whole


def _read_part(
    read: Callable[[int, int], bytes], starts: Any, ends: Any, is_far: Any
) -> tuple[list[bytes], Any]:
    """The payloads of records of one shard, and whether each is whole: bool [n].

    Args:
        read: Returns so many bytes from an offset, or fewer where the file ends.
        starts, ends: Of each record's frame in the shard, int64 [n].
        is_far: Whether the gap behind a record is left out, bool [n - 1].
    """
    first = np.concatenate([[0], np.flatnonzero(is_far) + 1])
    offsets = starts[first]
    lengths = ends[np.concatenate([first[1:], [len(starts)]]) - 1] - offsets
    chunks = [  # what a file lacks is zeros
        read(length, offset).ljust(length, b"\0")
        for length, offset in zip(lengths.tolist(), offsets.tolist(), strict=True)
    ]
    moved = np.cumsum(lengths) - lengths - offsets
    moved = moved[np.concatenate([[0], np.cumsum(is_far)])]
    content = chunks[0] if len(chunks) == 1 else b"".join(chunks)
    return unframed(content, starts + moved, ends + moved)


def _objects(values: list[bytes]) -> Any:
    """An array of objects, [n]."""
    array = np.empty(len(values), object)
    array[:] = values
    return array
