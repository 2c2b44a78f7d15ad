"""Reads records by their numbers: neighbours together, many ranges at once."""

import concurrent.futures
from typing import Any

import google_crc32c
import numpy as np

from trainer.errors import DatasetDamagedError
from trainer.records.index import AFTER_BYTES, BEFORE_BYTES, RecordIndex

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
        is_remote = index.shards.fetcher is not None
        self._gap = _REMOTE_GAP_BYTES if is_remote else _GAP_BYTES
        self._threads = concurrent.futures.ThreadPoolExecutor(
            threads or (_REMOTE_THREADS if is_remote else _THREADS), "read-records"
        )

    def read(self, numbers: Any) -> Any:
        """The serialized records of these numbers, int64 [n]: bytes objects [n], in their order.

        Raises:
            DatasetDamagedError: A record is not what it was when it was written.
        """
        records = np.empty(len(numbers), object)
        if not len(numbers):
            return records
        order = np.argsort(numbers, kind="stable")
        ordered = numbers[order]
        shards, starts, ends = self._index.locate(ordered)
        needed = np.unique(shards).tolist()
        later = range(needed[-1] + 1, len(self._index.shards.files))
        self._index.shards.expect([*needed, *later])

        # Ranges without larger gaps; parts of them that one thread reads, each of one shard.
        is_far = starts[1:] - ends[:-1] > self._gap
        part = np.cumsum(ends - starts) // _PART_BYTES
        begins_part = (shards[1:] != shards[:-1]) | (part[1:] != part[:-1])
        if self._index.shards.fetcher:  # a part is a request
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
        payloads, is_whole = _unframed(b"".join(chunks), starts + moved, ends + moved)
        if not is_whole.all():
            damaged = int(ordered[np.argmin(is_whole)])
            raise DatasetDamagedError(
                f"a shard is damaged: {self._index.describe(damaged)} is not what was written "
                "(its checksum differs); copy that file again, or build the dataset again; "
                "`python -m beam_pipeline verify` finds all such shards"
            )
        records[order] = _objects(payloads)
        return records

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
            with self._index.shards.open(shard, int(wanted[shard])) as read:
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


def _unframed(content: bytes, starts: Any, ends: Any) -> tuple[list[bytes], Any]:
    """The payloads of frames from `starts` to `ends`, and whether each is whole: bool [n]."""
    payloads = [
        content[start:end]
        for start, end in zip(
            (starts + BEFORE_BYTES).tolist(), (ends - AFTER_BYTES).tolist(), strict=True
        )
    ]
    array = np.frombuffer(content, np.uint8)
    lengths = _numbers(array, starts, "<u8")
    checksums = _numbers(array, ends - AFTER_BYTES, "<u4")
    found = np.fromiter(map(google_crc32c.value, payloads), np.uint32, len(payloads))
    masked = (found >> 15 | found << 17) + np.uint32(0xA282EAD8)  # as TFRecord files have it
    return payloads, (lengths == ends - starts - BEFORE_BYTES - AFTER_BYTES) & (checksums == masked)


def _numbers(array: Any, places: Any, dtype: str) -> Any:
    """The numbers that begin at these places of uint8 [bytes]: [n]."""
    width = np.dtype(dtype).itemsize
    return np.ascontiguousarray(array[places[:, None] + np.arange(width)]).view(dtype)[:, 0]
