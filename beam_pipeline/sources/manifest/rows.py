"""Reads the rows of CSV, TSV and JSON Lines files, one after the other, with their lines."""

import csv
import gzip
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from beam_pipeline.errors import ConfigError, DataError
from beam_pipeline.files import storage
from beam_pipeline.records import Rejected
from beam_pipeline.sources.paths import media_kind, suffix, uncompressed

MALFORMED = "malformed annotation"
_BYTE_ORDER_MARK = "\ufeff"
# Pixels and tokens take many; no Example can have so many.
_MAX_FIELD_CHARACTERS = 1 << 30
_FRACTION = re.compile(r"-?[0-9]*\.[0-9]+|-[0-9]+")
_QUOTED = re.compile(r'"([^"]|"")*"')
# Of those that a line has as many of, the first: texts hold the others more often.
_DELIMITERS = "\t|;,"
_HEADERLESS = "if there is no header line, name the columns with --column-names"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class Row(NamedTuple):
    """One row as it is written.

    Attributes:
        line: The line that it starts on, from 1.
        values: By column; text in CSV, any JSON value in JSON Lines.
    """

    line: int
    values: dict[str, Any]


def is_stated(value: Any) -> bool:
    """Whether a row has a value: neither null nor blank."""
    return value is not None and str(value).strip() != ""


def read_lines(path: str) -> Iterator[str]:
    """The lines of a text file with their ends; bytes that are not UTF-8 become surrogates.

    Compressed files are decompressed by their suffix.

    Raises:
        ConfigError: The file is UTF-16.
        DataError: It is compressed, and cut short or damaged.
    """
    for number, line in enumerate(_raw_lines(path)):
        text = line.decode("utf-8", errors="surrogateescape")
        if number == 0:
            if line.startswith(_UTF_16_MARKS):
                raise ConfigError(f"{path} is UTF-16: save it as UTF-8")
            text = text.removeprefix(_BYTE_ORDER_MARK)
        yield text


def _raw_lines(path: str) -> Iterator[bytes]:
    with storage.decompressed(path) as lines:
        try:
            yield from lines
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DataError(f"{path} cannot be decompressed ({error}); fetch it again") from error


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def csv_header(path: str, column_names: Sequence[str] = ()) -> list[str]:
    """The names in the first line, or `column_names` where there is no such line.

    Raises:
        ConfigError: The file is empty, has a name twice, or begins with a row of data.
    """
    first = next(read_lines(path), "")
    try:
        reader = csv.reader(read_lines(path), delimiter=_delimiter(path, first), strict=True)
        names = [] if column_names else next(reader, [])
    except csv.Error as error:
        raise ConfigError(
            f"{path} has no header line that can be read: {error}; save it with line ends of LF or "
            f"CRLF, and quotes that pair, or, {_HEADERLESS}"
        ) from error
    header = list(column_names) or [name.strip() for name in names]
    if not header:
        raise ConfigError(f"{path} is empty, or its first line is")
    shown = ", ".join(map(repr, header[:10]))
    if data := [name for name in header if media_kind(name) or _FRACTION.fullmatch(name)]:
        raise ConfigError(
            f"{path} begins with {shown}, of which {data[0]!r} is no column's name: {_HEADERLESS}, "
            "else rename such columns"
        )
    numbers = [int(name) for name in header if name.isascii() and name.isdigit()]
    if numbers != sorted(set(numbers)):
        raise ConfigError(
            f"{path} begins with {shown}: numbers name columns where each is larger than the one "
            f"before; {_HEADERLESS}, else rename such columns"
        )
    named = [name for name in header if name]
    if twice := {name for name in named if named.count(name) > 1}:
        raise ConfigError(
            f"{path} has the column {min(twice)!r} twice: rename one, or, {_HEADERLESS}"
        )
    return header


def _delimiter(path: str, first: str, num_columns: int = 0) -> str:
    """What separates the fields of the line `first`, where there may be so many columns."""
    if suffix(uncompressed(path)) == "tsv":
        return "\t"
    fitting = [each for each in _DELIMITERS if first.count(each) + 1 == num_columns]
    found = fitting or [each for each in _DELIMITERS if each in first]
    return max(found, key=first.count, default=",")


def _with_stray_quotes(line: str, delimiter: str, num_columns: int) -> str:
    """A line of as many fields, with the quotes that enclose no field as a CSV writes them.

    So tables of tabs have them: Common Voice, GLUE, LJ Speech.
    """
    text = line.rstrip("\r\n")
    if '"' not in text or text.count(delimiter) + 1 != num_columns:
        return line
    fields = [
        f'"{field.replace(chr(34), chr(34) * 2)}"'
        if field.startswith('"') and not _QUOTED.fullmatch(field)
        else field
        for field in text.split(delimiter)
    ]
    return delimiter.join(fields) + line[len(text) :]


def csv_rows(
    path: str, relative: str, column_names: Sequence[str] = ()
) -> Iterator[Row | Rejected]:
    """The rows of a CSV file; empty lines are skipped.

    Fields may be quoted and may then hold line ends. The delimiter is the one of comma,
    semicolon, tab and bar that the first line has most of, or that gives as many fields as there
    are `column_names`; a tab in a .tsv file. Columns without a name, such as pandas's index, are
    left out.

    Args:
        path: The file.
        relative: Its name in messages.
        column_names: Of a file without a header line.
    """
    csv.field_size_limit(_MAX_FIELD_CHARACTERS)  # Python's own default is 131,072
    header = csv_header(path, column_names)
    first = next(read_lines(path), "")
    delimiter = _delimiter(path, first, len(column_names))
    lines = read_lines(path)
    if delimiter in "\t|":
        lines = (_with_stray_quotes(line, delimiter, len(header)) for line in lines)
    reader = csv.reader(
        lines,
        delimiter=delimiter,
        strict=True,  # else a quote that is never closed swallows the rest of the file
        skipinitialspace=f"{delimiter} " in first,
    )
    if not column_names:
        next(reader)
    while True:
        line = reader.line_num + 1
        fault = ""
        fields: list[str] = []
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            fault = f"{error}; a field with a quote in it is quoted, and that quote doubled"
        if not fault and (not fields or fields == [""]):
            continue
        if not fault and len(fields) != len(header):
            fault = f"{len(fields)} fields where the header has {len(header)}"
        if not fault and not _is_unicode("".join(fields)):
            fault = "not UTF-8, save it so"
        if fault:
            shown = f": {delimiter.join(fields)[:200]!a}" if fields else ""
            yield Rejected(source=f"{relative}:{line}", reason=MALFORMED, detail=fault + shown)
        else:
            values = dict(zip(header, fields, strict=True))
            values.pop("", None)
            yield Row(line, values)


def json_rows(path: str, relative: str) -> Iterator[Row | Rejected]:
    """The rows of a JSON Lines file: an object a line; empty lines are skipped."""
    for line, text in enumerate(read_lines(path), start=1):
        if not text.strip():
            continue
        fault = ""
        values: Any = None
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            fault = f"not JSON: {error}"
        if not fault and not isinstance(values, dict):
            fault = "not a JSON object"
        # An escape such as \ud800 alone is JSON, but no character.
        escaped = json.dumps(values, ensure_ascii=False) if "\\u" in text and not fault else ""
        if not _is_unicode(text) or not _is_unicode(escaped):
            fault = "not UTF-8"
        if fault:
            yield Rejected(
                source=f"{relative}:{line}",
                reason=MALFORMED,
                detail=f"{fault}: {text.strip()[:200]!a}",
            )
        else:
            values.pop("", None)
            yield Row(line, values)
