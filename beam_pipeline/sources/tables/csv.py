"""Read CSV and TSV files: cells are texts; an unreadable row is rejected with its line."""

import codecs
import csv
import dataclasses
import functools
import itertools
import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy
import numpy.typing as npt
import pyarrow
import pyarrow.compute as compute
import pyarrow.csv

from beam_pipeline.errors import ConfigError, DataError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.problems import Problem, ProblemError
from beam_pipeline.schema.conformance import check_number
from beam_pipeline.sources.json_items import MAX_ITEM_CHARACTERS
from beam_pipeline.sources.paths import kind_of_all, media_kind, suffix, uncompressed
from beam_pipeline.sources.tables.columns import CAPTIONS, IMAGE, lowered
from beam_pipeline.sources.tables.read_tables import ReadTables
from beam_pipeline.sources.tables.table import (
    BATCH_BYTES,
    BATCH_ROWS,
    BadRow,
    Batch,
    Cells,
    Scratch,
    Table,
    TableFile,
)

DEFAULT_ENCODING = "utf-8"
_HEAD_BYTES = 1 << 20  # enough for a header of 20,000 columns
# Block sizes: a row longer than the first size needs a block of the second. A block takes twenty
# times its size in memory.
_BLOCKS_BYTES = (1 << 20, BATCH_BYTES)
_ROWS = 100
# In a tie the first wins, since texts more often contain the others.
_DELIMITERS = "\t|;,"
_COMMENT = "#"
_EXCEL_SEPARATOR = re.compile(r"sep=([\t !#-~])\s*", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)")
_WHOLE, _DIGIT = re.compile("[0-9]{1,18}"), re.compile("[0-9]")
_DIGITS_OF_YEARS = 4
_FEWEST_NUMBERS = 3  # as names of columns
_UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_QUOTED = r'\A"([^"]|"")*"\z'
# Replaces bytes that cannot be decoded: a noncharacter, absent from texts (Unicode 23.7).
_UNREADABLE = "\ufdd0"
# Flickr8k's and Flickr30k's *.token: "x.jpg#0", a tab, and a caption.
_NUMBERED_CAPTION = re.compile(r"[^\t#]+\.\w{3,4}#\d+\t")
_LISTS = ("txt", "token")
# A quoted text that contains more rows than this is an unclosed quote.
_MANY_ROWS = 10

_ERRORS = "beam_tfrecords.unreadable"


def _unreadable(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return _UNREADABLE, error.end


codecs.register_error(_ERRORS, _unreadable)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Dialect of a CSV file.

    Attributes:
        has_quotes: Whether double quotes enclose fields.
        skips_spaces: Whether to skip spaces after a delimiter.
        has_header: Whether the first row names the columns.
        num_before: Number of lines above the first row.
        encoding: Python's name of the encoding.
    """

    delimiter: str = ","
    has_quotes: bool = True
    skips_spaces: bool = False
    has_header: bool = True
    num_before: int = 0
    encoding: str = DEFAULT_ENCODING

    def rows(self, lines: Sequence[str]) -> list[list[str]]:
        """Parse the first rows of lines."""
        csv.field_size_limit(2 * MAX_ITEM_CHARACTERS)  # Python's own default is 131,072
        quoting = csv.QUOTE_MINIMAL if self.has_quotes else csv.QUOTE_NONE
        reader = csv.reader(
            lines,
            delimiter=self.delimiter,
            quoting=quoting,  # type: ignore[arg-type]
            skipinitialspace=self.skips_spaces,
        )
        return list(itertools.islice(reader, _ROWS))


def dialect_of(lines: Sequence[str], *, is_tsv: bool, num_columns: int = 0) -> Dialect:
    """Detect the dialect from the first lines of a file.

    The delimiter is the tab, bar, semicolon, comma or space that splits the first line into
    `num_columns` fields, else the most frequent one except space. With tabs and bars, quotes are
    part of fields (Common Voice, GLUE), unless only quoting gives all rows the same width.
    (`csv.Sniffer` takes letters of texts for delimiters.)
    """
    num_before = _num_comments(lines)
    first = lines[num_before] if lines[num_before:] else ""
    if stated := _EXCEL_SEPARATOR.fullmatch(first):
        return Dialect(delimiter=stated[1], has_quotes=stated[1] not in "\t|", num_before=1)
    fitting = [each for each in f"{_DELIMITERS} " if first.count(each) + 1 == num_columns]
    possible = fitting or [each for each in _DELIMITERS if each in first]
    delimiter = "\t" if is_tsv else max(possible, key=first.count, default=",")
    dialect = Dialect(
        delimiter=delimiter,
        has_quotes=delimiter not in "\t|",
        skips_spaces=delimiter != " " and f"{delimiter} " in first,
        num_before=num_before,
    )
    quoted = dataclasses.replace(dialect, has_quotes=True)
    is_quoted = len(_widths(dialect, lines)) > 1 and len(_widths(quoted, lines)) == 1
    return quoted if is_quoted else dialect


def _num_comments(lines: Sequence[str]) -> int:
    """Count the "#" lines above the header; the last "#" line may itself be the header."""
    number = len([*itertools.takewhile(lambda line: line.startswith(_COMMENT), lines)])
    if not number or not lines[number:]:
        return 0
    delimiter = max(_DELIMITERS, key=lines[number].count)
    last, row = Dialect(delimiter=delimiter, skips_spaces=True).rows(lines[number - 1 : number + 1])
    return number - (len(last) == len(row) > 1)


def _widths(dialect: Dialect, lines: Sequence[str]) -> set[int]:
    return {len(row) for row in dialect.rows(lines[dialect.num_before :]) if row}


def header_of(rows: Sequence[Sequence[str]], path: str) -> list[str]:
    """Return the names of the columns in the first row; "" leaves a column out.

    Raises:
        ConfigError: There is no header, or it looks like a row of data.
    """
    names = [name.strip().removeprefix(f"{_COMMENT} ") for name in rows[0]] if rows else []
    if not any(names):
        raise ConfigError(f"{path} is empty, or its first line is; write the columns' names there")
    below = [row for row in rows[1:] if len(row) == len(names)]
    if cell := data_in(names, below):
        facts = {"path": path, "cell": cell}
        raise ProblemError(Problem(code="header is data", facts=facts, option="no_header"))
    for at, name in enumerate(names):  # pandas writes its index without a name
        if not name and (kind := kind_of_all(row[at] for row in below)) and kind not in names:
            names[at] = kind
    return names


def data_in(names: Sequence[str], below: Sequence[Sequence[str]]) -> str:
    """Return a cell of the first row `names` that cannot name a column; "" if all can."""
    below = [row for row in below if [*map(str.strip, row)] != [*names]]
    columns = zip(*below, strict=True) if below else [()] * len(names)
    numbers = [int(name) for name in names if _WHOLE.fullmatch(name)]  # years, pixels
    for name, column in zip(names, columns, strict=True):
        values = [text.strip() for text in column if text.strip()]
        if name and _is_data(name, values, is_alone=len(numbers) < _FEWEST_NUMBERS):
            return name
    return next((str(two) for one, two in itertools.pairwise(numbers) if two <= one), "")


def _is_data(name: str, values: Sequence[str], *, is_alone: bool) -> bool:
    """Return whether a cell looks like a value; `is_alone` if its row has few numbers."""
    if media_kind(name) or (_NUMBER.fullmatch(name) and not name.isdecimal()):
        return True
    if name in values and len(set(values)) < len(values):
        return True
    if _WHOLE.fullmatch(name) and is_alone and len(name) < _DIGITS_OF_YEARS:
        return bool(values) and all(map(_NUMBER.fullmatch, values))
    shapes = {_DIGIT.sub("0", value) for value in values}
    return len(values) > 1 and len(_DIGIT.findall(name)) > 1 and shapes == {_DIGIT.sub("0", name)}


class _Text:
    """A file converted to UTF-8, without byte order mark and with a final line end.

    Attributes:
        num_quotes: Number of double quotes so far.
        is_readable: Whether all bytes so far could be decoded.
    """

    closed = False

    def __init__(self, handle: Any, encoding: str) -> None:
        self._handle = handle
        self._is_utf_8 = codecs.lookup(encoding).name == "utf-8"
        name = "utf-8-sig" if self._is_utf_8 else encoding
        self._decoder = codecs.getincrementaldecoder(name)(_ERRORS)
        self._rest = b""
        self._is_at_end = False
        self.num_quotes = 0
        self.is_readable = True

    def read(self, num_bytes: int) -> bytes:
        """Read up to `num_bytes` bytes; none at the end."""
        while len(self._rest) < num_bytes and not self._is_at_end:
            data = self._handle.read(num_bytes)
            self._is_at_end = not data
            self._rest += self._as_utf_8(data) + b"\n" * self._is_at_end
        data, self._rest = self._rest[:num_bytes], self._rest[num_bytes:]
        self.num_quotes += data.count(b'"')
        return data

    def _as_utf_8(self, data: bytes) -> bytes:
        if self._is_utf_8 and data.isascii() and not any(self._decoder.getstate()):
            return data  # most blocks of most files
        text = self._decoder.decode(data, final=not data)
        self.is_readable = self.is_readable and _UNREADABLE not in text
        return text.encode()

    def close(self) -> None:
        """Do nothing: the caller that opened the file closes it."""


class _Block(NamedTuple):
    """Rows as the parser yields them.

    Attributes:
        columns: Fields by column.
        lines: First line of each row, int64 [n].
        newlines: Number of newlines in the fields by column, int64 [n]; empty without quotes.
    """

    columns: list[pyarrow.Array]
    lines: npt.NDArray[Any]
    newlines: Sequence[npt.NDArray[Any]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class CsvTable(Table):
    """A CSV file."""

    is_typed = False

    dialect: Dialect

    def rows(self, scratch: Scratch | None = None) -> Iterator[Batch]:
        """Read the rows unconverted; rows without any value are skipped."""
        path = self.file.path
        try:
            yield from self._in_small_blocks(path)
        except RecordError as error:
            raise DataError(f"{path} cannot be read ({error}); fetch it again") from error
        except pyarrow.ArrowInvalid as error:
            raise DataError(
                f"{path} cannot be read as CSV: a quote is not closed, or a row has over "
                f"{BATCH_BYTES >> 20} MiB; fix the row ({str(error)[:60]})"
            ) from error

    def _in_small_blocks(self, path: str) -> Iterator[Batch]:
        """Yield the rows of a file; from a row that needs a large block, read it again in these."""
        done = last = 0
        for block_bytes in _BLOCKS_BYTES:
            try:
                with storage.decompressed(path) as content:
                    for batch in self._batches(_Text(content, self.dialect.encoding), block_bytes):
                        yield batch.after(done)
                        last = max([last, *batch.lines[-1:], *(each.line for each in batch.bad)])
                return
            except pyarrow.ArrowInvalid:
                if block_bytes == _BLOCKS_BYTES[-1]:
                    raise
                done = last

    def _batches(self, text: _Text, block_bytes: int) -> Iterator[Batch]:
        bad: deque[tuple[int, str]] = deque()
        places = _Places(self.dialect.num_before + self.dialect.has_header + 1, bad)
        with _reader(text, self, block_bytes, bad) as reader:
            for read, following in itertools.pairwise(itertools.chain(reader, [None])):
                newlines = [*map(_newlines, read.columns)] if text.num_quotes else []
                lines, wrong = places.of(len(read), newlines)
                block = _Block(read.columns, numpy.array(lines, numpy.int64), newlines)
                faults = self._faults(block, text, is_last=following is None)
                yield from self._good(block, [*map(self._wrong_width, wrong), *faults], text)
        yield Batch(columns={}, lines=(), bad=[*map(self._wrong_width, places.wrong())])

    def _wrong_width(self, row: tuple[int, str]) -> BadRow:
        line, text = row
        # The parser treats quotes after spaces as letters.
        dialect = dataclasses.replace(self.dialect, skips_spaces=False)
        [fields] = dialect.rows([text.replace("\n", " ")])
        num_lines = text.count("\n") + 1
        quote = f", in {num_lines:,} lines: is a quote not closed?" if num_lines > 1 else ""
        width = f"{len(fields)} fields where the header has {len(self.header)}"
        return BadRow(line, f"{width}{quote}: {text[:200]!a}")

    def _faults(self, block: _Block, text: _Text, *, is_last: bool) -> Iterator[BadRow]:
        """Yield rows that cannot be decoded, or whose unclosed quote encloses other rows."""
        columns, lines, newlines = block
        if not text.is_readable:
            unreadable = [compute.match_substring(column, _UNREADABLE) for column in columns]
            for at in numpy.flatnonzero(functools.reduce(compute.or_, unreadable)).tolist():
                why = f"not {self.dialect.encoding}; set encoding if the file has another"
                yield BadRow(int(lines[at]), why)
        if is_last and text.num_quotes % 2 and columns[-1][-1].as_py().endswith("\n"):
            yield BadRow(int(lines[-1]), "a quote opens that is not closed before the file's end")
            return
        for column, counts in zip(columns, newlines, strict=False):
            for at in numpy.flatnonzero(counts > _MANY_ROWS).tolist():
                inner = str(column[at]).split("\n")[1:-1]
                widths = set(map(len, self.dialect.rows(inner)))
                if widths == {len(self.header)} != {1}:
                    why = f"a quote is not closed: {len(inner):,} rows are within it"
                    yield BadRow(int(lines[at]), why)

    def _good(self, block: _Block, faults: list[BadRow], text: _Text) -> Iterator[Batch]:
        """Yield the rows of a block that are neither empty nor faulty."""
        columns, lines, _ = block
        if self.dialect.skips_spaces:
            columns = [compute.utf8_ltrim(column, " ") for column in columns]
        if text.num_quotes and (self.dialect.skips_spaces or not self.dialect.has_quotes):
            columns = [_unquoted(column) for column in columns]
        keep = ~numpy.isin(lines, [fault.line for fault in faults])
        empty = [numpy.asarray(compute.equal(column, "")) for column in columns]
        keep &= ~functools.reduce(numpy.logical_and, empty)
        if not keep.all():
            columns, lines = [column.filter(keep) for column in columns], lines[keep]
        named = [(name, each) for name, each in zip(self.header, columns, strict=True) if name]
        for start in range(0, max(1, len(lines)), BATCH_ROWS):
            rows = {name: each.slice(start, BATCH_ROWS).to_pylist() for name, each in named}
            numbers = lines[start : start + BATCH_ROWS].tolist()
            yield Batch(columns=rows, lines=numbers, bad=() if start else faults)


def _newlines(column: pyarrow.Array) -> npt.NDArray[Any]:
    """Count the newlines of each text, int64 [n], much faster than Arrow's own search."""
    _, offsets, data = column.buffers()
    if not data:
        return numpy.zeros(len(column), numpy.int64)
    ends = numpy.frombuffer(offsets, numpy.int32)[column.offset : column.offset + len(column) + 1]
    line_ends = numpy.flatnonzero(numpy.frombuffer(data, numpy.uint8) == ord("\n"))
    return numpy.diff(numpy.searchsorted(line_ends, ends))


def _unquoted(column: pyarrow.Array) -> pyarrow.Array:
    """Remove quotes that enclose a whole field, and unescape doubled quotes inside."""
    is_quoted = compute.match_substring_regex(column, _QUOTED)
    if not compute.any(is_quoted).as_py():
        return column
    bare = compute.replace_substring(compute.utf8_slice_codeunits(column, 1, -1), '""', '"')
    return compute.if_else(is_quoted, bare, column)


def _reader(
    text: _Text, table: CsvTable, block_bytes: int, bad: deque[tuple[int, str]]
) -> pyarrow.csv.CSVStreamingReader:
    """Open a CSV file; add rows of another width with their numbers to `bad`."""

    def skip(row: Any) -> str:
        bad.append((row.number, row.text))
        return "skip"

    dialect, names = table.dialect, [str(number) for number in range(len(table.header))]
    return pyarrow.csv.open_csv(
        pyarrow.PythonFile(text, "r"),
        pyarrow.csv.ReadOptions(
            use_threads=False,  # with threads, rows have no numbers
            block_size=block_bytes,
            column_names=names,
            skip_rows=dialect.num_before,
            skip_rows_after_names=int(dialect.has_header),
        ),
        pyarrow.csv.ParseOptions(
            delimiter=dialect.delimiter,
            quote_char='"' if dialect.has_quotes else False,
            newlines_in_values=dialect.has_quotes,
            ignore_empty_lines=False,
            invalid_row_handler=skip,
        ),
        pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pyarrow.string()),
            strings_can_be_null=False,
            check_utf8=False,
        ),
    )


class _Places:
    """Line numbers of rows: rows are numbered from `first`, and may span several lines.

    The parser adds rows of another width to `bad`, with their numbers and texts.
    """

    def __init__(self, first: int, bad: deque[tuple[int, str]]) -> None:
        self._number = self._line = first
        self._bad = bad

    def of(
        self, num_rows: int, newlines: Sequence[npt.NDArray[Any]]
    ) -> tuple[list[int], list[tuple[int, str]]]:
        """Return the lines of a block's rows, and the lines and texts of rows of another width.

        Args:
            num_rows: Number of rows of the right width.
            newlines: Number of newlines in the cells by column, int64 [n]; empty for none.
        """
        lines, wrong = list[int](), list[tuple[int, str]]()
        inner = numpy.sum(newlines, axis=0).tolist() if newlines else itertools.repeat(0, num_rows)
        for more in inner:
            if self._bad:
                wrong += self.wrong()
            lines.append(self._line)
            self._number, self._line = self._number + 1, self._line + 1 + more
        return lines, wrong

    def wrong(self) -> Iterator[tuple[int, str]]:
        """Yield the lines and texts of the next rows if they have another width."""
        while self._bad and self._bad[0][0] == self._number:
            _, text = self._bad.popleft()
            yield self._line, text
            self._number, self._line = self._number + 1, self._line + 1 + text.count("\n")


def columns_of_list(lines: Sequence[str]) -> Sequence[str]:
    """Return the columns of a list without header, with a file and its class per line, or ()."""
    for delimiter in f"{_DELIMITERS} ":
        rows = [line.strip("\r\n").split(delimiter) for line in lines[:_ROWS]]
        if not rows or any(len(row) != 2 or not row[1].strip() for row in rows):
            continue
        labels = [row[1] for row in rows]
        are_classes = all(map(str.isdecimal, labels)) or len(set(labels)) < len(labels)
        if are_classes and not any(map(media_kind, labels)):
            kind = kind_of_all(row[0] for row in rows)
            return (kind, "label") if kind else ()
    return ()


def are_captions(lines: Sequence[str]) -> bool:
    """Return whether lines have the form "image#number", tab, caption."""
    return bool(lines) and all(map(_NUMBERED_CAPTION.match, lines[:_ROWS]))


def is_list(start: bytes) -> bool:
    """Return whether `start` begins a list of files with their classes or captions."""
    lines = start.decode("utf-8-sig", errors="replace").splitlines(keepends=True)
    lines = lines[:-1] if lines[1:] and not start.endswith(b"\n") else lines
    return bool(columns_of_list(lines)) or are_captions(lines) or _has_header(lines)


def _has_header(lines: Sequence[str]) -> bool:
    """Return whether the first line names columns of images and captions."""
    rows = dialect_of(lines, is_tsv=False).rows(lines[:1])
    names = {lowered(name) for row in rows for name in row}
    return not (names.isdisjoint(IMAGE) or names.isdisjoint(CAPTIONS))


def _first_lines(path: str, encoding: str) -> list[str]:
    try:
        with storage.decompressed(path) as content:
            data = bytes(content.read(_HEAD_BYTES))
    except RecordError as error:
        raise DataError(f"{path} cannot be read ({error}); fetch it again") from error
    if encoding == DEFAULT_ENCODING and data.startswith(_UTF_16_MARKS):
        facts = {"path": path, "encoding": "UTF-16"}
        question = Problem(code="encoding", facts=facts, option="encoding", choices=("utf-16",))
        raise ProblemError(question)
    name = "utf-8-sig" if encoding == DEFAULT_ENCODING else encoding
    try:
        lines = data.decode(name, _ERRORS).splitlines(keepends=True)
    except (LookupError, UnicodeError) as error:
        raise ConfigError(
            f"encoding {encoding!r} cannot be used ({error}); name one of Python's encodings of "
            "texts, such as utf-16 or cp1252"
        ) from error
    return lines[:-1] if len(data) == _HEAD_BYTES and lines[1:] else lines


@dataclasses.dataclass
class ReadCsv(ReadTables):
    """Read the rows of CSV or TSV files, one record per row.

    Attributes:
        column_names: Header for files without one; "" leaves a column out.
        no_header: Whether files have no header, so that columns are called "column_1", ….
        encoding: Python's name of the encoding.
    """

    suffixes = ("csv", "tsv")

    column_names: Sequence[str] = ()
    no_header: bool = False
    encoding: str = DEFAULT_ENCODING

    def opened(self, file: TableFile) -> Table:
        lines, ending = _first_lines(file.path, self.encoding), suffix(uncompressed(file.path))
        header, cells = list(self.column_names), Cells()
        if not header and not self.no_header and ending in _LISTS:
            header = [*columns_of_list(lines)]
            if are_captions(lines):
                header, cells = ["image", "caption"], Cells(numbered="image")
        dialect = dialect_of(lines, is_tsv=ending == "tsv", num_columns=len(header))
        rows = dialect.rows(lines[dialect.num_before :])
        if self.no_header and not header:
            header = [f"column_{number}" for number in range(1, len(rows[0] if rows else ()) + 1)]
        dialect = dataclasses.replace(dialect, has_header=not header, encoding=self.encoding)
        header = header or header_of(rows, file.path)
        if any(_UNREADABLE in name for name in header):
            facts = {"path": file.path, "encoding": self.encoding}
            raise ProblemError(Problem(code="header not decoded", facts=facts, option="encoding"))
        counts = Counter(filter(None, header))
        if twice := [name for name, count in counts.items() if count > 1]:
            raise ConfigError(f"{file.path} has the column {twice[0]!r} twice; rename one")
        check_number(header, file.path)
        return CsvTable(file=file, header=tuple(header), dialect=dialect, cells=cells)
