"""CSV and TSV files: rows that may hold line ends in quotes, and quotes that do not pair."""

import bisect
import contextlib
import csv
import dataclasses
import functools
import io
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.manifest.csv_dialect import Dialect
from beam_pipeline.sources.manifest.lines import (
    BLOCK_BYTES,
    MAX_LINE_BYTES,
    Block,
    as_utf8,
    count_lines,
    read_blocks,
)
from beam_pipeline.sources.manifest.table import BATCH_ROWS, BadRow, Batch, Table, TextTable
from tfrecord_dataset.shown_text import is_unicode

# So many rows within quotes are no text, even where the quotes pair.
_MANY_LINES = 10
# So many rows tell whether a range begins within quotes.
_TELLING_ROWS = 100
# Bytes that are read once more, in one range, behind quotes that are not closed; then a row has
# one line.
_MAX_AGAIN_BYTES = 8 * MAX_LINE_BYTES


class RowTooLongError(Exception):
    """A row has lines and lines, since a quote is not closed."""


class Lines:
    """The lines of a file from a byte on, but for those that were dropped.

    Attributes:
        number: Of the first line that is kept, from 0.
        texts: The lines from there on that are loaded.
        starts: The byte at which each begins, and then the one at which the last ends.
        is_unicode: Whether all lines so far were UTF-8.
    """

    def __init__(self, blocks: Iterator[Block], dialect: Dialect):
        self._blocks = blocks
        self._dialect = dialect
        self._again_bytes = 0
        self.number = 0
        self.texts: list[str] = []
        self.starts: list[int] = []
        self.is_unicode = True

    def before(self, end: int) -> int:
        """How many lines are loaded that begin before the byte `end`; 0 if none does."""
        if not self.texts and (block := next(self._blocks, None)):
            self._take(block)
        return bisect.bisect_left(self.starts, end, hi=len(self.texts))

    def drop(self, count: int) -> None:
        """Forgets so many lines."""
        del self.texts[:count], self.starts[:count]
        self.number += count

    def go_back(self, line: int, behind: int) -> None:
        """Counts what is read once more: what is behind a row's first line, up to a line."""
        self._again_bytes += self.starts[behind] - self.starts[line + 1]

    def following(self, ends: Sequence[int]) -> Iterator[str]:
        """The lines from the last of `ends` on; one alone, once too much was read again.

        Args:
            ends: The lines behind the rows so far: the last is where the next begins.

        Raises:
            RowTooLongError: When that row has more than any line may have.
        """
        if self._again_bytes > _MAX_AGAIN_BYTES:
            return iter([self.texts[ends[-1]]])
        loaded = map(self.texts.__getitem__, range(ends[-1], len(self.texts)))
        return itertools.chain(loaded, itertools.chain.from_iterable(self._later(ends)))

    def _later(self, ends: Sequence[int]) -> Iterator[list[str]]:
        for block in self._blocks:
            is_too_long = self.starts[-1] - self.starts[ends[-1]] > MAX_LINE_BYTES
            first = len(self.texts)
            self._take(block)
            if is_too_long:
                raise RowTooLongError("a quote is not closed")
            yield self.texts[first:]

    def _take(self, block: Block) -> None:
        mends = block.has_quotes and self._dialect.may_have_stray_quotes
        lines = map(self._dialect.mended, block.lines) if mends else block.lines
        self.is_unicode = self.is_unicode and block.is_unicode
        self.texts.extend(lines)
        self.starts[-1:] = block.starts


@dataclasses.dataclass(frozen=True, kw_only=True)
class CsvTable(TextTable):
    """One file of CSV.

    Attributes:
        dialect: How its rows are written.
        has_header: Whether the file's first row is the header.
    """

    is_typed = False

    dialect: Dialect
    has_header: bool

    def batches(self, start: int, end: int, block_bytes: int = BLOCK_BYTES) -> Iterator[Batch]:
        """As `Table.batches`; where quotes do not pair, a row ends with its first line."""
        lines = Lines(read_blocks(self.manifest.path, start, block_bytes), self.dialect)
        for _ in range(0 if start else self.dialect.num_before):
            lines.before(end)
            lines.drop(1)
        if not start and self.has_header and lines.before(end):
            reader = self.dialect.reader(lines.following([0]))
            with contextlib.suppress(csv.Error, RowTooLongError):
                next(reader)
            lines.drop(reader.line_num)
        while count := lines.before(end):
            batch = self._regular(lines, min(count, BATCH_ROWS))
            if batch is None:
                batch = self._batch(lines, *self._rows(lines, count))
            yield batch
            lines.drop(batch.next_line - lines.number)

    def _rows(self, lines: Lines, count: int) -> tuple[list[list[str]], list[int], list[str]]:
        """Some of the rows that begin in the first `count` lines, from the first of these on.

        Returns:
            The fields of each; 0 and the line behind each; and why it cannot be read, else "".
        """
        rows: list[list[str]] = []
        faults: list[str] = []
        ends, first = [0], 0
        reader: Any = None
        while ends[-1] < count and len(rows) < BATCH_ROWS:
            line, fault = ends[-1], ""
            fields: Any = []
            if reader is None:
                first, reader = line, self.dialect.reader(lines.following(ends))
            try:
                if (fields := next(reader, None)) is None:
                    reader = None
                    continue
            except RowTooLongError as error:
                fault = str(error)
            except csv.Error as error:
                fault = f"{error}; quote a field that contains a quote, and double that quote"
            behind = first + reader.line_num
            why = self._unclosed(fields, fault, lines, (line, behind)) if behind - line > 1 else ""
            if why:
                lines.go_back(line, behind)
                fault, behind = why, line + 1
            rows.append(fields)
            faults.append(fault)
            ends.append(behind)
            reader = None if fault else reader
        return rows, ends, faults

    def _unclosed(
        self, fields: Sequence[str], fault: str, lines: Lines, place: tuple[int, int]
    ) -> str:
        """Why the first line of a row is one by itself; "" where the row has all its lines.

        A quote that is never closed pairs with the next one, on some later line, and all that
        lies between would be one field. So what comes of such a row tells.
        """
        line, behind = place
        odd = bool(fault) or lines.starts[behind] - lines.starts[line] > MAX_LINE_BYTES
        if not odd and len(self.header) > 1:
            at_least = 1 if len(fields) != len(self.header) else _MANY_LINES
            odd = behind - line - 2 >= at_least and all(
                map(self._is_row, lines.texts[line + 1 : behind - 1])
            )
        return odd * (
            f"a quote opens that is not closed where a field ends, in {behind - line:,} lines; the "
            "lines behind the first are read as rows of their own. Close it, or double a quote "
            "within a quoted field"
        )

    def _is_row(self, text: str) -> bool:
        """Whether a line is a whole row by itself."""
        try:
            return len(next(self.dialect.reader([text]), [])) == len(self.header)
        except csv.Error:
            return False

    def _batch(
        self, lines: Lines, rows: list[list[str]], ends: Sequence[int], faults: Sequence[str]
    ) -> Batch:
        """Rows as columns, but for those that cannot be used."""
        bad: list[BadRow] = []
        places = list(itertools.pairwise(ends))
        width = len(self.header)
        if any(faults) or not lines.is_unicode or width == 1 or {*map(len, rows)} != {width}:
            whys = [
                fault or self._fault(fields, lines.is_unicode)
                for fields, fault in zip(rows, faults, strict=True)
            ]
            for fields, (line, _), why in zip(rows, places, whys, strict=True):
                if why:
                    shown = f": {self.dialect.delimiter.join(fields)[:200]!a}" if fields else ""
                    bad.append(BadRow(lines.number + line, why + shown))
            good = [why == "" for why in whys]
            rows = list(itertools.compress(rows, good))
            places = list(itertools.compress(places, good))
        columns = self._by_name(map(list, zip(*rows, strict=True)))
        return self.batch_of(columns, places, (lines.number, ends[-1]), lines.starts, bad)

    def _by_name(self, columns: Iterable[list[str]]) -> dict[str, list[str]]:
        """The columns that have a name; there are none where there are no rows."""
        return {name: each for name, each in zip(self.header, columns, strict=False) if name}

    def _regular(self, lines: Lines, count: int) -> Batch | None:
        """The first `count` lines, where each is a row without quotes; else None.

        Fields are then what lies between delimiters, three times as fast as Python's reader.
        """
        delimiter, width = self.dialect.delimiter, len(self.header)
        texts = lines.texts[:count]
        text = "".join(texts).replace("\r\n", "\n").removesuffix("\n")
        if '"' in text or "\r" in text or not lines.is_unicode:
            return None
        if width == 1 or {each.count(delimiter) for each in texts} != {width - 1}:
            return None
        fields = text.replace("\n", delimiter).split(delimiter)
        if self.dialect.skips_spaces:
            fields = [field.lstrip(" ") for field in fields]
        places = list(itertools.pairwise(range(count + 1)))
        columns = self._by_name(fields[number::width] for number in range(width))
        return self.batch_of(columns, places, (lines.number, count), lines.starts)

    def _fault(self, fields: Sequence[str], unicode: bool) -> str | None:
        """Why a row cannot be used; "" where it can, None where there is nothing in it."""
        if not fields or fields == [""]:
            return None
        if len(fields) != len(self.header):
            return f"{len(fields)} fields where the header has {len(self.header)}"
        text = "" if unicode else self.dialect.delimiter.join(fields)
        if unicode or is_unicode(text):
            return ""
        return f"not UTF-8; {as_utf8(self.manifest.path, text.encode(errors='surrogateescape'))}"

    def first_row(self, start: int) -> int:
        """As `Table.first_row`: of the two readings the one whose rows and quotes fit."""
        block = next(read_blocks(self.manifest.path, start), None) if start else None
        if block is None or not block.has_quotes:
            return super().first_row(start)
        lines = list(map(self.dialect.mended, block.lines))
        readings = [self._reading(lines, in_row=in_row) for in_row in (False, True)]
        *_, first = max(readings, key=operator.itemgetter(0, 1))
        return block.starts[first]

    def _reading(self, lines: Sequence[str], *, in_row: bool) -> tuple[bool, bool, int]:
        """How a range reads whose first line begins a row, or goes on with one in quotes.

        Returns:
            Whether the rows are right, whether their quotes pair, and the line of the first.
        """
        first, is_right = 0, True
        reader = self.dialect.reader([f'"{lines[0]}', *lines[1:]] if in_row else lines)
        try:
            if in_row:
                next(reader)
                first = reader.line_num
            widths = {len(fields) for fields in itertools.islice(reader, _TELLING_ROWS)}
            is_right = widths <= {0, len(self.header)}
        except csv.Error:
            is_right = False
        quotes = sum(line.count('"') for line in lines[: reader.line_num]) + in_row
        return is_right, quotes % 2 == 0, first

    def skim(self, start: int, end: int) -> tuple[int, int]:
        """As `Table.skim`."""
        num_lines, behind, has_quotes = count_lines(self.manifest.path, start, end)
        return Table.skim(self, start, end) if has_quotes else (num_lines, behind)

    def cell(self, column: str) -> Callable[[bytes], str]:
        """As `Table.cell`."""
        return functools.partial(_read_cell, number=self.header.index(column), dialect=self.dialect)


def _read_cell(data: bytes, number: int, dialect: Dialect) -> str:
    """The field `number` of one row that was read before."""
    lines = map(dialect.mended, io.StringIO(data.decode(), newline="\n"))
    try:
        return str(next(dialect.reader(lines))[number])
    except (csv.Error, StopIteration, IndexError) as error:
        raise malformed(f"the row is another than before: {error}") from error
