"""Mergeable statistics of records.

No Beam here: worker processes import this module.
"""

import dataclasses
import heapq
import operator
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa

from beam_pipeline import kinds
from beam_pipeline.assign import columns
from beam_pipeline.assign.likeness import NearDuplicates
from beam_pipeline.assign.placement import Histogram, Strata, bins_of
from beam_pipeline.batch import Examples
from beam_pipeline.kinds.counts import Counts, added, by_key, parts, smallest, taken_over, united
from beam_pipeline.kinds.object_columns import ObjectCounts
from beam_pipeline.kinds.observed import Observed, merged
from beam_pipeline.records import (
    NOT_READ,
    DeclaredClasses,
    Rejected,
    composed,
)
from beam_pipeline.schema.conformance import check_number
from tfrecord_dataset.shown_text import reading_order

# Reject reason of `--duplicates drop`.
DUPLICATE = "duplicate"
# Duplicates and rejects to name; all are counted.
NUM_NAMED = 100
# Other suffixes, which may be parts of names, are counted together.
_SUFFIX = re.compile(r"\.[a-z][a-z0-9]{0,7}$", re.IGNORECASE)
# Leaks to name.
NUM_LEAKS_NAMED = 3
# Sources to name per reject reason.
_NUM_SOURCES_NAMED = 3
# Rejects that are held before all but the first are forgotten.
_NUM_HELD = 1000


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, order=True)
class DuplicateGroup:
    """Records of equal content.

    Attributes:
        keys: The first keys, sorted; `drop` keeps the first record.
        labels: Class names by key if annotations differ; else empty.
        splits: (split, first key in it) of each split with one of the records.
        num_records: Number of records.
    """

    keys: tuple[str, ...]
    labels: tuple[str, ...]
    splits: tuple[tuple[str, str], ...]
    num_records: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Duplicates:
    """All groups of duplicates among some records, and descriptions of the first.

    Attributes:
        num_conflicting: Number of groups with different annotations.
        num_across_splits: Number of groups in several splits.
        named: The first groups (`Statistics.duplicates`).
        leaks: `DuplicateGroup.splits` of the first groups in several splits.
    """

    num_groups: int
    num_records: int
    num_conflicting: int
    num_across_splits: int
    named: Sequence[DuplicateGroup]
    leaks: Sequence[tuple[tuple[str, str], ...]]


_first_rejects = smallest(NUM_NAMED, key=lambda each: (reading_order(each[0]), *each))
_first_sources = smallest(_NUM_SOURCES_NAMED, key=lambda each: (reading_order(each), each))


def _features(one: dict[str, Observed] | None, other: dict[str, Observed]) -> dict[str, Observed]:
    """Merge by feature; DataError for too many."""
    together = taken_over(one, other)
    check_number(together)
    return together


def _classes(one: dict[int, set[str]] | None, other: dict[int, set[str]]) -> dict[int, set[str]]:
    return by_key(united)(one or {}, other)


def _known(one: NearDuplicates, other: NearDuplicates) -> NearDuplicates:
    return other if other.groups else one


@dataclasses.dataclass(init=False)
class Statistics(Counts):
    """Statistics of records; `merge` raises DataError for too many features.

    `merge` takes over `values` of the others, which are not used again.

    Attributes:
        num_inspected: Records that Inspect passed on; 0 if not counted.
        num_records: Records to be written.
        num_ids: Records to be written with a `source_id` of their own.
        stated_splits: The input's split names, by the name in the dataset.
        num_stated: Inspected records with a split stated by the input.
        num_divided: Inspected records in a `train` that `--split` divides.
        values: Statistics of values, by split and feature.
        declared: Class names by the layout's number, by feature.
        num_bad: Rejects that count towards `--max-bad-fraction`.
        first_rejects: (source, reason, detail) of the first of these rejects, by source.
        first_sources: Sources of the first rejects, by reason.
        unread: Number of files that may hold data and are not read, by suffix.
        notes: Number of changes to records, by description.
        conflicting, across_splits: Groups with different annotations; groups in several splits.
        duplicates: The first groups by key, conflicting ones before others.
        leaks: (split, first key in it) of each split, for the first groups in several splits.
        equal_keys: (key, source, other source) of the first records with equal keys.
        strata: Records with a split chosen by class.
    """

    num_inspected: Annotated[int, operator.add] = 0
    num_records: Annotated[int, operator.add] = 0
    num_ids: Annotated[int, operator.add] = 0
    stated_splits: Annotated[dict[str, set[str]], by_key(united)] = dataclasses.field(
        default_factory=dict
    )
    num_stated: Annotated[int, operator.add] = 0
    num_divided: Annotated[int, operator.add] = 0
    histograms: Annotated[dict[str, Histogram], by_key(parts)] = dataclasses.field(
        default_factory=dict
    )
    values: Annotated[dict[str, dict[str, Observed]], by_key(_features)] = dataclasses.field(
        default_factory=dict
    )
    declared: Annotated[dict[str, dict[int, set[str]]], by_key(_classes)] = dataclasses.field(
        default_factory=dict
    )
    rejected: Annotated[Counter[str], added] = dataclasses.field(default_factory=Counter)
    num_bad: Annotated[int, operator.add] = 0
    first_rejects: Annotated[list[tuple[str, str, str]], _first_rejects] = dataclasses.field(
        default_factory=list
    )
    first_sources: Annotated[dict[str, list[str]], by_key(_first_sources)] = dataclasses.field(
        default_factory=dict
    )
    unread: Annotated[Counter[str], added] = dataclasses.field(default_factory=Counter)
    notes: Annotated[Counter[str], added] = dataclasses.field(default_factory=Counter)
    duplicate_groups: Annotated[int, operator.add] = 0
    duplicate_records: Annotated[int, operator.add] = 0
    conflicting: Annotated[int, operator.add] = 0
    across_splits: Annotated[int, operator.add] = 0
    duplicates: Annotated[list[tuple[bool, DuplicateGroup]], smallest(NUM_NAMED)] = (
        dataclasses.field(default_factory=list)
    )
    leaks: Annotated[list[tuple[tuple[str, str], ...]], smallest(NUM_LEAKS_NAMED)] = (
        dataclasses.field(default_factory=list)
    )
    equal_keys: Annotated[list[tuple[str, str, str]], smallest(NUM_NAMED)] = dataclasses.field(
        default_factory=list
    )
    near: Annotated[NearDuplicates, _known] = dataclasses.field(default_factory=NearDuplicates)
    strata: Annotated[Strata, parts] = dataclasses.field(default_factory=Strata)

    def observe(self, examples: Examples, splits: Sequence[str]) -> None:
        """Count the values of examples by split; DataError if they have too many features."""
        by_split: dict[str, list[int]] = {}
        for row, split in enumerate(splits):
            by_split.setdefault(split, []).append(row)
        for split, rows in by_split.items():
            values = self.values.setdefault(split, {})
            kinds.observe(examples.taken(rows), values)
            check_number(values)
        for notes in examples.fields.get("notes", ()):
            self.notes.update(notes)
        self.num_ids += sum(map(bool, examples.fields.get("source_id", ())))

    def features(self) -> dict[str, Observed]:
        """Merge the values of all splits, by feature, to read only.

        Raises DataError if there are too many features.
        """
        together = merged(self.values.values())
        check_number(together)
        return together

    @property
    def states_splits(self) -> Literal["none", "some", "all", "divided"]:
        """Share of records whose split the input states; "divided" if its `train` was divided."""
        if not self.num_stated:
            return "none"
        if self.num_divided:
            return "divided"
        return "all" if self.num_stated == self.num_inspected else "some"

    def without_objects(self) -> dict[str, int]:
        """Return the number of records without an object by split, for features with objects."""
        counts = {
            split: sum(each.own[ObjectCounts].without for each in values.values() if each.own)
            for split, values in sorted(self.values.items())
        }
        return {split: count for split, count in counts.items() if count}

    def add_rows(self, table: pa.Table) -> None:
        """Count records to be written, by split and position."""
        self.num_records += table.num_rows
        bins = bins_of(columns.numbers(table, "position"))
        num_bytes = columns.numbers(table, "num_bytes")
        for split, rows in columns.rows_by_split(table):
            records = np.ones(len(rows), np.int64)
            self.histograms.setdefault(split, Histogram()).add(bins[rows], records, num_bytes[rows])

    def add_rejected(self, rejected: Rejected) -> None:
        """Count a reject."""
        self.rejected[rejected.reason] += 1
        if rejected.reason == NOT_READ:
            ending = _SUFFIX.search(rejected.source)
            self.unread[ending[0].lower() if ending else "others"] += 1
        sources = self.first_sources.setdefault(rejected.reason, [])
        sources.append(rejected.source)
        if len(sources) > _NUM_HELD:
            self.first_sources[rejected.reason] = _first_sources(sources, ())
        if rejected.bad:
            self.num_bad += 1
            self.first_rejects.append((rejected.source, rejected.reason, rejected.detail))
            if len(self.first_rejects) > _NUM_HELD:
                self.first_rejects = _first_rejects(self.first_rejects, ())

    def add_declared(self, declared: DeclaredClasses) -> None:
        """Add the classes declared by one file of the layout."""
        names = self.declared.setdefault(declared.feature, {})
        for number, name in declared.names.items():
            names.setdefault(number, set()).add(composed(name))

    def add_duplicates(self, found: Duplicates) -> None:
        """Count groups of duplicates."""
        self.duplicate_groups += found.num_groups
        self.duplicate_records += found.num_records
        self.conflicting += found.num_conflicting
        self.across_splits += found.num_across_splits
        named = ((not group.labels, group) for group in found.named)
        self.duplicates = heapq.nsmallest(NUM_NAMED, (*self.duplicates, *named))
        self.leaks = heapq.nsmallest(NUM_LEAKS_NAMED, (*self.leaks, *found.leaks))

    def add_equal_keys(self, keys: Iterable[tuple[str, str, str]]) -> None:
        """Add (key, source, other source) of records with equal keys."""
        self.equal_keys = heapq.nsmallest(NUM_NAMED, (*self.equal_keys, *keys))
