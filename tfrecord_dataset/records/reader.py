"""Reads records by their numbers: neighbours together, many ranges at once."""

import concurrent.futures
import contextlib
from typing import Any

import numpy as np

from tfrecord_dataset.errors import DatasetDamagedError
from tfrecord_dataset.frames import unframed
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
        needed = np.unique(shards).tolist()
        later = range(needed[-1] + 1, len(self._files.names))
        self._files.expect([*needed, *later])

        # Ranges without larger gaps; parts of them that one thread reads, each of one shard.
        is_far = starts[1:] - ends[:-1] > self._gap
        part = np.cumsum(ends - starts) // _PART_BYTES
        begins_part = (shards[1:] != shards[:-1]) | (part[1:] != part[:-1])
        if self._files.is_remote:  # a part is a request
            begins_part |= is_far
        begins_range = begins_part | is_far
        first = np.concatenate([[0], np.flatnonzero(begins_range) + 1])
        last = np.concatenate([first[1:], [len(ordered)]]) - 1
        offsets = starts[first]
        lengths = ends[last] - offsets
        chunks = self._read_ranges(
            shards[first],
            offsets,
            lengths,
            np.flatnonzero(np.concatenate([[True], begins_part[first[1:] - 1]])),
            np.bincount(shards, ends - starts),
        )

        range_of = np.concatenate([[0], np.cumsum(begins_range)])
        moved = (np.cumsum(lengths) - lengths - offsets)[range_of]
        payloads, is_whole = unframed(b"".join(chunks), starts + moved, ends + moved)
        records[order] = _objects(payloads)
        is_whole[order] = is_whole.copy()
        return records, is_whole

    def _read_ranges(
        self, shards: Any, offsets: Any, lengths: Any, parts: Any, wanted: Any
    ) -> list[bytes]:
        """The bytes of ranges; what a file lacks is zeros.

        Args:
            shards, offsets, lengths: Of each range.
            parts: The first range of each part.
            wanted: The bytes that are read of each shard.
        """
        chunks = [b""] * len(offsets)

        def read_part(begin: int, end: int) -> None:
            shard = int(shards[begin])
            with self._files.open(shard, int(wanted[shard])) as read:
                for place in range(begin, end):
                    length = int(lengths[place])
                    chunks[place] = read(length, int(offsets[place])).ljust(length, b"\0")

        ends = [*parts[1:].tolist(), len(offsets)]
        if len(ends) == 1:
            read_part(0, len(offsets))
        else:
            for _ in self._threads.map(read_part, parts.tolist(), ends):
                pass  # raises what a part raised
        return chunks


def _objects(values: list[bytes]) -> Any:
    """An array of objects, [n]."""
    array = np.empty(len(values), object)
    array[:] = values
    return array
