"""Files of rows with types, in groups that are read by themselves; of which Parquet is one.

The row groups of Parquet hold values packed with others of their column.
Format: https://parquet.apache.org/docs/file-format/
"""

import contextlib
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from beam_pipeline.errors import DataError
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef
from tfrecord_dataset.inflation import is_inflated


class RowGroups(Protocol):
    """An open file.

    Attributes:
        schema: Its columns, and what its writer says of them.
        num_groups: How many groups of rows it has.
    """

    schema: pa.Schema
    num_groups: int

    def num_rows(self, group: int) -> int:
        """The rows of a group."""

    def batches(
        self, group: int, columns: Sequence[str], num_rows: int
    ) -> Iterator[pa.RecordBatch]:
        """These columns of a group, at most so many rows at a time."""

    def place(self, address: int, num_bytes: int) -> FileRef | None:
        """Where in the file the bytes at an address of the last batch lie; None if packed."""
        return None


# Opens the file at a path, as long as it is read; raises DataError where it cannot be.
Open = Callable[[str], AbstractContextManager[RowGroups]]


@contextlib.contextmanager
def opened(path: str, noun: str) -> Iterator[Any]:
    """The file at a path, which Arrow reads.

    Raises:
        DataError: It is no such file, is damaged, or states sizes that it cannot have.
    """
    with storage.opened(path) as handle:
        try:
            yield handle
        except (pa.ArrowException, ValueError, OverflowError, struct.error, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:  # Arrow's own have none
                raise
            raise damaged(path, noun, error) from error


def damaged(path: str, noun: str, error: object) -> DataError:
    """What is said of a file that cannot be read."""
    return DataError(f"{path} is no {noun} that can be read ({error}); fetch it again")


def unsupported(path: str, why: str, remedy: str) -> DataError:
    """What is said of a file that is whole, and that is not read."""
    return DataError(f"{path} cannot be read: {why}; {remedy}")


class _ParquetGroups(RowGroups):
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
