"""A table: one file of rows, how it is cut into ranges, and the rows of a range in batches.

Tables that are text are cut at bytes, and read from the line that begins there or behind. A file
that is none, but of which text is made, is such a table too: it is unpacked once.

What its columns mean is said elsewhere, and alike for all tables (`columns`, `records`). A further
kind of table is a subclass of `Table`, and one of `read.ReadManifest` that opens it.
"""

import abc
import dataclasses
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from beam_pipeline.files import storage
from beam_pipeline.files.compressed import is_compressed
from beam_pipeline.records import DeclaredClasses, Rejected
from beam_pipeline.sources.columns.column import Columns
from beam_pipeline.sources.columns.kinds import Kind
from beam_pipeline.sources.manifest.cells import AS_THEY_ARE, Cells
from beam_pipeline.sources.manifest.feature_columns import FeatureColumn, other_columns
from beam_pipeline.sources.manifest.files import Manifest
from beam_pipeline.sources.manifest.lines import (
    BLOCK_BYTES,
    TextOf,
    count_lines,
    read_blocks,
    text_of,
)
from beam_pipeline.sources.unpacking import unpacked

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
        offsets, lengths: The bytes of each in the file, from which `Table.cell` reads it again; of
            length 0 where it cannot, and none where no row can.
        bad: Rows among them that cannot be read, and are in no column.
        keys: By row the names that it states, where not every row states all; else none.
        next_line, next_offset: Where the row behind them begins.
        path: Of the file where their bytes lie; "" is the table's own.
    """

    columns: dict[str, list[Any]]
    lines: Sequence[int]
    offsets: Sequence[int] = ()
    lengths: Sequence[int] = ()
    bad: Sequence[BadRow] = ()
    keys: Sequence[Collection[str]] = ()
    next_line: int = 0
    next_offset: int = 0
    path: str = ""

    def __len__(self) -> int:
        return len(self.lines)

    def part(self, start: int, stop: int) -> "Batch":
        """Some of the rows that can be read, with the columns that they state."""
        part = slice(start, stop)
        keys = self.keys[part]
        names = frozenset().union(*keys) if keys else self.columns
        return Batch(
            columns={name: each[part] for name, each in self.columns.items() if name in names},
            lines=self.lines[part],
            offsets=self.offsets[part],
            lengths=self.lengths[part],
            keys=keys,
            path=self.path,
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
    """The rows of a table that begin in a range of it.

    Attributes:
        table: The table.
        start: The first position, where a row need not begin: a byte of text.
        end: The position behind the last; it may be beyond the table's end.
    """

    table: "Table"
    start: int
    end: int


class Form(NamedTuple):
    """What a table says of one of its columns.

    Attributes:
        media: "image" or "audio" where it holds encoded files; else "".
        convert: Makes the values of its rows as JSON has them of what the file holds; of files not
            asked.
        classes: The names of its classes, or those of the boxes in it, by number.
        is_nested: Whether its values are written as texts in JSON.
    """

    media: str = ""
    convert: Callable[[Any], list[Any]] = list
    classes: tuple[str, ...] = ()
    is_nested: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Table(abc.ABC):
    """One file of rows, whatever form it has.

    Positions in it are what its ranges are cut by: bytes of text; of others, the numbers of rows or
    of groups of rows.

    Attributes:
        manifest: The file.
        header: The names of its columns, "" for one that is left out; empty where rows state them.
        cells: What a user says of the values.
        forms: What the table itself says of columns, by name.
        numbering: What stands between the file and a row's number in what the row is called, and
            the number of the first line.
        is_typed: Whether values have types; else all of them are texts.
        has_sources: Whether records say which row they come from; else their keys do.
    """

    is_typed: ClassVar[bool] = True
    has_sources: ClassVar[bool] = True

    manifest: Manifest
    header: tuple[str, ...] = ()
    cells: Cells = AS_THEY_ARE
    forms: Mapping[str, Form] = dataclasses.field(default_factory=dict)
    numbering: tuple[str, int] = (":", 1)

    @property
    def is_packed(self) -> bool:
        """Whether the bytes of its rows lie nowhere, so that they cannot be read again."""
        return False

    @abc.abstractmethod
    def ranges(self, range_bytes: int = RANGE_BYTES, scratch: str = "") -> list["Range"]:
        """The ranges that many workers read at once.

        Args:
            range_bytes: Of each, about; 4 or more, for a byte order mark belongs to the first line.
            scratch: The folder into which a compressed file is unpacked; "" reads it whole.

        Raises:
            DataError: It is compressed, and cut short or damaged.
            RecordError: It cannot be used, but others may.
        """

    @abc.abstractmethod
    def batches(self, start: int, end: int, block_bytes: int = BLOCK_BYTES) -> Iterator[Batch]:
        """The rows that begin in [start, end), of which there may be none; empty ones are skipped.

        Args:
            start: A position at which a row begins.
            end: Where the range ends; its last row may go on behind that.
            block_bytes: What is read at once.

        Raises:
            ConfigError, DataError, RecordError: It cannot be read.
        """

    def row(self, line: int) -> str:
        """What the row on a line, from 1, is called: in messages, and where nothing names it."""
        sign, first = self.numbering
        return f"{self.manifest.relative}{sign}{line - 1 + first}"

    def bare(self, only: Collection[str] = ()) -> "Table":
        """The table without the files in it, which only records need.

        Args:
            only: The columns that are asked for, where others need not be read; empty for all.
        """
        return self

    def other_columns(
        self, columns: Columns, kinds: Mapping[str, Kind | None]
    ) -> list[FeatureColumn]:
        """The columns that are features of their own name, of these kinds."""
        return other_columns(columns, kinds, self.header)

    def first_row(self, start: int) -> int:
        """Where the first row begins that begins at `start` or behind it.

        It may be a guess: ranges are believed only where each ends as the next begins.
        """
        return start

    def skim(self, start: int, end: int) -> tuple[int, int]:
        """(lines, position): how many lines the rows of [start, end) have, and where they end."""
        line, behind = 0, start
        for batch in self.batches(start, end):
            line, behind = batch.next_line, batch.next_offset
        return line, behind

    def cell(self, column: str) -> Callable[[bytes], Any]:
        """Reads the value of one column from the bytes of a row; pickles in a few bytes."""
        raise NotImplementedError(f"rows of {self.manifest.path} have no bytes of their own")


# What goes along with ranges, to be told of with the records.
Other = Rejected | DeclaredClasses


def whole(table: Table) -> Range:
    """A table as one range."""
    return Range(table, 0, sys.maxsize)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextTable(Table):
    """A table that is text, in which a row begins with a line.

    Attributes:
        made_by: Makes text of a file that is none; None of one that is.
        part: What of the file that is, where it may be one of several.
    """

    made_by: TextOf | None = None
    part: str = ""

    @property
    def is_packed(self) -> bool:
        """As `Table.is_packed`."""
        return self.made_by is not None or is_compressed(self.manifest.path)

    def ranges(self, range_bytes: int = RANGE_BYTES, scratch: str = "") -> list[Range]:
        """As `Table.ranges`."""
        table, path = self, self.manifest.path
        if scratch and (self.is_packed or storage.is_deflated(path)):
            path = unpacked(path, self.part, scratch, text_of(path, self.made_by))
            manifest = dataclasses.replace(self.manifest, path=path)
            table = dataclasses.replace(self, manifest=manifest, made_by=None)
        size = None if table.is_packed else storage.size(path)
        if size is None:
            return [whole(table)]
        return [
            Range(table, start, start + range_bytes)
            for start in range(0, max(size, 1), range_bytes)
        ]

    def first_row(self, start: int) -> int:
        """As `Table.first_row`, where no row goes on in another line."""
        if not start:
            return 0
        block = next(read_blocks(self.manifest.path, start), None)
        return block.starts[0] if block else storage.size(self.manifest.path) or 0

    def skim(self, start: int, end: int) -> tuple[int, int]:
        """As `Table.skim`, where no row goes on in another line."""
        num_lines, behind, _ = count_lines(self.manifest.path, start, end, self.made_by)
        return num_lines, behind

    def batch_of(
        self,
        columns: dict[str, list[Any]],
        places: Sequence[tuple[int, int]],
        lines: tuple[int, int],
        starts: Sequence[int],
        bad: Sequence[BadRow] = (),
        keys: Sequence[Collection[str]] = (),
    ) -> Batch:
        """The rows that begin in some lines, whose cells are made ready.

        Args:
            columns: By name what the rows have.
            places: Of each row its first of these lines and the one behind it.
            lines: The number of the first of these lines, and how many they are.
            starts: The byte at which each begins, and the one behind them.
            bad, keys: As those of `Batch`.
        """
        first, count = lines
        self.cells.prepare(columns, None if self.is_typed else "")
        return Batch(
            columns=columns,
            lines=[first + line for line, _ in places],
            offsets=[starts[line] for line, _ in places],
            lengths=[starts[behind] - starts[line] for line, behind in places],
            bad=bad,
            keys=keys,
            next_line=first + count,
            next_offset=starts[count],
        )
