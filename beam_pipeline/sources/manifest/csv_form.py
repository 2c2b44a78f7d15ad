"""Rows of CSV and TSV files, in the dialects that people write."""

import csv
import dataclasses
import functools
import io
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.schema.names import check_number
from beam_pipeline.sources.columns.column import Columns
from beam_pipeline.sources.columns.column_kinds import kind_of_texts
from beam_pipeline.sources.columns.kinds import Kind
from beam_pipeline.sources.manifest.cells import AS_THEY_ARE, Cells
from beam_pipeline.sources.manifest.csv_lines import Lines, RowTooLongError
from beam_pipeline.sources.manifest.lines import MAX_LINE_BYTES, Block, read_blocks
from beam_pipeline.sources.manifest.rows import (
    MALFORMED,
    BadRow,
    Row,
    RowForm,
    RowRest,
    is_unicode,
)
from beam_pipeline.sources.paths import media_kind, suffix, uncompressed

_FRACTION = re.compile(r"-?[0-9]*\.[0-9]+|-[0-9]+")
# So many rows within quotes are no text, even where the quotes pair.
_MANY_LINES = 10
_QUOTED = re.compile(r'"([^"]|"")*"')
# Of those that a line has as many of, the first: texts hold the others more often.
_DELIMITERS = "\t|;,"
_HEADERLESS = "if there is no header line, name the columns with --column-names"


@dataclasses.dataclass(frozen=True)
class CsvForm(RowForm):
    """One dialect of CSV.

    Attributes:
        header: The names of the columns; "" for one that is left out.
        delimiter: What separates the fields.
        skips_spaces: Whether blanks behind a delimiter belong to no field.
        header_line: Whether the file's first row is the header.
        cells: What a user says of the values.
    """

    spans_lines = True

    header: tuple[str, ...]
    delimiter: str
    skips_spaces: bool
    header_line: bool
    cells: Cells = AS_THEY_ARE

    def rows(
        self, blocks: Iterator[Block], end: int, *, in_row: bool = False
    ) -> Iterator[Row | BadRow | RowRest]:
        lines = Lines(blocks, self._mended)
        if not lines.begin(end, in_row=in_row):
            return
        is_header = self.header_line and lines.begin_file
        start_of, prepare = lines.start_of, self.cells.prepare
        line, base, reader = 0, 0, self._reader(lines.following(0))
        while (offset := start_of(line)) < end:
            lines.row = line
            fields: list[str] = []
            fault = ""
            try:
                fields = next(reader)
            except StopIteration:
                if not lines.has(line):
                    return
                base, reader = line, self._reader(lines.following(line))
                continue
            except RowTooLongError as error:
                fault = str(error)
            except csv.Error as error:
                fault = f"{error}; quote a field that contains a quote, and double that quote"
            behind = base + reader.line_num
            if line == 0 and (in_row or is_header):
                if in_row:
                    yield RowRest(start_of(behind))
            else:
                if behind - line > 1 and (why := self._unclosed(fields, fault, lines, behind)):
                    lines.go_back(behind)
                    behind, fault = line + 1, why
                length = start_of(behind) - offset
                if fault or (fields and fields != [""]):
                    fault = fault or self._fault(fields, lines.is_unicode)
                    if fault:
                        yield self._bad_row(line, offset + length, fields, fault)
                    else:
                        values = dict(zip(self.header, fields, strict=True))
                        values.pop("", None)
                        prepare(values, "")
                        yield Row(line, offset, length, values)
            line = behind
            if fault:
                base, reader = line, self._reader(lines.following(line))

    def _unclosed(self, fields: Sequence[str], fault: str, lines: Lines, behind: int) -> str:
        """Why the first line of a row is one by itself; "" where the row has all its lines.

        A quote that is never closed pairs with the next one, on some later line, and all that
        lies between would be one field. So what comes of such a row tells.
        """
        line = lines.row
        odd = bool(fault) or lines.start_of(behind) - lines.start_of(line) > MAX_LINE_BYTES
        if not odd and len(self.header) > 1:
            at_least = 1 if len(fields) != len(self.header) else _MANY_LINES
            odd = behind - line - 2 >= at_least and all(
                self._is_row(lines.text(each)) for each in range(line + 1, behind - 1)
            )
        return odd * (
            f"a quote opens that is not closed where a field ends, in {behind - line:,} lines; the "
            "lines behind the first are read as rows of their own. Close it, or double a quote "
            "within a quoted field"
        )

    def _is_row(self, text: str) -> bool:
        """Whether a line is a whole row by itself."""
        try:
            return len(next(self._reader([text]), [])) == len(self.header)
        except csv.Error:
            return False

    def _reader(self, lines: Iterable[str]) -> Any:
        return _reader(lines, self.delimiter, self.skips_spaces)

    def _fault(self, fields: Sequence[str], unicode: bool) -> str:
        if len(fields) != len(self.header):
            return f"{len(fields)} fields where the header has {len(self.header)}"
        return "" if unicode or is_unicode("".join(fields)) else "not UTF-8; save it as UTF-8"

    def _bad_row(self, line: int, end: int, fields: Sequence[str], fault: str) -> BadRow:
        shown = f": {self.delimiter.join(fields)[:200]!a}" if fields else ""
        return BadRow(line, end, fault + shown)

    def _mended(self, line: str) -> str:
        return _with_stray_quotes(line, self.delimiter, len(self.header))

    def cell(self, column: str) -> Callable[[bytes], Any]:
        return functools.partial(
            _read_cell,
            number=self.header.index(column),
            num_columns=len(self.header),
            delimiter=self.delimiter,
            skips_spaces=self.skips_spaces,
        )

    def check(self, rows: Sequence[Mapping[str, Any]], columns: Columns) -> None:
        """Texts are what any feature can be made of."""

    def kinds(self, rows: Sequence[Mapping[str, Any]], columns: Columns) -> dict[str, Kind | None]:
        """Of labels too, which may be lists."""
        taken = columns.taken.difference(column for _, column in columns.labels)
        return {
            name: kind_of_texts([row[name] for row in rows])
            for name in (rows[0] if rows else ())
            if name not in taken
        }


def _reader(lines: Any, delimiter: str, skips_spaces: bool) -> Any:
    csv.field_size_limit(2 * MAX_LINE_BYTES)  # Python's own default is 131,072
    # Strict, or a quote that is never closed swallows the rest of the file.
    return csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=skips_spaces)


def _read_cell(
    data: bytes, number: int, num_columns: int, delimiter: str, skips_spaces: bool
) -> str:
    """The field `number` of one row that was read before."""
    lines = (
        _with_stray_quotes(line, delimiter, num_columns)
        for line in io.StringIO(data.decode(), newline="\n")
    )
    try:
        return str(next(_reader(lines, delimiter, skips_spaces))[number])
    except (csv.Error, StopIteration, IndexError) as error:
        raise RecordError(MALFORMED, f"the row is another than before: {error}") from error


def csv_form(path: str, column_names: Sequence[str] = ()) -> CsvForm:
    """The dialect of a CSV file, by its first lines.

    The delimiter is the one of comma, semicolon, tab and bar that the first line has most of, or
    that gives as many fields as there are `column_names`; a tab in a .tsv file. Columns without
    a name, such as pandas's index, are left out.

    Args:
        path: The file.
        column_names: The header, where the file has no such line.

    Raises:
        ConfigError: The file is empty, has a name twice, or begins with a row of data.
        DataError: It has too many columns.
    """
    lines = itertools.chain.from_iterable(block.lines for block in read_blocks(path))
    first = next(lines, "")
    header = _header(path, first, lines, column_names)
    delimiter = _delimiter(path, first, len(column_names))
    return CsvForm(tuple(header), delimiter, f"{delimiter} " in first, not column_names)


def _header(path: str, first: str, later: Iterator[str], column_names: Sequence[str]) -> list[str]:
    """The names in the first row, or `column_names` where there is no such row."""
    try:
        lines = itertools.chain([first] if first else [], later)
        reader = csv.reader(lines, delimiter=_delimiter(path, first), strict=True)
        names = [] if column_names else next(reader, [])
    except csv.Error as error:
        raise ConfigError(
            f"{path} has no header line that can be read: {error}; save it with line ends of LF or "
            f"CRLF, and quotes that pair, or, {_HEADERLESS}"
        ) from error
    header = list(column_names) or [name.strip() for name in names]
    if not header:
        raise ConfigError(f"{path} is empty, or its first line is")
    check_number(header, path)
    shown = ", ".join(map(repr, header[:10]))
    if data := [name for name in header if media_kind(name) or _FRACTION.fullmatch(name)]:
        raise ConfigError(
            f"{path} begins with {shown}, of which {data[0]!r} is not the name of a column: "
            f"{_HEADERLESS}, else rename such columns"
        )
    numbers = [int(name) for name in header if re.fullmatch("[0-9]{1,18}", name)]
    if numbers != sorted(set(numbers)):
        raise ConfigError(
            f"{path} begins with {shown}: numbers name columns where each is larger than the one "
            f"before; {_HEADERLESS}, else rename such columns"
        )
    names = [name for name in header if name]
    if twice := {name for name, count in Counter(names).items() if count > 1}:
        raise ConfigError(
            f"{path} has the column {min(twice)!r} twice: rename one, or, {_HEADERLESS}"
        )
    return header


def _delimiter(path: str, first: str, num_columns: int = 0) -> str:
    """What separates the fields of the line `first`, where there may be so many columns."""
    if suffix(uncompressed(path)) == "tsv":
        return "\t"
    fitting = [each for each in _DELIMITERS if first.count(each) + 1 == num_columns]
    possible = fitting or [each for each in _DELIMITERS if each in first]
    return max(possible, key=first.count, default=",")


def _with_stray_quotes(line: str, delimiter: str, num_columns: int) -> str:
    """A line of as many fields, with the quotes that enclose no field as a CSV writes them.

    So tables of tabs have them: Common Voice, GLUE, LJ Speech.
    """
    if delimiter not in "\t|" or '"' not in line:
        return line
    text = line.rstrip("\r\n")
    if text.count(delimiter) + 1 != num_columns:
        return line
    fields = [
        f'"{field.replace(chr(34), chr(34) * 2)}"'
        if field.startswith('"') and not _QUOTED.fullmatch(field)
        else field
        for field in text.split(delimiter)
    ]
    return delimiter.join(fields) + line[len(text) :]
