"""Assign: duplicates are settled, the plan is made, and every record goes to its shard.

All of it works on tables (`columns`): nothing here unpacks a record that stays.
"""

import dataclasses
import functools
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from apache_beam.typehints.decorators import no_annotations

from beam_pipeline.assign import columns
from beam_pipeline.assign.duplicates import settle
from beam_pipeline.assign.likeness import NOTHING_JOINED, Joined, split_at, with_splits
from beam_pipeline.assign.near_duplicates import FindNearDuplicates, counted
from beam_pipeline.assign.placement import Int64s
from beam_pipeline.assign.placing import Keyed, PlaceInShards, tables_by_key
from beam_pipeline.assign.plan import Plan, make_plan
from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.assign.stratification import SplitChooser, Strata, stratified
from beam_pipeline.config import BuildConfig
from beam_pipeline.inspect.stage import InspectedInput
from beam_pipeline.running.batches import in_global_window
from beam_pipeline.running.buckets import Buckets, Waiting
from beam_pipeline.running.gathering import Merge
from beam_pipeline.running.pickling import pack
from beam_pipeline.running.runner import PLAIN_JOB, Job
from beam_pipeline.running.spill import Spill

# Records that one worker compares with one another at once, some 100 MB.
RECORDS_PER_BUCKET = 250_000
# Of a bucket, which may be all records: hashes do not spread what is the same.
_ROWS_AT_ONCE = 1 << 16
# Enough for a cluster's workers to share.
_MIN_BUCKETS_ELSEWHERE = 16
_KEYS_SCHEMA = pa.schema([columns.SCHEMA.field(name) for name in ("position", "key", "source")])

Keys = tuple[int, bytes]
"""A bucket of positions, and a table of keys."""


def keys_of(table: pa.Table, num_buckets: int) -> Iterator[Keys]:
    """The keys of records; equal ones have equal positions, and so come to one bucket."""
    rows = table.select(_KEYS_SCHEMA.names)
    buckets = (columns.numbers(rows, "position") % num_buckets).astype(np.int64)
    for bucket, part in columns.divide(rows, buckets):
        yield bucket, columns.to_bytes(part)


@dataclasses.dataclass
class FindEqualKeys(beam.PTransform):
    """`Keys` of all records to Statistics that name those of two records.

    A source gave such a key twice, and one record might be trained, the other tested on.

    Attributes:
        max_rows: As `columns.parts` has it.
        spill: Where the tables wait.
    """

    max_rows: int
    spill: Spill

    def expand(self, keys: beam.PCollection[Keys]) -> beam.PCollection[Statistics]:
        return (
            keys
            | "GroupByPosition" >> beam.GroupByKey()  # (bucket, tables)
            | "CompareKeys"
            >> beam.MapTuple(
                functools.partial(_compare_keys, max_rows=self.max_rows, spill=self.spill)
            ).with_output_types(Statistics)
        )


def _compare_keys(bucket: int, tables: Iterable[bytes], max_rows: int, spill: Spill) -> Statistics:
    statistics = Statistics()
    statistics.add_equal_keys(equal_keys(columns.parts(spill.all(tables), max_rows)))
    return statistics


def equal_keys(parts: Iterable[pa.Table]) -> Iterator[tuple[str, str, str]]:
    """(key, source, other source) of each key that several of the rows have.

    Args:
        parts: Tables of (key, position, source); two rows of each key are held.
    """
    rows = _KEYS_SCHEMA.empty_table()
    for part in parts:
        rows = _two_of_each(pa.concat_tables([rows, part]))
    for row in np.flatnonzero(_equal(rows, 1)).tolist():
        one, other = rows.slice(row, 2).to_pylist()
        yield one["key"], one["source"], other["source"]


def _two_of_each(rows: pa.Table) -> pa.Table:
    """The rows by position, key and source, two of each key at most."""
    rows = rows.sort_by([(name, "ascending") for name in _KEYS_SCHEMA.names]).combine_chunks()
    third = np.concatenate([np.zeros(min(2, rows.num_rows), np.bool_), _equal(rows, 2)])
    return rows.filter(pa.array(~third)).combine_chunks() if third.any() else rows


def _equal(rows: pa.Table, steps: int) -> npt.NDArray[np.bool_]:
    """Whether sorted rows have the key of the one so many steps further: bool [n - steps]."""
    positions = columns.numbers(rows, "position")
    equal: npt.NDArray[np.bool_] = positions[steps:] == positions[: len(positions) - steps]
    keys, same = rows.column("key"), np.flatnonzero(equal)  # seldom any: a position is a hash
    equal[same] = pc.equal(keys.take(same), keys.take(same + steps)).to_numpy()
    return equal


class Assigned(NamedTuple):
    """What Assign yields.

    Attributes:
        placed: PCollection[tuple[str, bytes]]: "<split>/<shard>" and a table of its records,
            spilled (`Job.spill`).
        rejected: PCollections of bytes: packed batches of Rejected, spilled.
        plan: PCollection[Plan], of one element.
        statistics: PCollection[Statistics], of one element.
    """

    placed: beam.PCollection[Keyed]
    rejected: tuple[beam.PCollection[bytes], ...]
    plan: beam.PCollection[Plan]
    statistics: beam.PCollection[Statistics]


@dataclasses.dataclass
class AssignShards(beam.PTransform):
    """`InspectedInput` records to `Assigned`.

    Attributes:
        counts: PCollection[int]: together, about how many records there are.
    """

    config: BuildConfig
    counts: beam.PCollection[int]
    job: Job = PLAIN_JOB

    @no_annotations  # Beam takes hints of PCollections alone
    def expand(self, inspected: InspectedInput) -> Assigned:
        spill = self.job.spill
        least = 1 if self.job.is_here else _MIN_BUCKETS_ELSEWHERE
        counts = beam.pvalue.AsIter(self.counts)
        records, near = self._in_splits(inspected, least)
        unique = (
            records  # bytes: a table
            | "KeyByContent"
            >> beam.ParDo(_KeyByContent(spill, least), counts).with_output_types(
                tuple[int, bytes]
            )  # (content's bucket, table)
            | "GroupByContent" >> beam.GroupByKey()  # (content's bucket, tables)
            | "SettleDuplicates"
            >> beam.ParDo(
                _SettleDuplicates(self.config, spill, least),
                counts,
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
        parts: Any = (
            inspected.statistics,
            unique[_SettleDuplicates.STATISTICS],
            equal_keys,
            *near,
        )
        statistics = parts | "MergeStatistics" >> Merge(merged_statistics)  # Statistics, one
        plan = statistics | "MakePlan" >> beam.Map(_make_plan, self.config)  # Plan, one
        rejected = (inspected.rejected, unique[_SettleDuplicates.REJECTED])
        placed = unique["tables"] | "PlaceInShards" >> PlaceInShards(plan, spill)  # (shard, table)
        return Assigned(placed, rejected, plan, statistics)

    def _in_splits(
        self, inspected: InspectedInput, least_buckets: int
    ) -> tuple[beam.PCollection[bytes], tuple[beam.PCollection[Statistics], ...]]:
        """(tables of records in their splits, statistics of near-duplicates)."""
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
        near = tuple(each | "CountNearDuplicates" >> beam.Map(counted) for each in joined)
        if not config.chooses_splits_last:
            return inspected.records, near
        chosen = inspected.records | "ChooseSplits" >> beam.Map(
            _choose_splits, spill, *map(beam.pvalue.AsSingleton, (chooser, *joined))
        ).with_output_types(bytes)
        return chosen, near


def _chooser(parts: Iterable[Statistics], config: BuildConfig) -> SplitChooser:
    strata = Strata()
    for part in parts:
        strata.merge(part.strata)
    return stratified(strata, config.fractions, config.seed)


def _choose_splits(
    table: bytes, spill: Spill, chooser: SplitChooser, joined: Joined = NOTHING_JOINED
) -> bytes:
    """Records at places to records in splits, both as `columns.to_bytes`."""

    def split_of(place: str) -> str:
        return split_at(place, joined.splits, chooser)

    records = columns.from_bytes([spill.get(table)])
    return spill.put(columns.to_bytes(with_splits(records, split_of)))


def merged_statistics(parts: Iterable[Statistics]) -> Statistics:
    """The sum of statistics, which are left as they are."""
    merged = Statistics()
    for part in parts:
        merged.merge(part)
    return merged


def _make_plan(statistics: Statistics, config: BuildConfig) -> Plan:
    return make_plan(statistics, config, statistics.num_inspected)


def num_buckets(counts: Iterable[int], at_least: int) -> int:
    """How many buckets of contents, or of keys, so many records are compared in."""
    return Buckets.of(sum(counts), RECORDS_PER_BUCKET, at_least=at_least).number


def content_buckets(table: pa.Table, buckets: int) -> Int64s:
    """The bucket of each row's content: int64 [n]."""
    contents = table.column("content_digest").combine_chunks()
    data = np.frombuffer(contents.buffers()[1], ">u4").reshape(-1, contents.type.byte_width // 4)
    first = data[contents.offset : contents.offset + len(contents), 0].astype(np.uint64)
    return (first * np.uint64(buckets) >> np.uint64(32)).astype(np.int64)


class _KeyByContent(beam.DoFn):
    def __init__(self, spill: Spill, least_buckets: int):
        self._spill = spill
        self._least_buckets = least_buckets

    def start_bundle(self) -> None:
        self._tables: Waiting[bytes, tuple[int, bytes]] | None = None
        self._buckets = 0

    def process(self, table: bytes, counts: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        buckets = self._buckets = self._buckets or num_buckets(counts, self._least_buckets)
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
        for unique in settle(
            tables, self._policy, self._statistics, _ROWS_AT_ONCE, observes=self._observes
        ):
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
