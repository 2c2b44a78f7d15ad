"""Assign: handle duplicates, make the plan, and send every record to its shard.

All steps work on tables (`columns`), without unpacking the records that are kept.
"""

import dataclasses
import functools
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from apache_beam.typehints.decorators import no_annotations

from beam_pipeline.assign import columns, likeness
from beam_pipeline.assign.dataset_plan import Plan, make_plan
from beam_pipeline.assign.duplicates import settle
from beam_pipeline.assign.likeness import NOTHING_JOINED, Joined, split_at, with_splits
from beam_pipeline.assign.placement import Int64s, SplitChooser, Strata, stratified
from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.batch import most_bytes
from beam_pipeline.config import BuildConfig
from beam_pipeline.inspect.inspect_media import InspectedInput
from beam_pipeline.running.batches import in_global_window
from beam_pipeline.running.buckets import Buckets, Buffer
from beam_pipeline.running.gathering import Merge
from beam_pipeline.running.pickling import Constant, Parcel, pack
from beam_pipeline.running.progress import state_totals
from beam_pipeline.running.runner import PLAIN_JOB, Job
from beam_pipeline.running.spill import NOT_SPILLED, Repeatable, Spill

# Records that one worker compares with each other at once, about 100 MB.
RECORDS_PER_BUCKET = 250_000
# A bucket may hold all records, as equal contents have equal hashes.
_ROWS_AT_ONCE = 1 << 16
# Enough for a cluster's workers to share.
_MIN_BUCKETS_ELSEWHERE = 16
_KEYS = ["position", "key", "source"]


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


def tables_by_key(keys: Keys, num_columns: int, spill: Spill) -> Buffer[bytes, Keyed]:
    """Return a buffer that divides tables of so many columns by key."""

    def divide(tables: Sequence[bytes]) -> Iterator[Keyed]:
        table = columns.from_bytes(tables)
        for number, rows in columns.divide(table, keys.numbers_of(table)):
            yield keys.names[number], spill.put(columns.to_bytes(rows))
        del table
        pa.default_memory_pool().release_unused()

    bytes_per_key = most_bytes(num_columns, _WAITING_BYTES_PER_KEY)
    max_bytes = max(_MIN_WAITING_BYTES, len(keys.names) * bytes_per_key)
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
            num_columns = len(pa.ipc.open_stream(self._spill.get(table)).schema)
            self._tables = tables_by_key(keys, num_columns, self._spill)
        if len(self._names) > 1:
            data = self._spill.get(table)
            yield from self._tables.add(data, len(data))
        elif self._names:
            yield self._names[0], table

    def finish_bundle(self) -> Iterator[Any]:
        yield from map(in_global_window, self._tables.flush() if self._tables else ())


def keys_of(table: pa.Table, num_buckets: int) -> Iterator[tuple[int, bytes]]:
    """Yield (bucket, table of keys); equal keys have equal positions, so they share a bucket."""
    rows = table.select(_KEYS)
    buckets = (columns.numbers(rows, "position") % num_buckets).astype(np.int64)
    for bucket, part in columns.divide(rows, buckets):
        yield bucket, columns.to_bytes(part)


def _compare_keys(bucket: int, tables: Iterable[bytes], spill: Spill) -> Parcel[Statistics]:
    statistics = Statistics()
    parts = Repeatable(lambda: columns.parts(spill.all(tables), _ROWS_AT_ONCE))
    statistics.add_equal_keys(equal_keys(parts))
    return Parcel(statistics)


def equal_keys(parts: Iterable[pa.Table]) -> Iterator[tuple[str, str, str]]:
    """Yield (key, source, other source) for each key with several records.

    One of these records might be used for training and the other for testing. Reads the tables of
    position, key and source twice.
    """
    repeated = columns.repeated(parts, "position")
    sources: dict[str, list[str]] = {}
    for part in parts if len(repeated) else ():
        rows = part.filter(pc.is_in(part.column("position"), repeated))
        pairs = zip(rows.column("key").to_pylist(), rows.column("source").to_pylist(), strict=True)
        for key, source in pairs:
            sources[key] = sorted([*sources.get(key, ()), source])[:2]
    for key, (source, *others) in sources.items():
        if others:
            yield key, source, others[0]


class Assigned(NamedTuple):
    """Output of Assign.

    Attributes:
        placed: PCollection[tuple[str, bytes]]: "<split>/<shard>" and a table of its records,
            spilled (`Job.spill`).
        rejected: PCollections of bytes: packed batches of Rejected, spilled.
        plan: PCollection[Constant[Plan]], of one element.
        statistics: PCollection[Constant[Statistics]], of one element.
    """

    placed: beam.PCollection[Keyed]
    rejected: tuple[beam.PCollection[bytes], ...]
    plan: beam.PCollection[Constant[Plan]]
    statistics: beam.PCollection[Constant[Statistics]]


@dataclasses.dataclass
class AssignShards(beam.PTransform):
    """Assign `InspectedInput` records; the sum of `counts` is approximately their number."""

    config: BuildConfig
    counts: beam.PCollection[int]
    job: Job = PLAIN_JOB

    @no_annotations  # Beam allows only PCollections in hints
    def expand(self, inspected: InspectedInput) -> Assigned:
        spill = self.job.spill
        least = 1 if self.job.is_here else _MIN_BUCKETS_ELSEWHERE
        counts = beam.pvalue.AsIter(self.counts)
        records, near = self._in_splits(inspected, least)
        unique = (
            records  # bytes: a table
            | "KeyByContent"
            >> beam.ParDo(
                DivideTables(functools.partial(_content_keys, least=least), spill), counts
            ).with_output_types(tuple[int, bytes])  # (content's bucket, table)
            | "GroupByContent" >> beam.GroupByKey()  # (content's bucket, tables)
            | "SettleDuplicates"
            >> beam.ParDo(_SettleDuplicates(self.config, spill, least), counts).with_outputs(
                _SettleDuplicates.REJECTED,
                _SettleDuplicates.STATISTICS,
                _SettleDuplicates.KEYS,
                main="tables",
            )
        )
        equal_keys = (
            unique[_SettleDuplicates.KEYS]  # (bucket, table of keys)
            | "GroupByPosition" >> beam.GroupByKey()  # (bucket, tables)
            | "CompareKeys" >> beam.MapTuple(functools.partial(_compare_keys, spill=spill))
        )  # Parcel[Statistics]
        parts: Any = (
            *inspected.statistics,
            unique[_SettleDuplicates.STATISTICS],
            equal_keys,
            *near,
        )
        # Constant[Statistics] and Constant[Plan], one each
        statistics = parts | "MergeStatistics" >> Merge(merged_statistics)
        plan = statistics | "MakePlan" >> beam.Map(_plan, self.config, self.job)
        rejected = (*inspected.rejected, unique[_SettleDuplicates.REJECTED])
        placed = unique["tables"] | "PlaceInShards" >> beam.ParDo(
            DivideTables(shard_keys, spill), beam.pvalue.AsSingleton(plan)
        ).with_output_types(tuple[str, bytes])  # ("<split>/<shard>", table)
        return Assigned(placed, rejected, plan, statistics)

    def _in_splits(
        self, inspected: InspectedInput, least_buckets: int
    ) -> tuple[beam.PCollection[bytes], tuple[beam.PCollection[Parcel[Statistics]], ...]]:
        """Return (tables of records in their splits, statistics of near-duplicates)."""
        config, spill = self.config, self.job.spill
        if not (config.near_duplicates or config.chooses_splits_last):
            return inspected.records, ()
        chooser = inspected.statistics | "StratifySplits" >> Merge(
            functools.partial(_chooser, config=config)
        )  # SplitChooser, one
        joined: tuple[beam.PCollection[Joined], ...] = ()
        if config.near_duplicates:
            buckets = self.counts | "CountBuckets" >> Merge(
                functools.partial(num_buckets, at_least=least_buckets)
            )  # int, one
            joined = (
                inspected.looks
                | "FindNearDuplicates" >> FindNearDuplicates(config, buckets, chooser, spill),
            )  # Joined, one
        near = tuple(each | "CountNearDuplicates" >> beam.Map(_near_duplicates) for each in joined)
        if not config.chooses_splits_last:
            return inspected.records, near
        chosen = inspected.records | "ChooseSplits" >> beam.Map(
            _choose_splits, spill, *map(beam.pvalue.AsSingleton, (chooser, *joined))
        ).with_output_types(bytes)
        return chosen, near


@dataclasses.dataclass
class FindNearDuplicates(beam.PTransform):
    """Join tables of perceptual hashes (`likeness.SCHEMA`) into a single `Joined`.

    `buckets`, the number for each part of a hash, and `chooser` have one element each.
    """

    config: BuildConfig
    buckets: beam.PCollection[int]
    chooser: beam.PCollection[SplitChooser]
    spill: Spill

    def expand(self, looks: beam.PCollection[bytes]) -> beam.PCollection[Joined]:
        return (
            looks
            | "KeyByBand"
            >> beam.FlatMap(
                _by_band, beam.pvalue.AsSingleton(self.buckets), self.spill
            ).with_output_types(tuple[int, bytes])  # (bucket, table)
            | "GroupByBand" >> beam.GroupByKey()  # (bucket, tables)
            | "CompareLooks"
            >> beam.FlatMap(
                _compare, beam.pvalue.AsSingleton(self.buckets), self.spill
            )  # list[Alike]
            | "AllAlike" >> beam.combiners.ToList()  # list[list[Alike]], one
            | "JoinGroups"
            >> beam.Map(
                likeness.join,
                beam.pvalue.AsSingleton(self.chooser),
                keep_together=self.config.near_duplicates == "group",
            )
        )


def _by_band(table: bytes, buckets: int, spill: Spill) -> Iterator[tuple[int, bytes]]:
    rows = columns.from_bytes([spill.get(table)], likeness.SCHEMA)
    for bucket, part in likeness.by_band(rows, buckets):
        yield bucket, spill.put(columns.to_bytes(part))


def _compare(
    keyed: tuple[int, Iterable[bytes]], buckets: int, spill: Spill
) -> Iterator[list[likeness.Alike]]:
    table = columns.from_bytes(spill.all(keyed[1]), likeness.SCHEMA)
    yield from likeness.compare(table, keyed[0] // buckets)


def _near_duplicates(joined: Joined) -> Parcel[Statistics]:
    return Parcel(Statistics(near=joined.found))


def _chooser(parts: Iterable[Parcel[Statistics]], config: BuildConfig) -> SplitChooser:
    strata = Strata()
    for part in parts:
        strata.merge(part.take().strata)
    return stratified(strata, config.fractions, config.seed)


def _choose_splits(
    table: bytes, spill: Spill, chooser: SplitChooser, joined: Joined = NOTHING_JOINED
) -> bytes:
    """Replace places by splits in a serialized table (`columns.to_bytes`)."""

    def split_of(place: str) -> str:
        return split_at(place, joined.splits, chooser)

    records = columns.from_bytes([spill.get(table)])
    return spill.put(columns.to_bytes(with_splits(records, split_of)))


def merged_statistics(parts: Iterable[Parcel[Statistics]]) -> Constant[Statistics]:
    """Sum statistics."""
    merged = Statistics()
    for part in parts:
        merged.merge(part.take())
    return Constant.of(merged)


def _plan(constant: Constant[Statistics], config: BuildConfig, job: Job) -> Constant[Plan]:
    """Make the plan, and state the number of records that stages have read and will write."""
    statistics = constant.value
    num_read = statistics.num_records + statistics.rejected.total()
    totals = {"read": num_read, "inspect": num_read, "write": statistics.num_records}
    state_totals(job.progress_dir, totals)
    return Constant.of(make_plan(statistics, config))


def num_buckets(counts: Iterable[int], at_least: int) -> int:
    """Return the number of buckets for comparing this many contents or keys."""
    return Buckets.of(sum(counts), RECORDS_PER_BUCKET, at_least=at_least).number


def content_buckets(table: pa.Table, buckets: int) -> Int64s:
    """Return the bucket of each row's content: int64 [n]."""
    contents = columns.binaries(table, "content_digest")
    first = contents.view(">u4")[:: contents.itemsize // 4].astype(np.uint64)
    return (first * np.uint64(buckets) >> np.uint64(32)).astype(np.int64)


def _content_keys(counts: Iterable[int], least: int) -> Keys:
    buckets = num_buckets(counts, least)
    return Keys(range(buckets), functools.partial(content_buckets, buckets=buckets))


def shard_keys(plan: Constant[Plan]) -> Keys:
    """Return "<split>/<shard>" for every shard; none if nothing may be written."""
    return Keys(plan.value.shard_names(), plan.value.shard_numbers)


class _SettleDuplicates(beam.DoFn):
    REJECTED = "rejected"
    STATISTICS = "statistics"
    KEYS = "keys"

    def __init__(self, config: BuildConfig, spill: Spill, least_buckets: int):
        self._least_buckets = least_buckets
        self._policy = config.duplicates
        self._observes = config.observes_last
        self._spill = spill

    def start_bundle(self) -> None:
        self._statistics = Statistics()

    def process(self, keyed: tuple[int, Iterable[bytes]], counts: Iterable[int]) -> Iterator[Any]:
        buckets = num_buckets(counts, self._least_buckets)
        put, tables = self._spill.put, self._spill.all(keyed[1])
        drops = self._policy == "drop"
        for table, rejects in settle(
            tables, self._policy, self._statistics, _ROWS_AT_ONCE, observes=self._observes
        ):
            if rejects:
                yield beam.pvalue.TaggedOutput(self.REJECTED, put(pack(rejects)))
            if drops and table.num_rows:
                yield put(columns.to_bytes(table))
            for bucket, keys in keys_of(table, buckets):
                yield beam.pvalue.TaggedOutput(self.KEYS, (bucket, put(keys)))
        if not drops:
            yield from keyed[1]

    def finish_bundle(self) -> Iterator[Any]:
        yield in_global_window(beam.pvalue.TaggedOutput(self.STATISTICS, Parcel(self._statistics)))
