"""Divide tables among the keys of a shuffle."""

import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
import pyarrow as pa

from beam_pipeline.assign import columns
from beam_pipeline.assign.placement import Int64s
from beam_pipeline.running.batches import in_global_window
from beam_pipeline.running.buckets import Buffer
from beam_pipeline.running.spill import NOT_SPILLED, Spill

# Compressed tables wait in memory until a batch is large enough for an element of a shuffle: about
# 300 records of 100 bytes per key.
_WAITING_BYTES_PER_KEY = 32 << 10
_MIN_WAITING_BYTES = 1 << 20
_MAX_WAITING_BYTES = 64 << 20

Keyed = tuple[Any, bytes]
"""A key of a shuffle, and a table of its rows, spilled."""


class Keys(NamedTuple):
    """The keys of a shuffle; `numbers_of` returns the key number of each row, int64 [n]."""

    names: Sequence[Hashable]
    numbers_of: Callable[[pa.Table], Int64s]


def tables_by_key(keys: Keys, spill: Spill = NOT_SPILLED) -> Buffer[bytes, Keyed]:
    """Return a buffer that divides tables by key."""

    def divide(tables: Sequence[bytes]) -> Iterator[Keyed]:
        table = columns.from_bytes(tables)
        for number, rows in columns.divide(table, keys.numbers_of(table)):
            yield keys.names[number], spill.put(columns.to_bytes(rows))
        del table
        pa.default_memory_pool().release_unused()

    max_bytes = max(_MIN_WAITING_BYTES, len(keys.names) * _WAITING_BYTES_PER_KEY)
    max_bytes = min(max_bytes, _MAX_WAITING_BYTES)
    return Buffer(divide, max_number=sys.maxsize, max_bytes=max_bytes)


class DivideTables(beam.DoFn):
    """Divide tables into `Keyed` batches large enough for an element; yields none without keys."""

    def __init__(self, keys_of: Callable[[Any], Keys], spill: Spill = NOT_SPILLED):
        self._keys_of = keys_of
        self._spill = spill

    def start_bundle(self) -> None:
        self._tables: Buffer[bytes, Keyed] | None = None

    def process(self, table: bytes, side: Any) -> Iterator[Keyed]:
        if self._tables is None:
            self._names, _ = keys = self._keys_of(side)
            self._tables = tables_by_key(keys, self._spill)
        if len(self._names) > 1:
            data = self._spill.get(table)
            yield from self._tables.add(data, len(data))
        elif self._names:
            yield self._names[0], table

    def finish_bundle(self) -> Iterator[Any]:
        yield from map(in_global_window, self._tables.flush() if self._tables else ())
