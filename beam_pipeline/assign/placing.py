"""Records go to their shards, by the plan."""

import dataclasses
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import apache_beam as beam
import pyarrow as pa

from beam_pipeline.assign import columns
from beam_pipeline.assign.placement import Int64s
from beam_pipeline.assign.plan import Plan
from beam_pipeline.running.batches import in_global_window
from beam_pipeline.running.buckets import Waiting
from beam_pipeline.running.spill import NOT_SPILLED, Spill

# Of so many shards every worker gathers records of each; of more, records go to a group of
# neighbouring shards first, so that a batch still holds hundreds of them.
DIRECT_SHARDS = 256
# Of each split, where a user says how many: then there is no step for more.
_FEW_SHARDS = 64
# What waits in memory, compressed, until batches are worth an element of a shuffle: some 300
# records, of 100 bytes each, for every key.
_WAITING_BYTES_PER_KEY = 32 << 10
_MIN_WAITING_BYTES = 1 << 20

Keyed = tuple[str, bytes]


@dataclasses.dataclass
class PlaceInShards(beam.PTransform):
    """Tables to ("<split>/<shard>", table), in batches that are worth an element each.

    Attributes:
        num_shards: As BuildConfig has it; None leaves it to the bytes.
    """

    plan: beam.PCollection[Plan]
    num_shards: int | Mapping[str, int] | None = None
    spill: Spill = NOT_SPILLED

    def expand(self, tables: beam.PCollection[bytes]) -> beam.PCollection[Keyed]:
        plan = beam.pvalue.AsSingleton(self.plan)
        if _are_few(self.num_shards):
            place = _Place(self.spill, _one_each)
            return tables | "Place" >> beam.ParDo(place, plan).with_output_types(Keyed)
        placed = tables | "Place" >> beam.ParDo(
            _Place(self.spill, shards_per_group), plan
        ).with_output_types(Keyed).with_outputs(_Place.IN_GROUPS, main="direct")
        divided = (
            placed[_Place.IN_GROUPS]  # (group of shards, table)
            | "GroupByShards" >> beam.GroupByKey()  # (group of shards, tables)
            | "DivideGroup" >> beam.ParDo(_DivideGroup(self.spill), plan).with_output_types(Keyed)
        )
        return (placed["direct"], divided) | "AllPlaced" >> beam.Flatten()


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
    return Waiting(divide, max_number=sys.maxsize, max_bytes=max_bytes)


def shards_per_group(num_shards: int) -> int:
    """Neighbouring shards that records go to together first; 1 where they go straight."""
    return 1 if num_shards <= DIRECT_SHARDS else -(-num_shards // int(num_shards**0.5))


def _one_each(num_shards: int) -> int:
    return 1


def _are_few(num_shards: int | Mapping[str, int] | None) -> bool:
    """Whether records go straight to the shards of each split, whatever splits there are."""
    if isinstance(num_shards, Mapping) or num_shards is None:
        return False  # the bytes decide, of all splits or of those that are not named
    return num_shards <= _FEW_SHARDS


class _Place(beam.DoFn):
    IN_GROUPS = "in_groups"

    def __init__(self, spill: Spill, per_group: Callable[[int], int]):
        self._spill = spill
        self._per_group_of = per_group

    def start_bundle(self) -> None:
        self._tables: Waiting[bytes, tuple[int, bytes]] | None = None

    def process(self, table: bytes, plan: Plan) -> Iterator[Any]:
        if self._tables is None and not plan.problem:  # else nothing is written
            self._per_group = self._per_group_of(plan.num_shards)
            self._names = plan.shard_names()
            num_groups = -(-plan.num_shards // self._per_group)
            self._tables = tables_by_key(
                lambda rows: plan.shard_numbers(rows) // self._per_group, num_groups, self._spill
            )
        if self._tables:
            data = self._spill.get(table)
            for number, rows in self._tables.add(data, len(data)):
                yield self._keyed(number, rows)

    def finish_bundle(self) -> Iterator[Any]:
        for number, rows in self._tables.flush() if self._tables else ():
            yield in_global_window(self._keyed(number, rows))

    def _keyed(self, number: int, rows: bytes) -> Any:
        if self._per_group == 1:
            return self._names[number], rows
        return beam.pvalue.TaggedOutput(self.IN_GROUPS, (str(number), rows))


class _DivideGroup(beam.DoFn):
    def __init__(self, spill: Spill):
        self._spill = spill

    def process(self, keyed: tuple[str, Iterable[bytes]], plan: Plan) -> Iterator[Keyed]:
        names = plan.shard_names()
        per_group = shards_per_group(plan.num_shards)
        tables = tables_by_key(plan.shard_numbers, per_group, self._spill)
        for number, rows in tables.all(self._spill.all(keyed[1]), len):
            yield names[number], rows
