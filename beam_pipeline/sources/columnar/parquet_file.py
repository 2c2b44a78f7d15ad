"""Parquet files: their groups are row groups, whose values are packed with others of their column.

Format: https://parquet.apache.org/docs/file-format/
"""

import contextlib
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from beam_pipeline.records import FileRef
from beam_pipeline.sources.columnar.row_groups import RowGroups, opened
from tfrecord_dataset.inflation import is_inflated


class _ParquetGroups:
    def __init__(self, file: pq.ParquetFile):
        self._file = file
        self.schema = file.schema_arrow
        self.num_groups = file.metadata.num_row_groups

    def num_rows(self, group: int) -> int:
        return int(self._file.metadata.row_group(group).num_rows)

    def batches(
        self, group: int, columns: Sequence[str], num_rows: int
    ) -> Iterator[pa.RecordBatch]:
        yield from self._file.iter_batches(num_rows, [group], [*columns], use_threads=False)

    def place(self, address: int, num_bytes: int) -> FileRef | None:
        return None


@contextlib.contextmanager
def opened_parquet(path: str) -> Iterator[RowGroups]:
    """A Parquet file to read; raises what `opened` does."""
    with opened(path, "Parquet file") as handle, pq.ParquetFile(handle) as file:
        _check_sizes(file.metadata)
        yield _ParquetGroups(file)


def _check_sizes(metadata: pq.FileMetaData) -> None:
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for index in range(group.num_columns):
            column = group.column(index)
            packed, content = column.total_compressed_size, column.total_uncompressed_size
            if is_inflated(packed, content):
                raise pa.ArrowInvalid(
                    f"column {column.path_in_schema!r} of row group {number} states {content:,} "
                    f"bytes, made of {packed:,}"
                )
