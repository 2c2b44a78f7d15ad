"""One key of two records: a source gave it twice, and one might be trained, the other tested on."""

import dataclasses
import functools
from collections.abc import Iterable, Iterator

import apache_beam as beam
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from beam_pipeline.assign import columns
from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.running.spill import Spill

_SCHEMA = pa.schema([columns.SCHEMA.field(name) for name in ("position", "key", "source")])

Keys = tuple[int, bytes]
"""A bucket of positions, and a table of keys."""


def keys_of(table: pa.Table, num_buckets: int) -> Iterator[Keys]:
    """The keys of records; equal ones have equal positions, and so come to one bucket."""
    rows = table.select(_SCHEMA.names)
    buckets = (columns.numbers(rows, "position") % num_buckets).astype(np.int64)
    for bucket, part in columns.divide(rows, buckets):
        yield bucket, columns.to_bytes(part)


@dataclasses.dataclass
class FindEqualKeys(beam.PTransform):
    """`Keys` of all records to Statistics that name those of two records.

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
                functools.partial(_compare, max_rows=self.max_rows, spill=self.spill)
            ).with_output_types(Statistics)
        )


def _compare(bucket: int, tables: Iterable[bytes], max_rows: int, spill: Spill) -> Statistics:
    statistics = Statistics()
    statistics.add_equal_keys(equal_keys(columns.parts(spill.all(tables), max_rows)))
    return statistics


def equal_keys(parts: Iterable[pa.Table]) -> Iterator[tuple[str, str, str]]:
    """(key, source, other source) of each key that several of the rows have.

    Args:
        parts: Tables of (key, position, source); two rows of each key are held.
    """
    rows = _SCHEMA.empty_table()
    for part in parts:
        rows = _two_of_each(pa.concat_tables([rows, part]))
    for row in np.flatnonzero(_equal(rows, 1)).tolist():
        one, other = rows.slice(row, 2).to_pylist()
        yield one["key"], one["source"], other["source"]


def _two_of_each(rows: pa.Table) -> pa.Table:
    """The rows by position, key and source, two of each key at most."""
    rows = rows.sort_by([(name, "ascending") for name in _SCHEMA.names]).combine_chunks()
    third = np.concatenate([np.zeros(min(2, rows.num_rows), np.bool_), _equal(rows, 2)])
    return rows.filter(pa.array(~third)).combine_chunks() if third.any() else rows


def _equal(rows: pa.Table, steps: int) -> npt.NDArray[np.bool_]:
    """Whether sorted rows have the key of the one so many steps further: bool [n - steps]."""
    positions = columns.numbers(rows, "position")
    equal: npt.NDArray[np.bool_] = positions[steps:] == positions[: len(positions) - steps]
    keys, same = rows.column("key"), np.flatnonzero(equal)  # seldom any: a position is a hash
    equal[same] = pc.equal(keys.take(same), keys.take(same + steps)).to_numpy()
    return equal
