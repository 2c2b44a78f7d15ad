"""Reads records by number: neighbours together, and many ranges in parallel."""

import concurrent.futures
import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from tfrecord_dataset.errors import DatasetDamagedError
from tfrecord_dataset.format.frames import unframed
from tfrecord_dataset.records.index import RecordIndex, walk, wrong_index

# Reading through a gap costs less than another read or request.
_GAP_BYTES = 1 << 14
_REMOTE_GAP_BYTES = 1 << 18
# Size of one thread's part: ranges of up to a megabyte, or one record.
_PART_BYTES = 1 << 20
_THREADS = 16
# A request takes some 50 ms.
_REMOTE_THREADS = 64


class RecordReader:
    """Reader of a split's records that checks their checksums."""

    def __init__(self, index: RecordIndex) -> None:
        self._index = index
        self._files = index.shards.plain
        self._gap = _REMOTE_GAP_BYTES if self._files.is_remote else _GAP_BYTES
        self._threads = concurrent.futures.ThreadPoolExecutor(
            _REMOTE_THREADS if self._files.is_remote else _THREADS, "read-records"
        )

    def read(self, numbers: Any) -> Any:
        """Return the serialized records of these numbers, int64 [n]: bytes objects [n], in order.

        Raises:
            DatasetDamagedError: A record is damaged.
            DatasetChangedError: A shard has changed.
        """
        records, is_whole = self._read(numbers)
        if not is_whole.all():
            damaged = numbers[~is_whole]
            renewed = [
                self._files.renew(shard)
                for shard in np.unique(self._index.shard_of(damaged)).tolist()
            ]
            if any(renewed):
                records[~is_whole], is_whole[~is_whole] = self._read(damaged)
        if not is_whole.all():
            raise self._damaged(int(numbers[~is_whole].min()))
        return records

    def _damaged(self, number: int) -> DatasetDamagedError:
        shard = int(self._index.shard_of(number))
        with contextlib.suppress(DatasetDamagedError):  # succeeds if the headers are intact
            if walk(self._index.shards, shard) != self._index.bounds_of(shard).tolist():
                return wrong_index(self._index.shards, shard, "its records are misplaced")
        return DatasetDamagedError(
            f"a shard is damaged: {self._index.describe(number)} has a wrong checksum; "
            "copy that file again, or build the dataset again; "
            "`beam-tfrecords verify` finds all such shards"
        )

    def _read(self, numbers: Any) -> tuple[Any, Any]:
        """Return the serialized records, and whether each is intact: bool [n]."""
        records = np.empty(len(numbers), object)
        if not len(numbers):
            return records, np.ones(0, bool)
        order = np.argsort(numbers, kind="stable")
        ordered = numbers[order]
        shards, starts, ends = self._index.locate(ordered)

        # Ranges without larger gaps, grouped into parts of one shard for one thread each.
        is_far = starts[1:] - ends[:-1] > self._gap
        part = np.cumsum(ends - starts) // _PART_BYTES
        begins_part = (shards[1:] != shards[:-1]) | (part[1:] != part[:-1])
        if self._files.is_remote:  # one request per part
            begins_part |= is_far
        parts = np.concatenate([[0], np.flatnonzero(begins_part) + 1, [len(ordered)]]).tolist()
        wanted = np.bincount(shards, ends - starts)
        is_whole = np.empty(len(numbers), bool)

        def read_part(begin: int, end: int) -> None:
            """Copy each record out of its part's bytes while the CPU has them cached."""
            shard, places = int(shards[begin]), order[begin:end]
            with self._files.open(shard, int(wanted[shard])) as read:
                payloads, is_whole[places] = _read_part(
                    read, starts[begin:end], ends[begin:end], is_far[begin : end - 1]
                )
            records[places] = np.array(payloads, object)

        if len(parts) == 2:
            read_part(*parts)
        else:
            for _ in self._threads.map(read_part, parts[:-1], parts[1:]):
                pass  # raises the errors of the parts
        return records, is_whole


def _read_part(
    read: Callable[[int, int], bytes], starts: Any, ends: Any, is_far: Any
) -> tuple[list[bytes], Any]:
    """Read payloads of records of one shard, and whether each is intact: bool [n].

    `starts` and `ends` bound their frames; `is_far` [n - 1] marks the gaps to skip.
    """
    first = np.concatenate([[0], np.flatnonzero(is_far) + 1])
    offsets = starts[first]
    lengths = ends[np.concatenate([first[1:], [len(starts)]]) - 1] - offsets
    chunks = [  # padded with zeros at the end of the file
        read(length, offset).ljust(length, b"\0")
        for length, offset in zip(lengths.tolist(), offsets.tolist(), strict=True)
    ]
    moved = np.cumsum(lengths) - lengths - offsets
    moved = moved[np.concatenate([[0], np.cumsum(is_far)])]
    content = chunks[0] if len(chunks) == 1 else b"".join(chunks)
    return unframed(content, starts + moved, ends + moved)
