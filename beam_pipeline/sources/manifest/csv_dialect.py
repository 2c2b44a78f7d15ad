"""How a CSV file is written: its delimiter, its header, and quotes that enclose no field."""

import csv
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from beam_pipeline.errors import ConfigError
from beam_pipeline.schema.names import check_number
from beam_pipeline.sources.manifest.lines import MAX_LINE_BYTES, read_blocks
from beam_pipeline.sources.paths import media_kind, suffix, uncompressed

_FRACTION = re.compile(r"-?[0-9]*\.[0-9]+|-[0-9]+")
_QUOTED = re.compile(r'"([^"]|"")*"')
# Of those that a line has as many of, the first: texts hold the others more often.
_DELIMITERS = "\t|;,"
_HEADERLESS = "if there is no header line, name the columns with --column-names"


class Dialect(NamedTuple):
    """How rows are written.

    Attributes:
        num_columns: How many fields a row has.
        delimiter: What separates them.
        skips_spaces: Whether blanks behind a delimiter belong to no field.
    """

    num_columns: int
    delimiter: str
    skips_spaces: bool

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


def dialect_of(path: str, column_names: Sequence[str] = ()) -> tuple[list[str], Dialect]:
    """The names of a CSV file's columns, "" for one that is left out, and its dialect.

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
    return header, Dialect(len(header), delimiter, f"{delimiter} " in first)


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
