"""Counts records of equal content, and drops them on request.

All records of a dataset may have the same content, and are then in one bucket. So a bucket is read
part by part, up to three times, and memory grows only with its number of distinct contents.
"""

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from beam_pipeline.assign import columns
from beam_pipeline.assign.placement import Int64s
from beam_pipeline.assign.statistics import DUPLICATE, DuplicateGroup, Statistics
from beam_pipeline.inspect.deferred import with_values
from beam_pipeline.inspect.digest import label_text
from beam_pipeline.records import Rejected

# Records named per content; all are counted.
_NUM_KEYS_NAMED = 10
_RECORDS_OBSERVED_AT_ONCE = 256

Digests = npt.NDArray[np.bytes_]


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
    routes = parts = _parts(tables, max_rows, columns.READ_ROUTES)
    repeated = columns.repeated(routes(), "content_digest").to_pylist()
    groups = _Groups(np.array(sorted(repeated), columns.CONTENT))
    if groups.num_groups or observes:
        parts = _parts(tables, max_rows, columns.READ)
    if groups.num_groups:
        for part in parts():
            groups.add(part)
        for group in groups.described(drops):
            statistics.add_duplicates(group)
    for part in (parts if observes else routes)():
        table, rejects = groups.without_others(part) if drops else (part, [])
        statistics.add_rows(table)
        for reject in rejects:
            statistics.add_rejected(reject)
        if observes:
            for split, rows in columns.rows_by_split(table):
                for some in table.take(rows).to_batches(_RECORDS_OBSERVED_AT_ONCE):
                    records = columns.records_of(pa.Table.from_batches([some]))
                    statistics.observe(list(map(with_values, records)), split)
        yield table, rejects


def _parts(
    tables: Iterable[bytes], max_rows: int, options: pa.ipc.IpcReadOptions
) -> Callable[[], Iterable[pa.Table]]:
    """Return a function that reads a bucket's parts; a single part, the usual case, is kept."""
    first = list(itertools.islice(columns.parts(tables, max_rows, options), 2))
    if not first[1:]:
        return lambda: first
    return functools.partial(columns.parts, tables, max_rows, options)  # keeps no part in memory


class _Groups:
    """Groups of records with equal content, numbered in the order of `contents`."""

    def __init__(self, contents: Digests):
        self.num_groups = len(contents)
        self._contents = contents
        self._counts = np.zeros(len(contents), np.int64)
        # Annotations differ if lowest and highest digests do.
        self._lowest = np.full(len(contents), np.iinfo(np.uint64).max, np.uint64)
        self._highest = np.zeros(len(contents), np.uint64)
        self._first_in_split: dict[tuple[int, str], str] = {}
        self._first = _in_groups(columns.SCHEMA.empty_table(), np.empty(0, np.int64))
        self._kept: set[int] = set()

    def add(self, part: pa.Table) -> None:
        """Add records."""
        rows, groups = self._members(part)
        part = part.take(rows)
        annotations = columns.binaries(part, "annotation").view(">u8").astype(np.uint64)
        np.add.at(self._counts, groups, 1)
        np.minimum.at(self._lowest, groups, annotations)
        np.maximum.at(self._highest, groups, annotations)
        places = zip(groups.tolist(), part.column("split").to_pylist(), strict=True)
        for place, key in zip(places, part.column("key").to_pylist(), strict=True):
            self._first_in_split[place] = min(key, self._first_in_split.get(place, key))
        first = columns.concatenated([self._first, _in_groups(part, groups)])
        self._first = _first_of_each(first)

    def described(self, drops: bool) -> Iterator[DuplicateGroup]:
        """Yield a description of each group; with `drops` only one of its records stays."""
        splits: list[dict[str, str]] = [{} for _ in range(self.num_groups)]
        for (group, split), key in self._first_in_split.items():
            splits[group][split] = key
        for group, first in enumerate(self._first_by_group):
            if drops:
                splits[group] = {first.column("split")[0].as_py(): first.column("key")[0].as_py()}
            labels = map(label_text, columns.records_of(first)) if self._conflict(group) else ()
            yield DuplicateGroup(
                keys=tuple(first.column("key").to_pylist()),
                labels=tuple(labels),
                splits=tuple(sorted(splits[group].items())),
                num_records=int(self._counts[group]),
            )

    def without_others(self, part: pa.Table) -> tuple[pa.Table, list[Rejected]]:
        """Drop all records of a part's groups except each group's first by key."""
        rows, groups = self._members(part)
        if not len(rows):
            return part, []
        stays = np.ones(part.num_rows, np.bool_)
        rejects = []
        some = part.take(rows)
        sources = some.column("source").to_pylist()
        for row, group, identity, source in zip(
            rows.tolist(), groups.tolist(), _identities(some), sources, strict=True
        ):
            first, detail = self._kept_of_each[group]
            if identity == first and group not in self._kept:
                self._kept.add(group)
                continue
            stays[row] = False
            rejects.append(
                Rejected(source=source or identity[0], reason=DUPLICATE, detail=detail, bad=False)
            )
        return part.filter(pa.array(stays)), rejects

    def _members(self, part: pa.Table) -> tuple[Int64s, Int64s]:
        """Return (rows of a part that are in a group, their groups)."""
        contents = columns.binaries(part, "content_digest")
        groups = np.searchsorted(self._contents, contents)
        is_known = groups < self.num_groups
        is_known[is_known] = self._contents[groups[is_known]] == contents[is_known]
        rows = np.flatnonzero(is_known)
        return rows, groups[rows]

    def _conflict(self, group: int) -> bool:
        return bool(self._lowest[group] != self._highest[group])

    @functools.cached_property
    def _first_by_group(self) -> list[pa.Table]:
        """Return the first records of each group, once all have been added."""
        starts = np.searchsorted(columns.numbers(self._first, "group"), range(self.num_groups + 1))
        pairs = itertools.pairwise(starts.tolist())
        return [self._first.slice(start, end - start) for start, end in pairs]

    @functools.cached_property
    def _kept_of_each(self) -> list[tuple[tuple[str, bytes], str]]:
        """Return for each group the identity of the kept record, and the detail of the rejects."""
        kept = []
        for group, table in enumerate(self._first_by_group):
            [first] = columns.records_of(table.slice(0, 1))
            otherwise = f", annotated otherwise ({label_text(first)})"
            detail = f"same content as {first.key}{otherwise if self._conflict(group) else ''}"
            kept.append((next(_identities(table)), detail))
        return kept


def _in_groups(table: pa.Table, groups: Int64s) -> pa.Table:
    return table.append_column("group", pa.array(groups, pa.int64()))


def _first_of_each(table: pa.Table) -> pa.Table:
    """Return the rows to name in each group, by key, group by group."""
    by = [(name, "ascending") for name in ("group", "key", "digest")]
    table = table.sort_by(by).combine_chunks()
    groups = columns.numbers(table, "group")
    place = np.arange(len(groups)) - np.searchsorted(groups, groups)
    return table.filter(pa.array(place < _NUM_KEYS_NAMED)).combine_chunks()


def _identities(table: pa.Table) -> Iterator[tuple[str, bytes]]:
    """Yield the identity of each row within its group."""
    digests = columns.binaries(table, "digest").tolist()
    return zip(table.column("key").to_pylist(), digests, strict=True)
