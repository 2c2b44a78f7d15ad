"""The rows of a manifest, whatever form it is written in."""

import abc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from beam_pipeline.sources.columns.column import Columns
from beam_pipeline.sources.columns.kinds import Kind
from beam_pipeline.sources.manifest.lines import Block

MALFORMED = "malformed annotation"
CHUNK_ROWS = 1024
CHUNK_BYTES = 2 << 20


class Row(NamedTuple):
    """One row as it is written.

    Attributes:
        line: The line that it starts on; the first of those that are read is 0.
        offset, length: Its bytes in the file, with the end of its last line.
        values: By column; text in CSV, any JSON value in JSON Lines.
    """

    line: int
    offset: int
    length: int
    values: dict[str, Any]

    @property
    def end(self) -> int:
        """The byte behind its last line."""
        return self.offset + self.length


class BadRow(NamedTuple):
    """A row that cannot be read.

    Attributes:
        line: The line that it starts on; the first of those that are read is 0.
        end: The byte behind its last line.
        detail: Why.
    """

    line: int
    end: int
    detail: str


class RowRest(NamedTuple):
    """What a range begins with, of a row that begins before it.

    Attributes:
        end: The byte behind its last line.
    """

    end: int


def in_chunks(
    rows: Iterable[Row | BadRow | RowRest],
) -> Iterator[tuple[list[Row], list[BadRow]]]:
    """Rows whose columns are looked at together: some hundred, and few where they are long."""
    good: list[Row] = []
    bad: list[BadRow] = []
    num_bytes = 0
    for row in rows:
        if isinstance(row, Row):
            good.append(row)
            num_bytes += row.length
        elif isinstance(row, BadRow):
            bad.append(row)
        if len(good) == CHUNK_ROWS or len(bad) == CHUNK_ROWS or num_bytes >= CHUNK_BYTES:
            yield good, bad
            good, bad, num_bytes = [], [], 0
    yield good, bad


class RowForm(abc.ABC):
    """How the rows of one manifest are written: CSV in one of its dialects, or JSON Lines.

    Attributes:
        spans_lines: Whether a row that has quotes may have several lines.
    """

    spans_lines: ClassVar[bool]

    @abc.abstractmethod
    def rows(
        self, blocks: Iterator[Block], end: int, *, in_row: bool = False
    ) -> Iterator[Row | BadRow | RowRest]:
        """The rows that start before the byte `end`; empty lines are skipped.

        Args:
            blocks: The lines from where they are to be read, until `end` and further: a row
                may have several.
            end: Where the range ends.
            in_row: Whether the first line goes on with a row; its rest comes first.
        """

    @abc.abstractmethod
    def cell(self, column: str) -> Callable[[bytes], Any]:
        """Reads the value of one column from the bytes of a row; pickles in a few bytes."""

    @abc.abstractmethod
    def check(self, rows: Sequence[Mapping[str, Any]], columns: Columns) -> None:
        """Raises RecordError where a row has a value that no feature can be made of."""

    @abc.abstractmethod
    def kinds(self, rows: Sequence[Mapping[str, Any]], columns: Columns) -> dict[str, Kind | None]:
        """The kinds of the columns of `rows`.

        Raises:
            RecordError: A row has a value that cannot be used.
        """


def is_stated(value: Any) -> bool:
    """Whether a row has a value: neither null nor blank."""
    return value is not None and str(value).strip() != ""


def is_unicode(text: str) -> bool:
    """Whether a text came from UTF-8 and holds no half of a character's escape."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
