"""A table: one file of rows, how it is cut into ranges, and the rows of a range in batches.

What its columns mean is said elsewhere, and alike for all tables (`columns`, `records`). A further
kind of table is one subclass of `Table`.
"""

import abc
import dataclasses
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

from beam_pipeline.errors import DataError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.sources.columns.kinds import Kind
from beam_pipeline.sources.manifest.cells import AS_THEY_ARE, Cells
from beam_pipeline.sources.manifest.files import Manifest
from beam_pipeline.sources.manifest.lines import (
    BLOCK_BYTES,
    count_lines,
    is_compressed,
    read_blocks,
)
from beam_pipeline.sources.unpacking import unpack_gzip

MALFORMED = "malformed annotation"
RANGE_BYTES = 16 << 20
# Rows whose columns are looked at together.
BATCH_ROWS = 1024


class BadRow(NamedTuple):
    """A row that cannot be read.

    Attributes:
        line: The line that it starts on; the first of those that are read is 0.
        detail: Why.
    """

    line: int
    detail: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Rows that follow one another, as columns.

    Attributes:
        columns: By name what each row has: text in CSV, any JSON value in JSON Lines, None where
            it has nothing.
        lines: The line that each starts on; the first of those that are read is 0.
        offsets, lengths: The bytes of each in the file, with the end of its last line.
        bad: Rows among them that cannot be read, and are in no column.
        next_line, next_offset: Where the row behind them begins.
    """

    columns: dict[str, list[Any]]
    lines: Sequence[int]
    offsets: Sequence[int]
    lengths: Sequence[int]
    bad: Sequence[BadRow] = ()
    next_line: int = 0
    next_offset: int = 0

    def __len__(self) -> int:
        return len(self.lines)

    def part(self, start: int, stop: int) -> "Batch":
        """Some of the rows that can be read."""
        part = slice(start, stop)
        return Batch(
            columns={name: values[part] for name, values in self.columns.items()},
            lines=self.lines[part],
            offsets=self.offsets[part],
            lengths=self.lengths[part],
        )

    def halves(self) -> tuple["Batch", "Batch"]:
        """The first and the other half of the rows, to find those that cannot be used."""
        middle = len(self) // 2
        return self.part(0, middle), self.part(middle, len(self))

    def by_row(self) -> Iterator[dict[str, Any]]:
        """The values of each row by column."""
        if not self.columns:
            return iter([{} for _ in self.lines])
        values = zip(*self.columns.values(), strict=True)
        return (dict(zip(self.columns, each, strict=True)) for each in values)


class Range(NamedTuple):
    """The rows of a table that begin in a range of its bytes.

    Attributes:
        table: The table.
        start: The first byte, where a row need not begin.
        end: The byte behind the last; beyond the file's end where it is compressed.
    """

    table: "Table"
    start: int
    end: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Table(abc.ABC):
    """One file of rows: what CSV in its dialects, JSON Lines and others have in common.

    Attributes:
        manifest: The file.
        header: The names of its columns, "" for one that is left out; empty where rows state them.
        cells: What a user says of the values.
        is_typed: Whether values have types; else all of them are texts.
    """

    is_typed: ClassVar[bool]

    manifest: Manifest
    header: tuple[str, ...] = ()
    cells: Cells = AS_THEY_ARE

    @abc.abstractmethod
    def batches(self, start: int, end: int, block_bytes: int = BLOCK_BYTES) -> Iterator[Batch]:
        """The rows that begin in [start, end), of which there may be none; empty ones are skipped.

        Args:
            start: A byte at which a row begins.
            end: Where the range ends; its last row may go on behind that.
            block_bytes: What is read at once.

        Raises:
            ConfigError, DataError, RecordError: As `lines.read_blocks`.
        """

    @abc.abstractmethod
    def kind_of(self, values: Sequence[Any]) -> Kind | None:
        """The kind of a column that holds `values`; raises RecordError where there is none."""

    @abc.abstractmethod
    def cell(self, column: str) -> Callable[[bytes], Any]:
        """Reads the value of one column from the bytes of a row; pickles in a few bytes."""

    def first_row(self, start: int) -> int:
        """The byte at which the first row begins that begins at `start` or behind it.

        It may be a guess: ranges are believed only where each ends as the next begins.
        """
        if not start:
            return 0
        block = next(read_blocks(self.manifest.path, start), None)
        return block.starts[0] if block else self.num_bytes

    def skim(self, start: int, end: int) -> tuple[int, int]:
        """(lines, byte): how many lines the rows of [start, end) take, and where the next begins.

        Args:
            start: A byte at which a row begins.
            end: Where the range ends.
        """
        num_lines, behind, _ = count_lines(self.manifest.path, start, end)
        return num_lines, behind

    @property
    def num_bytes(self) -> int:
        """The size of the file."""
        return storage.size(self.manifest.path) or 0

    def ranges(self, range_bytes: int = RANGE_BYTES, scratch: str = "") -> list[Range]:
        """The ranges that many workers read at once.

        Args:
            range_bytes: Of each; 4 or more, for a byte order mark belongs to the first line.
            scratch: The folder into which a compressed file is unpacked; "" reads it whole.

        Raises:
            DataError: It is compressed, and cut short or damaged.
        """
        table = self
        if is_compressed(self.manifest.path):
            if not scratch:
                return [whole(self)]
            path = _unpacked(self.manifest.path, scratch)
            table = dataclasses.replace(
                self, manifest=dataclasses.replace(self.manifest, path=path)
            )
        size = storage.size(table.manifest.path)
        if size is None:
            return [whole(table)]
        return [
            Range(table, start, start + range_bytes)
            for start in range(0, max(size, 1), range_bytes)
        ]


def whole(table: Table) -> Range:
    """A table as one range."""
    return Range(table, 0, sys.maxsize)


def _unpacked(path: str, scratch: str) -> str:
    try:
        return unpack_gzip(path, scratch)
    except RecordError as error:
        raise DataError(f"{path} cannot be decompressed ({error}); fetch it again") from error


def is_unicode(text: str) -> bool:
    """Whether a text came from UTF-8 and holds no half of a character's escape."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
