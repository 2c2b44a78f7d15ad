"""Counts records of equal content, and drops them on request.

All records of a dataset may have the same content, and are then in one bucket. So a bucket is read
part by part, up to four times, and memory grows only with its number of distinct contents: a group
of equal contents is a few numbers and the keys to name, in columns. Packed records are read for
the labels of conflicting groups, and to count the values of the records that are kept.
"""

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from beam_pipeline.assign import columns
from beam_pipeline.assign.placement import Int64s
from beam_pipeline.assign.statistics import (
    DUPLICATE,
    NUM_LEAKS_NAMED,
    NUM_NAMED,
    DuplicateGroup,
    Duplicates,
    Statistics,
)
from beam_pipeline.batch import Examples
from beam_pipeline.inspect.deferred import with_values
from beam_pipeline.inspect.inspect_batch import label_texts
from beam_pipeline.records import Rejected

# Records named per content; all are counted.
_NUM_KEYS_NAMED = 10
_RECORDS_OBSERVED_AT_ONCE = 256
# Memory of a row with its record, relative to its routing columns.
_TIMES_ROUTES = 4
# What is known of the records to name; the digest tells records of one key apart.
_NAMES = ["key", "digest", "split"]

Digests = npt.NDArray[np.bytes_]
Labels = Mapping[bytes, str]
"""The class names of records, by the record's digest."""


def settle(
    tables: Iterable[bytes],
    policy: str,
    statistics: Statistics,
    max_rows: int,
    *,
    observes: bool = False,
) -> Iterator[tuple[pa.Table, list[Rejected]]]:
    """Yield (table of kept records, rejects) according to `policy`, and count both.

    If none may be dropped, the tables lack the packed records (`columns.READ_ROUTES`).

    Args:
        tables: Records (`columns.to_bytes`), including all with the same content; read repeatedly.
        observes: Whether to count values here; always done with "drop", once the drops are known.
    """
    drops = policy == "drop"
    observes = observes or drops
    routes = _routes(tables, max_rows)
    repeated = columns.repeated(routes(), "content_digest").to_pylist()
    groups = _Groups(np.array(sorted(repeated), columns.CONTENT))
    del repeated
    labels: Labels = {}
    if groups.number:
        for part in routes():
            groups.add(part)
        if len(digests := groups.to_label(drops)):
            labels = _labels(_with_records(tables, max_rows), digests)
        statistics.add_duplicates(groups.described(drops, labels))
    for part in _with_records(tables, max_rows) if observes else routes():
        table, rejects = groups.without_others(part, labels) if drops else (part, [])
        statistics.add_rows(table)
        for reject in rejects:
            statistics.add_rejected(reject)
        if observes:
            for some in table.to_batches(_RECORDS_OBSERVED_AT_ONCE):
                rows = pa.Table.from_batches([some])
                splits = rows.column("split").to_pylist()
                statistics.observe(with_values(Examples.of(rows)), splits)
        yield table, rejects


def _routes(tables: Iterable[bytes], max_rows: int) -> Callable[[], Iterable[pa.Table]]:
    """Return a function that reads a bucket's parts; a single part, the usual case, is kept."""
    first = list(itertools.islice(columns.parts(tables, max_rows, columns.READ_ROUTES), 2))
    if not first[1:]:
        return lambda: first
    return functools.partial(columns.parts, tables, max_rows, columns.READ_ROUTES)


def _with_records(tables: Iterable[bytes], max_rows: int) -> Iterator[pa.Table]:
    return columns.parts(tables, 1 + max_rows // _TIMES_ROUTES)


def _labels(parts: Iterable[pa.Table], digests: pa.Array) -> Labels:
    """Return the labels of the records with these digests."""
    labels: dict[bytes, str] = {}
    for part in parts:
        some = part.filter(pc.is_in(part.column("digest"), digests))
        texts = label_texts(Examples.of(some))
        labels.update(zip(some.column("digest").to_pylist(), texts, strict=True))
    return labels


class _First:
    """The first `most` records by key of each number, and the columns `_NAMES` of them.

    Attributes:
        rows: The records, in the order of "number" and key.
    """

    def __init__(self, most: int):
        self._most = most
        self.rows = _numbered(columns.SCHEMA.empty_table(), np.empty(0, np.int64))

    def add(self, table: pa.Table, numbers: Int64s) -> None:
        """Add records with these numbers."""
        rows = columns.concatenated([self.rows, _numbered(table, numbers)])
        by = [(name, "ascending") for name in ("number", "key", "digest")]
        rows = rows.sort_by(by).combine_chunks()
        of_rows = columns.numbers(rows, "number")
        place = np.arange(len(of_rows)) - np.searchsorted(of_rows, of_rows)
        self.rows = rows.filter(pa.array(place < self._most)).combine_chunks()

    @property
    def numbers(self) -> Int64s:
        """The number of each row."""
        return columns.numbers(self.rows, "number")


def _numbered(table: pa.Table, numbers: Int64s) -> pa.Table:
    return table.select(_NAMES).append_column("number", pa.array(numbers, pa.int64()))


class _Groups:
    """Groups of records with equal content, numbered in the order of `contents`."""

    def __init__(self, contents: Digests):
        self.number = len(contents)
        self._contents = contents
        self._counts = np.zeros(len(contents), np.int64)
        # Annotations differ if lowest and highest digests do.
        self._lowest = np.full(len(contents), np.iinfo(np.uint64).max, np.uint64)
        self._highest = np.zeros(len(contents), np.uint64)
        self._first = _First(_NUM_KEYS_NAMED)
        self._first_in_split = _First(1)  # of (group, split) as one number
        self._splits: dict[str, int] = {}
        self._is_kept = np.zeros(len(contents), np.bool_)

    def add(self, part: pa.Table) -> None:
        """Add records."""
        rows, groups = self._members(part)
        part = part.select([*_NAMES, "annotation"]).take(rows)
        annotations = columns.binaries(part, "annotation").view(">u8").astype(np.uint64)
        np.add.at(self._counts, groups, 1)
        np.minimum.at(self._lowest, groups, annotations)
        np.maximum.at(self._highest, groups, annotations)
        self._first.add(part, groups)
        splits = np.zeros(len(rows), np.int64)
        for split, some in columns.rows_by_split(part):
            splits[some] = self._splits.setdefault(split, len(self._splits))
        self._first_in_split.add(part, groups << 32 | splits)

    def to_label(self, drops: bool) -> pa.Array:
        """Return the digests of the records whose labels `described` and `without_others` need."""
        numbers = self._first.numbers
        is_needed = np.isin(numbers, self._to_name)
        if drops:
            is_needed[self._starts] = True
        is_needed &= self._conflicts[numbers]
        return self._first.rows.column("digest").filter(pa.array(is_needed)).combine_chunks()

    def described(self, drops: bool, labels: Labels) -> Duplicates:
        """Count the groups, and describe the first; with `drops` one record of each stays."""
        leaking = np.empty(0, np.int64) if drops else self._leaking
        return Duplicates(
            num_groups=self.number,
            num_records=int(self._counts.sum()),
            num_conflicting=int(self._conflicts.sum()),
            num_across_splits=len(leaking),
            named=[self._described(group, drops, labels) for group in self._to_name.tolist()],
            leaks=[self._places(group) for group in self._first_leaks(leaking)],
        )

    def _described(self, group: int, drops: bool, labels: Labels) -> DuplicateGroup:
        rows = _rows_of(self._first.rows, self._first.numbers, group, group + 1)
        keys, digests = rows.column("key").to_pylist(), rows.column("digest").to_pylist()
        kept = (rows.column("split")[0].as_py(), keys[0])
        return DuplicateGroup(
            keys=tuple(keys),
            labels=tuple(labels[each] for each in digests) if self._conflicts[group] else (),
            splits=(kept,) if drops else self._places(group),
            num_records=int(self._counts[group]),
        )

    def _places(self, group: int) -> tuple[tuple[str, str], ...]:
        """Return (split, first key in it) of the splits of a group."""
        first = self._first_in_split
        rows = _rows_of(first.rows, first.numbers, group << 32, (group + 1) << 32)
        splits, keys = (rows.column(name).to_pylist() for name in ("split", "key"))
        return tuple(sorted(zip(splits, keys, strict=True)))

    def _first_leaks(self, leaking: Int64s) -> list[int]:
        """Return the first of these groups in the order of `_places`."""
        rows = self._first_in_split.rows
        groups = self._first_in_split.numbers >> 32
        rows = rows.append_column("group", pa.array(groups))
        rows = rows.filter(pa.array(np.isin(groups, leaking)))
        rows = rows.sort_by([("group", "ascending"), ("split", "ascending")])
        rows = rows.take(np.searchsorted(columns.numbers(rows, "group"), leaking))
        first: list[int] = (
            _smallest(rows, NUM_LEAKS_NAMED, "split", "key").column("group").to_pylist()
        )
        return first

    def without_others(self, part: pa.Table, labels: Labels) -> tuple[pa.Table, list[Rejected]]:
        """Drop all records of a part's groups except each group's first by key."""
        rows, groups = self._members(part)
        if not len(rows):
            return part, []
        members = part.take(rows)
        first = self._first.rows.take(self._starts[groups])
        may_stay = np.flatnonzero(
            columns.binaries(members, "digest") == columns.binaries(first, "digest")
        )
        kept, places = np.unique(groups[may_stay], return_index=True)
        places = may_stay[places][~self._is_kept[kept]]  # several records may have one digest
        self._is_kept[kept] = True
        is_dropped = np.ones(len(rows), np.bool_)
        is_dropped[places] = False
        stays = np.ones(part.num_rows, np.bool_)
        stays[rows[is_dropped]] = False
        dropped = pa.array(is_dropped)
        conflicts = self._conflicts[groups[is_dropped]].tolist()
        rejects = _rejects(members.filter(dropped), first.filter(dropped), conflicts, labels)
        return part.filter(pa.array(stays)), list(rejects)

    def _members(self, part: pa.Table) -> tuple[Int64s, Int64s]:
        """Return (rows of a part that are in a group, their groups)."""
        contents = columns.binaries(part, "content_digest")
        groups = np.searchsorted(self._contents, contents)
        is_known = groups < self.number
        is_known[is_known] = self._contents[groups[is_known]] == contents[is_known]
        rows = np.flatnonzero(is_known)
        return rows, groups[rows]

    # Known once all records have been added:

    @functools.cached_property
    def _conflicts(self) -> npt.NDArray[np.bool_]:
        """Whether the records of each group have different annotations."""
        return np.not_equal(self._lowest, self._highest)

    @functools.cached_property
    def _starts(self) -> Int64s:
        """The first record of each group, as a row of `self._first`."""
        return np.searchsorted(self._first.numbers, np.arange(self.number))

    @functools.cached_property
    def _leaking(self) -> Int64s:
        """The groups in several splits."""
        groups = self._first_in_split.numbers >> 32
        return np.flatnonzero(np.bincount(groups, minlength=self.number) > 1)

    @functools.cached_property
    def _to_name(self) -> Int64s:
        """The groups to name: conflicting ones before others, by their first keys."""
        first = self._first.rows.take(self._starts)
        first = first.append_column("agrees", pa.array((~self._conflicts).astype(np.int8)))
        return columns.numbers(_smallest(first, NUM_NAMED, "agrees", "key"), "number")


def _rows_of(table: pa.Table, numbers: Int64s, start: int, end: int) -> pa.Table:
    """Return the rows whose numbers, which are sorted, are in a range."""
    first, last = np.searchsorted(numbers, (start, end)).tolist()
    return table.slice(first, last - first)


def _smallest(table: pa.Table, count: int, *names: str) -> pa.Table:
    """Return the first rows in the order of these columns."""
    return table.sort_by([(name, "ascending") for name in names]).slice(0, count)


def _rejects(
    dropped: pa.Table, first: pa.Table, conflicts: Iterable[bool], labels: Labels
) -> Iterator[Rejected]:
    """Yield the rejects of dropped records, given the record that stays for each."""
    texts = (dropped.column("source"), dropped.column("key"), first.column("key"))
    digests = first.column("digest").to_pylist()
    for source, key, kept, digest, conflicts_with in zip(
        *(each.to_pylist() for each in texts), digests, conflicts, strict=True
    ):
        otherwise = f", annotated otherwise ({labels[digest]})" if conflicts_with else ""
        detail = f"same content as {kept}{otherwise}"
        yield Rejected(source=source or key, reason=DUPLICATE, detail=detail, bad=False)
