"""One key in two splits: a source gave it twice, and its record would be trained and tested on."""

from collections.abc import Iterable, Iterator

import apache_beam as beam
import numpy as np
import pyarrow as pa

from beam_pipeline.assign import columns
from beam_pipeline.errors import DataError

_BUCKETS = 64
_SCHEMA = pa.schema([columns.SCHEMA.field(name) for name in ("key", "split", "position")])


class CheckKeys(beam.PTransform):
    """Tables of records to nothing; fails where a key is in two splits.

    Equal keys have equal positions, by which few columns of the records are brought together.
    """

    def expand(self, tables: beam.PCollection[bytes]) -> beam.PCollection[None]:
        return (
            tables
            | "KeyByPosition"
            >> beam.ParDo(_KeyByPosition()).with_output_types(tuple[int, bytes])  # (bucket, keys)
            | "GroupByPosition" >> beam.GroupByKey()  # (bucket, keys)
            | "CheckBucket" >> beam.ParDo(_CheckBucket())
        )


class _KeyByPosition(beam.DoFn):
    def process(self, table: bytes) -> Iterator[tuple[int, bytes]]:
        rows = columns.from_bytes([table]).select(_SCHEMA.names)
        buckets = (columns.numbers(rows, "position") % _BUCKETS).astype(np.int64)
        for bucket, part in columns.divide(rows, buckets):
            yield bucket, columns.to_bytes(part)


class _CheckBucket(beam.DoFn):
    def process(self, keyed: tuple[int, Iterable[bytes]]) -> Iterator[None]:
        check_keys(columns.from_bytes(keyed[1], _SCHEMA))
        yield from ()  # a DoFn yields


def check_keys(rows: pa.Table) -> None:
    """Raises DataError where two rows (key, split, position) have one key and unlike splits."""
    rows = rows.sort_by([("position", "ascending"), ("key", "ascending"), ("split", "ascending")])
    positions = columns.numbers(rows.combine_chunks(), "position")
    for row in np.flatnonzero(positions[1:] == positions[:-1]).tolist():
        one, other = rows.slice(row, 2).to_pylist()
        if one["key"] == other["key"] and one["split"] != other["split"]:
            raise DataError(
                f"key {one['key']!r} is in the splits {one['split']} and {other['split']}; "
                "a source must give every record a key of its own"
            )
