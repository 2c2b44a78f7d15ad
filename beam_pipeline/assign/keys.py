"""One key of two records: a source gave it twice, and one might be trained, the other tested on."""

from collections.abc import Iterable, Iterator

import apache_beam as beam
import numpy as np
import pyarrow as pa

from beam_pipeline.assign import columns
from beam_pipeline.assign.statistics import Statistics

_SCHEMA = pa.schema([columns.SCHEMA.field(name) for name in ("key", "position", "source")])

Keys = tuple[int, bytes]
"""A bucket of positions, and a table of keys."""


def keys_of(table: pa.Table, num_buckets: int) -> Iterator[Keys]:
    """The keys of records; equal ones have equal positions, and so come to one bucket."""
    rows = table.select(_SCHEMA.names)
    buckets = (columns.numbers(rows, "position") % num_buckets).astype(np.int64)
    for bucket, part in columns.divide(rows, buckets):
        yield bucket, columns.to_bytes(part)


class FindEqualKeys(beam.PTransform):
    """`Keys` of all records to Statistics that name those of two records."""

    def expand(self, keys: beam.PCollection[Keys]) -> beam.PCollection[Statistics]:
        return (
            keys
            | "GroupByPosition" >> beam.GroupByKey()  # (bucket, tables)
            | "CompareKeys" >> beam.MapTuple(_compare).with_output_types(Statistics)
        )


def _compare(bucket: int, tables: Iterable[bytes]) -> Statistics:
    statistics = Statistics()
    statistics.add_equal_keys(equal_keys(columns.from_bytes(tables, _SCHEMA)))
    return statistics


def equal_keys(rows: pa.Table) -> Iterator[tuple[str, str, str]]:
    """(key, source, other source) of rows (key, position, source) that have one key."""
    rows = rows.sort_by([(name, "ascending") for name in ("position", "key", "source")])
    positions = columns.numbers(rows.combine_chunks(), "position")
    for row in np.flatnonzero(positions[1:] == positions[:-1]).tolist():
        one, other = rows.slice(row, 2).to_pylist()
        if one["key"] == other["key"]:
            yield one["key"], one["source"], other["source"]
