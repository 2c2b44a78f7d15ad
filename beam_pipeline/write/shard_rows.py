"""The rows of one shard in order, in bounded memory.

A shard may hold all of a dataset's records, and its rows may exceed the memory. Positions are
hashes, so rows are partitioned by position into ranges on disk, and sorted range by range.
"""

import contextlib
import dataclasses
import functools
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from beam_pipeline.assign import columns
from beam_pipeline.assign.placement import Int64s
from beam_pipeline.assign.stage import Keys, tables_by_key
from beam_pipeline.running.spill import Repeatable, Spill, spilling

# Rows that are sorted at once; a sort takes several times as much.
_MAX_BYTES = 2 << 20


@dataclasses.dataclass(frozen=True, slots=True)
class ShardRows:
    """The rows of a shard sorted by position, in tables that can be iterated repeatedly."""

    num_rows: int
    parts: Iterable[pa.Table]

    def chunks(self, max_bytes: int, max_records: int) -> Iterator[pa.Table]:
        """Yield the chunks of `columns.chunks`, however the parts are cut."""
        rest = columns.SCHEMA.empty_table()
        for part in self.parts:
            part = columns.concatenated([rest, part]) if rest.num_rows else part
            *whole, rest = columns.chunks(part, max_bytes, max_records)
            yield from whole
            rest = rest.take(np.arange(rest.num_rows))  # a slice would keep the whole part
            del part, whole
        if rest.num_rows:
            yield rest


@contextlib.contextmanager
def shard_rows(tables: Iterable[bytes], folder: str | None) -> Iterator[ShardRows]:
    """Sort the rows of a shard (`columns.to_bytes`); many are spilled in a file in `folder`."""
    few: list[pa.Table] = []
    num_rows = num_bytes = 0
    first, last = 2**64, 0
    for part in columns.parts(tables, 1):
        positions = columns.numbers(part, "position")
        first, last = min(first, int(positions.min())), max(last, int(positions.max()))
        num_rows += part.num_rows
        num_bytes += part.nbytes
        few.append(part)
        if num_bytes >= _MAX_BYTES:
            few.clear()
    if few:
        ordered = columns.in_order(columns.concatenated(few))
        few.clear()
        yield ShardRows(num_rows, [ordered])
        return
    with spilling(folder) as spill:
        ranges = _ranges(tables, spill, first, last, 1 + num_bytes // _MAX_BYTES)
        parts = map(spill.all, filter(None, ranges))
        yield ShardRows(num_rows, Repeatable(functools.partial(_ordered, list(parts))))


def _ordered(parts: Iterable[Iterable[bytes]]) -> Iterator[pa.Table]:
    return (columns.in_order(columns.from_bytes(tables)) for tables in parts)


def _ranges(
    tables: Iterable[bytes], spill: Spill, first: int, last: int, count: int
) -> list[list[bytes]]:
    """Partition rows into equally long ranges of positions; returns spilled tables by range."""
    length = np.uint64((last - first) // count + 1)

    def numbers_of(table: pa.Table) -> Int64s:
        after = columns.numbers(table, "position") - np.uint64(first)
        return (after // length).astype(np.int64)

    ranges: list[list[bytes]] = [[] for _ in range(count)]
    for number, rows in tables_by_key(Keys(range(count), numbers_of), spill).all(tables, len):
        ranges[number].append(rows)
    return ranges
