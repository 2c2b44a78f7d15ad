"""Files of rows with types, in groups that are read by themselves."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import pyarrow as pa

from beam_pipeline.errors import DataError
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


def damaged(path: str, noun: str, error: object) -> DataError:
    """What is said of a file that cannot be read."""
    return DataError(f"{path} is no {noun} that can be read ({error}); fetch it again")


def unsupported(path: str, why: str, remedy: str) -> DataError:
    """What is said of a file that is whole, and that is not read."""
    return DataError(f"{path} cannot be read: {why}; {remedy}")
