"""Records of equal content: counted, and dropped where that is asked for."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from beam_pipeline.assign import columns
from beam_pipeline.assign.statistics import DUPLICATE, DuplicateGroup, Statistics
from beam_pipeline.inspect.deferred import with_values
from beam_pipeline.inspect.digest import label_text
from beam_pipeline.records import Record, Rejected

# Records of one content that are named; all are counted.
_NUM_KEYS_NAMED = 10


class Unique(NamedTuple):
    """What is left of some records.

    Attributes:
        table: The records to be written.
        rejects: Those that are dropped.
    """

    table: pa.Table
    rejects: list[Rejected]


def settle(table: pa.Table, policy: str, statistics: Statistics) -> Unique:
    """The records that stay and those that `policy` drops; `statistics` counts both.

    Args:
        table: Records (`columns.SCHEMA`); those of equal content are all among them.
        policy: One of config.DUPLICATE_POLICIES.
        statistics: Where records, duplicates and rejects are counted; with "drop" also what the
            records' values are, which was left until it is known who stays.
    """
    drops = policy == "drop"
    rejects: list[Rejected] = []
    stays = np.ones(table.num_rows, np.bool_)
    for rows in _equal_contents(table):
        group = table.take(rows)
        conflict = len(set(columns.binaries(group, "annotation").tolist())) > 1
        kept = 1 if drops else len(rows)
        named = list(columns.records_of(group.slice(0, _NUM_KEYS_NAMED))) if conflict else []
        statistics.add_duplicates(
            DuplicateGroup(
                keys=tuple(group.column("key").slice(0, _NUM_KEYS_NAMED).to_pylist()),
                labels=tuple(map(label_text, named)),
                splits=tuple(sorted(set(group.column("split").slice(0, kept).to_pylist()))),
                num_records=len(rows),
            )
        )
        stays[rows[kept:]] = False
        rejects += _dropped(list(columns.records_of(group)), conflict) if drops else []
    if rejects:
        table = table.filter(pa.array(stays))
    statistics.add_rows(table)
    for reject in rejects:
        statistics.add_rejected(reject)
    if drops:
        splits = table.column("split").to_pylist()
        for record, split in zip(columns.records_of(table), splits, strict=True):
            statistics.observe(with_values(record), split)
    return Unique(table, rejects)


def _equal_contents(table: pa.Table) -> Iterator[Sequence[int]]:
    """The rows of every content that several records have, by their keys."""
    contents = columns.binaries(table, "content_digest")
    _, place, count = np.unique(contents, return_inverse=True, return_counts=True)
    repeated = np.flatnonzero(count[place] > 1)
    if not len(repeated):
        return
    keys = table.column("key").take(repeated).to_pylist()
    digests = columns.binaries(table, "digest")[repeated].tolist()
    rows = sorted(zip(place[repeated].tolist(), keys, digests, repeated.tolist(), strict=True))
    start = 0
    for end in range(1, len(rows) + 1):
        if end == len(rows) or rows[end][0] != rows[start][0]:
            yield [row for *_, row in rows[start:end]]
            start = end


def _dropped(records: Sequence[Record], conflict: bool) -> Iterator[Rejected]:
    first, *others = records
    otherwise = f", annotated otherwise ({label_text(first)})" if conflict else ""
    for record in others:
        yield Rejected(
            source=record.source or record.key,
            reason=DUPLICATE,
            detail=f"same content as {first.key}{otherwise}",
            bad=False,
        )
