"""How a CSV file is written: its delimiter, its header, and quotes that enclose no field."""

import contextlib
import csv
import itertools
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from beam_pipeline.errors import ConfigError
from beam_pipeline.schema.names import check_number
from beam_pipeline.sources.manifest.csv_header import (
    NUMBER,
    cell_of_data,
    check_title,
    names_seen,
    prelude_of,
)
from beam_pipeline.sources.manifest.lines import MAX_LINE_BYTES, read_blocks
from beam_pipeline.sources.paths import kind_of_all, media_kind, suffix, uncompressed
from beam_pipeline.sources.splits import is_partition

_QUOTED = re.compile(r'"([^"]|"")*"')
# Of those that a line has as many of, the first: texts hold the others more often.
_DELIMITERS = "\t|;,"
# Rows of a box each without header: files, numbers and texts in their order; whose; the columns.
_BOXES = {
    "FNNNNT": ("keras-retinanet's", "image,xmin,ymin,xmax,ymax,label"),
    "FNNNNN": ("Stanford Cars'", "image,xmin,ymin,xmax,ymax,label"),
    "FNNNNTNN": ("SKU-110K's", "image,xmin,ymin,xmax,ymax,label,width,height"),
    "TNNNNFNN": ("makesense.ai's", "label,x,y,w,h,image,width,height"),
}
_NAMED = "name the columns with --column-names"
_HEADERLESS = f"if there is no header line, {_NAMED}, or pass --no-header"
_ROWS = 100
_FEWEST_ROWS = 2


class Dialect(NamedTuple):
    """How rows are written.

    Attributes:
        num_columns: How many fields a row has.
        delimiter: What separates them.
        skips_spaces: Whether blanks behind a delimiter belong to no field.
        num_before: How many lines lie before the header, or before the first row without one.
    """

    num_columns: int
    delimiter: str
    skips_spaces: bool
    num_before: int = 0

    @property
    def may_have_stray_quotes(self) -> bool:
        """Whether such tables are written with quotes that enclose no field."""
        return self.delimiter in "\t|"

    def reader(self, lines: Iterable[str]) -> Any:
        """Python's reader of the rows; its errors are `csv.Error`s."""
        csv.field_size_limit(2 * MAX_LINE_BYTES)  # Python's own default is 131,072
        # Strict, or a quote that is never closed swallows the rest of the file.
        return csv.reader(
            lines, delimiter=self.delimiter, strict=True, skipinitialspace=self.skips_spaces
        )

    def mended(self, line: str) -> str:
        """A line as the reader wants it: quotes that enclose no field written as a CSV's.

        Tables of tabs have such: Common Voice, GLUE, LJ Speech.
        """
        if not self.may_have_stray_quotes or '"' not in line:
            return line
        text = line.rstrip("\r\n")
        if text.count(self.delimiter) + 1 != self.num_columns:
            return line
        fields = [
            f'"{field.replace(chr(34), chr(34) * 2)}"'
            if field.startswith('"') and not _QUOTED.fullmatch(field)
            else field
            for field in text.split(self.delimiter)
        ]
        return self.delimiter.join(fields) + line[len(text) :]


def dialect_of(
    path: str, column_names: Sequence[str] = (), *, no_header: bool = False
) -> tuple[list[str], Dialect]:
    """The names of a CSV file's columns, "" for one that is left out, and its dialect.

    The delimiter is the one of comma, semicolon, tab and bar that the first line has most of, or,
    blanks among them, that gives as many fields as there are `column_names`; a tab in a .tsv file.
    Columns without a name, such as pandas's index, are left out, but for one of files.

    Args:
        path: The file.
        column_names: The header, where the file has no such line.
        no_header: Whether it has none, so that columns are called "column_1", "column_2", ….

    Raises:
        ConfigError: The file is empty, has a name twice, or begins with a row of data.
        DataError: It has too many columns.
    """
    lines = itertools.chain.from_iterable(block.lines for block in read_blocks(path))
    prelude = prelude_of(lines, _DELIMITERS)
    first, headerless = prelude.first, bool(column_names) or no_header
    if prelude.first != prelude.row:  # a comment
        first = prelude.row if headerless else first
        lines = lines if headerless else itertools.chain([prelude.row], lines)
    delimiter = prelude.delimiter or _delimiter(path, first, len(column_names))
    header = list(column_names)
    if not header:
        header, rows = _first_row(path, first, lines, delimiter)
        check_title(path, header, rows)
        _check_blanks(path, header, rows)
        if no_header:
            header = [f"column_{number}" for number in range(1, len(header) + 1)]
        else:
            _check_header(path, header, rows)
            header = _with_files(header, rows)
    check_number(header, path)
    names = [name for name in header if name]
    if twice := {name for name, count in Counter(names).items() if count > 1}:
        raise ConfigError(
            f"{path} has the column {min(twice)!r} twice: rename one, or, {_HEADERLESS}"
        )
    num_before = prelude.num_lines + (first is prelude.row and first is not prelude.first)
    return header, Dialect(len(header), delimiter, f"{delimiter} " in prelude.row, num_before)


def _first_row(
    path: str, first: str, later: Iterator[str], delimiter: str
) -> tuple[list[str], list[list[str]]]:
    """The cells of the first row, and some rows below it, as far as they can be read."""
    reader = csv.reader(itertools.chain([first], later), delimiter=delimiter, strict=True)
    try:
        names = next(reader, []) if first else []
    except csv.Error as error:
        raise ConfigError(
            f"{path} has no header line that can be read: {error}; save it with line ends of LF or "
            f"CRLF, and quotes that pair, or, {_HEADERLESS}"
        ) from error
    rows: list[list[str]] = []
    with contextlib.suppress(csv.Error):  # the rows are read again
        rows += itertools.islice(reader, _ROWS)
    header = [name.strip() for name in names]
    if not header:
        raise ConfigError(f"{path} is empty, or its first line is")
    return header, rows


def _check_header(path: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Raises ConfigError where the first row is data, or the number of rows."""
    if len(header) == 1 and header[0].isdecimal() and rows and len(rows[0][0].split()) > 1:
        raise ConfigError(own_list_as_csv(path))
    if found := cell_of_data(header, rows):
        cell, why = found
        shown = ", ".join(map(repr, header[:10]))
        if boxes := _BOXES.get("".join(map(_sort, header))):
            headerless = f"if each row has a box, as {boxes[0]} do, pass --column-names {boxes[1]}"
        else:
            names = ",".join(names_seen([header, *rows]))
            named = f"name the columns, as by --column-names {shlex.quote(names)}"
            headerless = _HEADERLESS.replace(_NAMED, named) if names else _HEADERLESS
            headerless += ", else rename such columns"
        raise ConfigError(
            f"{path} begins with {shown}, of which {cell!r} is no name of a column, since {why}: "
            f"{headerless}"
        )


def _check_blanks(path: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Raises ConfigError where nothing but blanks is between columns, of which two hold numbers."""
    lines = [header, *rows]
    if len(rows) < _FEWEST_ROWS or any(len(row) != 1 for row in lines):
        return
    fields = [row[0].split() for row in lines]
    numbers = [sum(NUMBER.fullmatch(field) is not None for field in row) for row in fields[1:]]
    if len(fields[0]) > 2 and min(numbers) > 1:
        table = shlex.quote(f"{path.removesuffix(f'.{suffix(path)}')}-with-commas.csv")
        raise ConfigError(
            f"{path} has blanks between its columns, such as {header[0]!r}: name them by "
            "--column-names, where there is no header and one blank between two; else write it as "
            "CSV, such as by sed -E 's/^ +//; s/\\r?$//; s/ +$//; s/ +/,/g' "
            f"{shlex.quote(path)} > {table}"
        )


def _with_files(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The header with the kind of file as the name of a column that has none, and names files."""
    names = list(header)
    for at, name in enumerate(header):
        values = [] if name else [row[at] for row in rows if len(row) == len(header)]
        if (kind := kind_of_all(values)) and kind not in names:
            names[at] = kind
    return names


def _sort(cell: str) -> str:
    """Of a cell: N for a number, F for a file, T for another text."""
    return "N" if cell.strip().isdecimal() else "F" if media_kind(cell) else "T"


def own_list_as_csv(path: str) -> str:
    """What is said of one of CelebA's own lists, with the command that mends it."""
    table = shlex.quote(f"{path.removesuffix('.txt')}.csv")
    return (
        f"{path} begins with the number of its rows, and has blanks between its columns, as "
        "CelebA's own lists: write it as CSV, such as by sed -E '1d; 2s/^(image_id)? */image_id /; "
        f"s/\\r?$//; s/ +$//; s/ +/,/g' {shlex.quote(path)} > {table}"
    )


def _delimiter(path: str, first: str, num_columns: int = 0) -> str:
    """What separates the fields of the line `first`, where there may be so many columns."""
    if suffix(uncompressed(path)) == "tsv":
        return "\t"
    fitting = [each for each in f"{_DELIMITERS} " if first.count(each) + 1 == num_columns]
    possible = fitting or [each for each in _DELIMITERS if each in first]
    return max(possible, key=first.count, default=",")


def columns_of_list(path: str) -> list[str]:
    """The columns of a text with a file and its class a line, and no header; none of others.

    A third one, of texts, is left out: DCASE's lists have the recording that a part is of.
    """
    if suffix(path) != "txt" or is_partition(path):
        return []
    lines = itertools.chain.from_iterable(block.lines for block in read_blocks(path))
    first = [line.strip("\r\n") for line in itertools.islice(lines, _ROWS)]
    for delimiter in f"{_DELIMITERS} ":
        rows = [line.split(delimiter) for line in first]
        widths = {*map(len, rows)}
        is_wide = (
            delimiter == "\t" and widths == {3} and not any(row[2].isdecimal() for row in rows)
        )
        if (widths == {2} or is_wide) and all(
            row[1].strip() and row[1][0] not in "[{" and not media_kind(row[1]) for row in rows
        ):
            labels = [row[1] for row in rows]
            are_classes = all(map(str.isdecimal, labels)) or len({*labels}) < len(labels)
            if are_classes and (kind := kind_of_all(row[0] for row in rows)):
                return [kind, "label", *([""] if is_wide else [])]
    return []


def list_named(path: str, start: bytes) -> str:
    """How a text is read that has a file and more than its class a line; "" if it is none."""
    lines = start.decode(errors="replace").splitlines()
    for delimiter in f"{_DELIMITERS} ":
        rows = [line.strip().split(delimiter) for line in lines[:_ROWS]]
        if len(rows) > 1 and len({*map(len, rows)}) == 1 and len(rows[0]) > 2:
            names = names_seen(rows)
            if {*names} & {"image", "audio"}:
                named = shlex.quote(",".join(names))
                return f"give {shlex.quote(path)} with --layout csv --column-names {named}"
    return ""


def is_like_table(start: bytes) -> bool:
    """Whether all whole lines at the start of a file have as many delimiters, at least one."""
    try:
        lines = start.decode().splitlines()[:-1][:_ROWS]
    except UnicodeDecodeError:
        return False
    if len(lines) < 2:
        return False
    counts = ({line.count(each) for line in lines} for each in _DELIMITERS)
    return any(len(of_all) == 1 and 0 not in of_all for of_all in counts)


def read_as_table(name: str, path: str) -> str:
    """How a file is read whose suffix is no table's."""
    return (
        f"{name} is like a table by its first lines: to read it, give {path} with --layout csv, "
        "and with --no-header if its first line is a row"
    )
