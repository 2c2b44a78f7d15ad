"""Records go to their shards, by the plan."""

import dataclasses
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import apache_beam as beam
import pyarrow as pa

from beam_pipeline.assign import columns
from beam_pipeline.assign.placement import Int64s
from beam_pipeline.assign.plan import Plan
from beam_pipeline.running.batches import in_global_window
from beam_pipeline.running.buckets import Waiting
from beam_pipeline.running.spill import NOT_SPILLED, Spill

# What waits in memory, compressed, until batches are worth an element of a shuffle: some 300
# records, of 100 bytes each, for every key.
_WAITING_BYTES_PER_KEY = 32 << 10
_MIN_WAITING_BYTES = 1 << 20
_MAX_WAITING_BYTES = 64 << 20

Keyed = tuple[str, bytes]


@dataclasses.dataclass
class PlaceInShards(beam.PTransform):
    """Tables to ("<split>/<shard>", table), in batches that are worth an element each."""

    plan: beam.PCollection[Plan]
    spill: Spill = NOT_SPILLED

    def expand(self, tables: beam.PCollection[bytes]) -> beam.PCollection[Keyed]:
        plan = beam.pvalue.AsSingleton(self.plan)
        return tables | "Place" >> beam.ParDo(_Place(self.spill), plan).with_output_types(Keyed)


def tables_by_key(
    keys_of: Callable[[pa.Table], Int64s], num_keys: int, spill: Spill = NOT_SPILLED
) -> Waiting[bytes, tuple[int, bytes]]:
    """Tables that wait, and what they are divided into: (key, table of its rows).

    Args:
        keys_of: The key of each row of a table, int64 [n].
        num_keys: How many keys there are.
        spill: Where the tables of a key wait.
    """

    def divide(tables: Sequence[bytes]) -> Iterator[tuple[int, bytes]]:
        table = columns.from_bytes(tables)
        for key, rows in columns.divide(table, keys_of(table)):
            yield key, spill.put(columns.to_bytes(rows))
        del table
        columns.release_memory()

    max_bytes = max(_MIN_WAITING_BYTES, num_keys * _WAITING_BYTES_PER_KEY)
    max_bytes = min(max_bytes, _MAX_WAITING_BYTES)
    return Waiting(divide, max_number=sys.maxsize, max_bytes=max_bytes)


class _Place(beam.DoFn):
    def __init__(self, spill: Spill):
        self._spill = spill

    def start_bundle(self) -> None:
        self._tables: Waiting[bytes, tuple[int, bytes]] | None = None

    def process(self, table: bytes, plan: Plan) -> Iterator[Keyed]:
        if plan.problem:  # nothing is written
            return
        if self._tables is None:
            self._names = plan.shard_names()
            self._tables = tables_by_key(plan.shard_numbers, plan.num_shards, self._spill)
        data = self._spill.get(table)
        for number, rows in self._tables.add(data, len(data)):
            yield self._names[number], rows

    def finish_bundle(self) -> Iterator[Any]:
        for number, rows in self._tables.flush() if self._tables else ():
            yield in_global_window((self._names[number], rows))
