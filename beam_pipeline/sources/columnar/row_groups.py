"""Files of rows with types, in groups that are read by themselves."""

import contextlib
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import pyarrow as pa

from beam_pipeline.errors import DataError
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef


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
