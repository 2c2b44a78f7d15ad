"""Assign: duplicates are settled, the plan is made, and every record goes to its shard.

All of it works on tables (`columns`): nothing here unpacks a record that stays.
"""

import dataclasses
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
import pyarrow as pa
from apache_beam.typehints.decorators import no_annotations

from beam_pipeline.assign import columns
from beam_pipeline.assign.duplicates import settle
from beam_pipeline.assign.keys import FindEqualKeys, keys_of
from beam_pipeline.assign.placement import Int64s
from beam_pipeline.assign.plan import Plan, make_plan
from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.config import BuildConfig
from beam_pipeline.inspect.stage import InspectedInput
from beam_pipeline.running.batches import in_global_window
from beam_pipeline.running.buckets import Buckets, Waiting
from beam_pipeline.running.pickling import pack
from beam_pipeline.running.runner import PLAIN_JOB, Job
from beam_pipeline.running.spill import NOT_SPILLED, Spill

# Records that one worker compares with one another at once, some 100 MB.
RECORDS_PER_BUCKET = 250_000
# Of a bucket, which may be all records: hashes do not spread what is the same.
_ROWS_AT_ONCE = 1 << 16
# Enough for a cluster's workers to share.
_MIN_BUCKETS_ELSEWHERE = 16
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


class Assigned(NamedTuple):
    """What Assign yields.

    Attributes:
        placed: PCollection[tuple[str, bytes]]: "<split>/<shard>" and a table of its records,
            spilled (`Job.spill`).
        rejected: PCollection[bytes]: packed batches of Rejected, spilled.
        plan: PCollection[Plan], of one element.
        statistics: PCollection[Statistics], of one element.
    """

    placed: beam.PCollection[Keyed]
    rejected: beam.PCollection[bytes]
    plan: beam.PCollection[Plan]
    statistics: beam.PCollection[Statistics]


@dataclasses.dataclass
class AssignShards(beam.PTransform):
    """`InspectedInput` records to `Assigned`.

    Attributes:
        num_read: PCollection[int], of one element: about how many records there are.
    """

    config: BuildConfig
    num_read: beam.PCollection[int]
    job: Job = PLAIN_JOB

    @no_annotations  # Beam takes hints of PCollections alone
    def expand(self, inspected: InspectedInput) -> Assigned:
        spill = self.job.spill
        least = 1 if self.job.is_here else _MIN_BUCKETS_ELSEWHERE
        buckets = self.num_read | "CountBuckets" >> beam.Map(num_buckets, least)  # int
        unique = (
            inspected.records  # bytes: a table
            | "KeyByContent"
            >> beam.ParDo(_KeyByContent(spill), beam.pvalue.AsSingleton(buckets)).with_output_types(
                tuple[int, bytes]
            )  # (content's bucket, table)
            | "GroupByContent" >> beam.GroupByKey()  # (content's bucket, tables)
            | "SettleDuplicates"
            >> beam.ParDo(
                _SettleDuplicates(self.config.duplicates, spill),
                beam.pvalue.AsSingleton(buckets),
            ).with_outputs(
                _SettleDuplicates.REJECTED,
                _SettleDuplicates.STATISTICS,
                _SettleDuplicates.KEYS,
                main="tables",
            )
        )
        equal_keys = unique[_SettleDuplicates.KEYS] | "FindEqualKeys" >> FindEqualKeys(
            _ROWS_AT_ONCE, spill
        )
        statistics = (
            (inspected.statistics, unique[_SettleDuplicates.STATISTICS], equal_keys)
            | "AllStatistics" >> beam.Flatten()  # Statistics
            | "MergeStatistics" >> beam.CombineGlobally(MergeStatistics())  # Statistics, one
        )
        plan = statistics | "MakePlan" >> beam.Map(_make_plan, self.config)  # Plan, one
        rejected = (
            inspected.rejected,
            unique[_SettleDuplicates.REJECTED],
        ) | "AllRejected" >> beam.Flatten()  # bytes: packed Rejected
        placed = unique["tables"] | "PlaceInShards" >> PlaceInShards(
            plan, self.config.num_shards, spill
        )  # (shard, table)
        return Assigned(placed, rejected, plan, statistics)


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


class MergeStatistics(beam.CombineFn):
    """Statistics to their sum."""

    def create_accumulator(self) -> Statistics:
        return Statistics()

    def add_input(self, accumulator: Statistics, element: Statistics) -> Statistics:
        accumulator.merge(element)
        return accumulator

    def merge_accumulators(self, accumulators: Iterable[Statistics]) -> Statistics:
        merged = Statistics()
        for accumulator in accumulators:
            merged.merge(accumulator)
        return merged

    def extract_output(self, accumulator: Statistics) -> Statistics:
        return accumulator


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


def _make_plan(statistics: Statistics, config: BuildConfig) -> Plan:
    return make_plan(statistics, config, statistics.num_inspected)


def num_buckets(num_records: int, at_least: int) -> int:
    """How many buckets of contents, or of keys, so many records are compared in."""
    return Buckets.of(num_records, RECORDS_PER_BUCKET, at_least=at_least).number


def content_buckets(table: pa.Table, buckets: int) -> Int64s:
    """The bucket of each row's content: int64 [n]."""
    contents = table.column("content_digest").combine_chunks()
    data = np.frombuffer(contents.buffers()[1], ">u4").reshape(-1, contents.type.byte_width // 4)
    first = data[contents.offset : contents.offset + len(contents), 0].astype(np.uint64)
    return (first * np.uint64(buckets) >> np.uint64(32)).astype(np.int64)


class _KeyByContent(beam.DoFn):
    def __init__(self, spill: Spill):
        self._spill = spill

    def start_bundle(self) -> None:
        self._tables: Waiting[bytes, tuple[int, bytes]] | None = None

    def process(self, table: bytes, buckets: int) -> Iterator[tuple[int, bytes]]:
        if buckets == 1:
            yield 0, table
            return
        if self._tables is None:
            self._tables = tables_by_key(
                lambda rows: content_buckets(rows, buckets), buckets, self._spill
            )
        data = self._spill.get(table)
        yield from self._tables.add(data, len(data))

    def finish_bundle(self) -> Iterator[Any]:
        yield from map(in_global_window, self._tables.flush() if self._tables else ())


class _SettleDuplicates(beam.DoFn):
    REJECTED = "rejected"
    STATISTICS = "statistics"
    KEYS = "keys"

    def __init__(self, policy: str, spill: Spill):
        self._policy = policy
        self._spill = spill

    def start_bundle(self) -> None:
        self._statistics = Statistics()

    def process(self, keyed: tuple[int, Iterable[bytes]], buckets: int) -> Iterator[Any]:
        put, tables = self._spill.put, self._spill.all(keyed[1])
        drops = self._policy == "drop"
        for unique in settle(tables, self._policy, self._statistics, _ROWS_AT_ONCE):
            if unique.rejects:
                yield beam.pvalue.TaggedOutput(self.REJECTED, put(pack(unique.rejects)))
            if drops:
                yield put(columns.to_bytes(unique.table))
            for bucket, keys in keys_of(unique.table, buckets):
                yield beam.pvalue.TaggedOutput(self.KEYS, (bucket, put(keys)))
        if not drops:
            yield from keyed[1]

    def finish_bundle(self) -> Iterator[Any]:
        yield in_global_window(beam.pvalue.TaggedOutput(self.STATISTICS, self._statistics))


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
        for table in self._spill.all(keyed[1]):
            for number, rows in tables.add(table, len(table)):
                yield names[number], rows
        for number, rows in tables.flush():
            yield names[number], rows
