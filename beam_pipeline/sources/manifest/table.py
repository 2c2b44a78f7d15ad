"""A table: one file of rows, how it is cut into ranges, and the rows of a range in batches.

What its columns mean is said elsewhere, and alike for all tables (`columns`, `records`). A further
kind of table is a subclass of `Table`, and one of `read.ReadManifest` that opens it.
"""

import abc
import dataclasses
import functools
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import pyarrow
import pyarrow.compute as compute

from beam_pipeline.records import DeclaredClasses, Rejected
from beam_pipeline.sources.columns.column import Columns
from beam_pipeline.sources.columns.kinds import (
    Kind,
    kind_of_int,
    kind_of_json,
    kind_of_text,
    wider,
)
from beam_pipeline.sources.manifest.cells import AS_THEY_ARE, Cells
from beam_pipeline.sources.manifest.feature_columns import FeatureColumn, other_columns
from beam_pipeline.sources.manifest.files import Manifest
from beam_pipeline.sources.manifest.lines import BLOCK_BYTES

RANGE_BYTES = 16 << 20
# Rows whose columns are looked at together.
BATCH_ROWS = 1024
# Of so few digits that 64 bits hold each; the rest of `kinds.kind_of_text` is left to that.
_INTEGER = r"\A[+-]?(0|[1-9][0-9]{0,17})\z"
_FRACTION = (
    r"\A[+-]?((0|[1-9][0-9]*)\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\z"
    r"|\A[+-]?(0|[1-9][0-9]*)[eE][+-]?[0-9]+\z"
)


def kind_of_texts(texts: Sequence[str]) -> Kind | None:
    """What holds all fields of a column of a CSV: `kinds.kind_of_text` of each, and the widest."""
    column = pyarrow.array(texts, pyarrow.string())
    is_integer = compute.match_substring_regex(column, _INTEGER)
    rest = column.filter(compute.invert(is_integer))
    is_fraction = compute.match_substring_regex(rest, _FRACTION)
    others = rest.filter(compute.invert(is_fraction)).unique()
    kind: Kind | None = int if len(rest) < len(texts) else None
    if compute.any(is_fraction).as_py():
        kind = wider(kind, float)
    return _widest(kind, map(kind_of_text, map(str, others)))


def kind_of_values(values: Sequence[Any]) -> Kind | None:
    """The same of a column of JSON: `kinds.kind_of_json` of each, and the widest.

    Raises:
        RecordError: As `kinds.kind_of_json`.
    """
    types = set(map(type, values)) - {type(None)}
    if not types:
        return None
    if not types <= {int, float, bool, str}:
        return functools.reduce(wider, map(kind_of_json, values))
    if str in types:
        return str
    numbers = [value for value in values if type(value) is int] if int in types else [0]
    kind: Kind | None = wider(kind_of_int(min(numbers)), kind_of_int(max(numbers)))
    return wider(kind, float) if float in types else kind


def _widest(kind: Kind | None, others: Iterable[Kind | None]) -> Kind | None:
    for other in others:
        if kind is str:  # which holds all
            break
        kind = wider(kind, other)
    return kind


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
            length 0 where it cannot.
        bad: Rows among them that cannot be read, and are in no column.
        keys: By row the names that it states, where not every row states all; else none.
        next_line, next_offset: Where the row behind them begins.
        path: Of the file where their bytes lie; "" is the table's own.
    """

    columns: dict[str, list[Any]]
    lines: Sequence[int]
    offsets: Sequence[int]
    lengths: Sequence[int]
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Table(abc.ABC):
    """One file of rows, whatever form it has.

    Positions in it are what its ranges are cut by: bytes of text; of others, the numbers of rows or
    of groups of rows.

    Attributes:
        manifest: The file.
        header: The names of its columns, "" for one that is left out; empty where rows state them.
        cells: What a user says of the values.
        is_typed: Whether values have types; else all of them are texts.
        has_sources: Whether records say which row they come from; else their keys do.
    """

    is_typed: ClassVar[bool] = True
    has_sources: ClassVar[bool] = True

    manifest: Manifest
    header: tuple[str, ...] = ()
    cells: Cells = AS_THEY_ARE

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
        return f"{self.manifest.relative}:{line}"

    def of(self, names: Collection[str]) -> "Table":
        """The table with these columns alone, where that spares reading the others."""
        return self

    def bare(self) -> "Table":
        """The table without the files in it, which only records need."""
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

    def kind_of(self, values: Sequence[Any]) -> Kind | None:
        """The kind of a column that holds `values`; raises RecordError where there is none."""
        return kind_of_values(values) if self.is_typed else kind_of_texts(values)

    def cell(self, column: str) -> Callable[[bytes], Any]:
        """Reads the value of one column from the bytes of a row; pickles in a few bytes."""
        raise NotImplementedError(f"rows of {self.manifest.path} have no bytes of their own")


# What goes along with ranges, to be told of with the records.
Other = Rejected | DeclaredClasses


def whole(table: Table) -> Range:
    """A table as one range."""
    return Range(table, 0, sys.maxsize)
