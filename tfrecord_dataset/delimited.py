"""Delimited text, such as CSV and TSV: its lines, its dialect, and its rows with their lines.

LF, CRLF and CR end a line; nothing else does. A field that begins with a double quote ends with the
next one that is not doubled, and a delimiter or the end of the line follows. A row that breaks this
rule costs its first line, and the next line begins another row.
"""

import codecs
import csv
import dataclasses
import io
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, AnyStr, NamedTuple

DEFAULT_ENCODING = "utf-8"
# Replaces bytes that cannot be decoded: a noncharacter, absent from texts (Unicode 23.7).
UNREADABLE = "\ufdd0"
# Longest line, and longest row of several lines.
MAX_CHARACTERS = 8 << 20
BLOCK_BYTES = 1 << 20
_LINES = 100
# Characters of a line, on average, that is not read by Python's reader.
_LONG_LINE = 1_000
# Rows at a time: many lists at once are slow, since the garbage collector looks at each.
_ROWS = 128
# In a tie the first wins, since texts more often contain the others.
DELIMITERS = "\t|;,"
COMMENT = "#"
_EXCEL_SEPARATOR = re.compile(r"sep=([\t !#-~])\s*", re.IGNORECASE)
_QUOTED = re.compile(r'"(?:[^"]|"")*+"')
# Encodings that write line ends and quotes as ASCII does, and nothing else with these bytes.
_LIKE_ASCII = re.compile(r"utf-8(-sig)?|ascii|iso8859-\d+|cp125\d")
# A row of more lines than this, whose lines are rows, has an unclosed quote.
_MANY_LINES = 11

_ERRORS = "beam_tfrecords.unreadable"


def _unreadable(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return UNREADABLE, error.end


codecs.register_error(_ERRORS, _unreadable)


def decoder_of(encoding: str, offset: int = 0) -> codecs.IncrementalDecoder:
    """Return a decoder from an offset on that replaces unreadable bytes by `UNREADABLE`.

    At the beginning of a file it skips UTF-8's byte order mark.
    """
    if codecs.lookup(encoding).name in ("utf-8", "utf-8-sig"):
        encoding = "utf-8" if offset else "utf-8-sig"
    return codecs.getincrementaldecoder(encoding)(_ERRORS)


def decode(data: bytes, encoding: str = DEFAULT_ENCODING) -> str:
    """Decode the beginning of a file as `text_blocks` does.

    Raises:
        LookupError, UnicodeError: Python has no such encoding of texts.
    """
    data.decode(encoding, "replace")  # refuses codecs of other things, such as rot13
    return decoder_of(encoding).decode(data)


def lines_of(text: str) -> list[str]:
    """Split a text into lines, with their ends."""
    return io.StringIO(text, newline="").readlines()


def bare_lines(text: str) -> list[str]:
    """Split a text into lines, without their ends."""
    return [line.rstrip("\r\n") for line in lines_of(text)]


def text_blocks(
    handle: Any,
    encoding: str = DEFAULT_ENCODING,
    *,
    start: bytes = b"",
    offset: int = 0,
    at_most: int = MAX_CHARACTERS,
) -> Iterator[str]:
    """Decode a binary stream, whose bytes `start` were read before, in blocks of whole lines.

    From an `offset` of `row_places`, the blocks are those that the whole file has there.

    Raises:
        LongLineError: A line has over `at_most` characters.
    """
    decoder = decoder_of(encoding, offset)
    chunks = map(decoder.decode, itertools.chain([start], _chunks(handle, offset)))
    return _whole_lines(itertools.chain(chunks, _end_of(decoder)), at_most)


def _chunks(handle: Any, offset: int) -> Iterator[bytes]:
    """Read a stream in chunks that end at multiples of `BLOCK_BYTES` in its file."""
    while data := handle.read(BLOCK_BYTES - offset % BLOCK_BYTES):
        yield data
        offset += len(data)


def _end_of(decoder: codecs.IncrementalDecoder) -> Iterator[str]:
    yield decoder.decode(b"", final=True)


def _whole_lines(chunks: Iterable[AnyStr], at_most: int) -> Iterator[AnyStr]:
    """Join chunks of text into blocks of whole lines."""
    rest: AnyStr | None = None
    for chunk in chunks:
        lf, cr = ("\n", "\r") if isinstance(chunk, str) else (b"\n", b"\r")
        text = rest + chunk if rest else chunk
        # A CR at the end may be half of a line end.
        end = 1 + max(text.rfind(lf), text.rfind(cr, 0, -1))
        if end:
            yield text[:end]
        rest = text[end:]
        if len(rest) > at_most:
            raise LongLineError(f"a line of over {at_most >> 20} MiB; split it")
    if rest:
        yield rest


class LongLineError(ValueError):
    """A line that is too long to be read."""


class Fault(NamedTuple):
    """A line that is not read: its number, and the reason."""

    line: int
    detail: str


class RowBatch(NamedTuple):
    """Consecutive rows.

    Attributes:
        fields: Fields of each row; none for an empty line.
        lines: Number of each row's first line.
        faults: Lines among them that are in no row.
    """

    fields: list[list[str]]
    lines: Sequence[int]
    faults: Sequence[Fault]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Dialect of a delimited text.

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

    def fields_of(self, lines: Iterable[str]) -> Any:
        """Return Python's reader of `lines`, which raises `csv.Error` for what breaks the rule."""
        csv.field_size_limit(4 * MAX_CHARACTERS)  # Python's own default is 131,072
        return csv.reader(
            lines,
            delimiter=self.delimiter,
            quoting=csv.QUOTE_MINIMAL if self.has_quotes else csv.QUOTE_NONE,
            skipinitialspace=self.skips_spaces,
            strict=self.has_quotes,
        )


def read_rows(
    blocks: Iterable[str], dialect: Dialect, width: int | None = None, line: int = 0
) -> Iterator[Iterator[RowBatch]]:
    """Read the rows of each block of whole lines; rows of another `width` are faults.

    If the blocks are not the beginning of the text, `line` is the number of their first line.
    """
    reader = _RowReader(dialect, width, line)
    below = _below(blocks, 0 if line else dialect.num_before)
    for block, following in itertools.pairwise(itertools.chain(below, [None])):
        assert block is not None
        yield reader.rows(block, is_last=following is None)


def has_row_places(encoding: str) -> bool:
    """Return whether `row_places` can divide files in an encoding."""
    return _LIKE_ASCII.fullmatch(codecs.lookup(encoding).name) is not None


def row_places(
    handle: Any,
    dialect: Dialect,
    width: int | None = None,
    *,
    num_above: int = 0,
    at_most: int = MAX_CHARACTERS,
) -> Iterator[tuple[int, int]]:
    """Yield (offset, line) of places below the first `num_above` rows where a row begins.

    There is up to one a block of `text_blocks`; `read_rows` yields from there on the rows that it
    yields of the whole file. The last place is the end of the file.

    Raises:
        LongLineError: As in `text_blocks`.
    """
    reader, decoder = _RowReader(dialect, width), decoder_of(dialect.encoding)
    offset, above = 0, dialect.num_before
    for block in _whole_lines(_chunks(handle, 0), at_most):
        if not above and num_above <= 0 and not reader.is_within_row:
            yield offset, reader.line
        offset += len(block)
        lines = lines_of(decoder.decode(block)) if above else []
        text = "".join(lines[above:]) if above else decoder.decode(block)
        above -= min(above, len(lines))
        if num_above > 0:
            num_above -= sum(len(rows.lines) for rows in reader.rows(text, is_last=False))
        else:
            reader.skip(text)
    yield offset, reader.line


def first_rows(lines: Sequence[str], dialect: Dialect) -> RowBatch:
    """Read the first rows of a text's first lines, of any width."""
    below = lines[dialect.num_before :]
    is_last = len(below) <= _LINES
    parts = [*_RowReader(dialect, None).rows("".join(below[:_LINES]), is_last=is_last)]
    return RowBatch(
        [row for part in parts for row in part.fields],
        [line for part in parts for line in part.lines],
        [fault for part in parts for fault in part.faults],
    )


def _below(blocks: Iterable[str], num_lines: int) -> Iterator[str]:
    """Yield the blocks without their first lines."""
    for block in blocks:
        lines = lines_of(block) if num_lines else []
        block = "".join(lines[num_lines:]) if num_lines else block
        num_lines -= min(num_lines, len(lines))
        if block:
            yield block


class _RowReader:
    """Reads rows block by block.

    Attributes:
        dialect: The dialect.
        width: Number of fields of a row; None for any.
        line: Number of the next line; by default that below the lines above the rows.
    """

    def __init__(self, dialect: Dialect, width: int | None, line: int = 0) -> None:
        self.dialect, self.width = dialect, width
        self.line, self._rest = line or dialect.num_before + 1, ""

    @property
    def is_within_row(self) -> bool:
        """Whether the last block ends within a row."""
        return bool(self._rest)

    def skip(self, block: str) -> None:
        """Pass the rows that end in a block, which is not the last."""
        if self._rest or (self.dialect.has_quotes and '"' in block):
            for _ in self.rows(block, is_last=False):
                pass
        else:  # each line is a row
            self.line += block.count("\n") + block.count("\r") - block.count("\r\n")

    def rows(self, block: str, *, is_last: bool) -> Iterator[RowBatch]:
        """Yield the rows that end in a block, `_ROWS` at a time."""
        text, self._rest, done = self._rest + block, "", 0
        is_readable = UNREADABLE not in text
        parsed = self._long_lines(text) if is_readable else None
        parsed = parsed or self.dialect.fields_of(io.StringIO(text, newline=""))
        while fields := self._single_lines(parsed, done) if is_readable else None:
            bare = self._bare(fields) if '"' in text else fields
            yield RowBatch(bare, range(self.line, self.line + len(fields)), ())
            self.line += len(fields)
            done += len(fields)
        if fields is None:
            yield from self._checked(lines_of(text)[done:], is_last=is_last)

    def _long_lines(self, text: str) -> "_Parsed | None":
        """Split long lines at their quotes, in a tenth of the time of Python's reader.

        None if lines are short, end in several ways, or some row needs that reader.
        """
        number = text.count("\n")
        ending = "\r\n" if "\r" in text else "\n"
        are_alike = text.count(ending) == number and text.count("\r") in (0, number)
        if len(text) < _LONG_LINE * (number + 1) or self.dialect.skips_spaces or not are_alike:
            return None
        lines = text.split(ending)
        rows = [_split(line, self.dialect) for line in (lines if lines[-1] else lines[:-1])]
        known = [row for row in rows if row is not None]
        return _Parsed(known) if len(known) == len(rows) else None

    def _single_lines(self, parsed: Any, done: int) -> list[list[str]] | None:
        """Return the next rows; None if one is faulty or has several lines."""
        try:
            fields = [*itertools.islice(parsed, _ROWS)]
        except csv.Error:
            return None
        is_wide = self.width is None or {0, self.width}.issuperset(map(len, fields))
        return fields if is_wide and parsed.line_num == done + len(fields) else None

    def _checked(self, lines: Sequence[str], *, is_last: bool) -> Iterator[RowBatch]:
        """Yield the rows and faults of lines; keep the lines of an unfinished row."""
        fields, numbers, faults, used = list[list[str]](), list[int](), list[Fault](), 0
        for start, stop, row in self._parsed(lines, is_last=is_last):
            used = start + 1 if row is None else stop
            if fault := self._fault(lines[start:stop], row):
                faults.append(Fault(self.line + start, fault))
            elif row is not None:
                fields.append(row)
                numbers.append(self.line + start)
        self.line, self._rest = self.line + used, "".join(lines[used:])
        for at in range(0, max(1, len(fields)), _ROWS):
            bare = self._bare(fields[at : at + _ROWS])
            yield RowBatch(bare, numbers[at : at + _ROWS], () if at else faults)

    def _bare(self, rows: list[list[str]]) -> list[list[str]]:
        """Remove quotes that enclose a whole field if they enclose no delimiters."""
        if self.dialect.has_quotes:
            return rows
        return [[*map(_unquoted, row)] for row in rows]

    def _parsed(
        self, lines: Sequence[str], *, is_last: bool
    ) -> Iterator[tuple[int, int, list[str] | None]]:
        """Yield (start, stop, fields) of rows, without fields if a row breaks the rule at `stop`.

        Ends before a row that may continue in the next block.
        """
        source, again, start = iter(lines), list[str](), 0
        while start < len(lines):
            parsed = self.dialect.fields_of(itertools.chain(again, source))
            first = start
            try:
                for fields in parsed:
                    stop = first + parsed.line_num
                    if stop - start > _MANY_LINES and self._swallows(lines[start + 1 : stop - 1]):
                        break
                    yield start, stop, fields
                    start = stop
                else:
                    return
            except csv.Error:
                stop = first + parsed.line_num
                is_open = stop == len(lines) and not is_last
                if is_open and sum(map(len, lines[start:])) <= MAX_CHARACTERS:
                    return
            yield start, stop, None
            # These lines end inside of quotes in every reading that does not end within them, and
            # each such reading breaks the rule at `stop` too. So no line is read a third time.
            for at in range(start + 1, stop - 1):
                yield at, at + 1, self._alone(lines[at])
            start = max(start + 1, stop - 1)
            again = [*lines[start:stop]]

    def _alone(self, line: str) -> list[str] | None:
        try:
            return next(self.dialect.fields_of([line]))  # type: ignore[no-any-return]
        except csv.Error:
            return None

    def _swallows(self, inner: Sequence[str]) -> bool:
        """Whether lines within a row look like many rows."""
        if self.width in (None, 1):
            return False
        rows = map(self._alone, inner)
        return all(row is not None and len(row) == self.width for row in rows)

    def _fault(self, lines: Sequence[str], fields: Sequence[str] | None) -> str:
        """Return why lines are not one row; "" if they are."""
        if fields is None:
            is_open = self._alone(lines[0].rstrip("\r\n") + '"') is not None
            why = "a quote opens that is not closed" if is_open else "text after a closing quote"
            return f"{why}: {_shown(lines[0])}"
        text = "".join(lines)
        if fields and len(fields) != (self.width or len(fields)):
            over = f", in {len(lines):,} lines: is a quote not closed?" if lines[1:] else ""
            width = f"{len(fields)} fields where the header has {self.width}"
            return f"{width}{over}: {_shown(text)}"
        is_readable = UNREADABLE not in text
        return (
            ""
            if is_readable
            else f"not {self.dialect.encoding}; set encoding if the file has another"
        )


class _Parsed:
    """Rows of a line each, as Python's reader yields them."""

    def __init__(self, rows: Iterable[list[str]]) -> None:
        self._rows, self.line_num = iter(rows), 0

    def __iter__(self) -> Iterator[list[str]]:
        return self

    def __next__(self) -> list[str]:
        row = next(self._rows)
        self.line_num += 1
        return row


def _split(line: str, dialect: Dialect) -> list[str] | None:
    """Split a line into fields; None unless each of its quotes encloses a field or is doubled."""
    bare, *quoted = line.split('"') if dialect.has_quotes else [line]
    fields = bare.split(dialect.delimiter) if line else []
    parts: list[str] = []  # of the field between quotes
    for inside, after in zip(quoted[::2], quoted[1::2], strict=False):
        parts.append(inside)
        if after:
            enclosed, *following = after.split(dialect.delimiter)
            if fields[-1] or enclosed:
                return None
            fields[-1:] = ['"'.join(parts), *following]
            parts = []
    if len(quoted) % 2 or (parts and fields[-1]):
        return None
    fields[-1:] = ['"'.join(parts)] if parts else fields[-1:]
    return fields


def _shown(text: str) -> str:
    return ascii(text.rstrip("\r\n")[:200])


def _unquoted(field: str) -> str:
    """Remove quotes that enclose a whole field."""
    if field[:1] != '"' or not _QUOTED.fullmatch(field):
        return field
    return field[1:-1].replace('""', '"')


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
    fitting = [each for each in f"{DELIMITERS} " if first.count(each) + 1 == num_columns]
    possible = fitting or [each for each in DELIMITERS if each in first]
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


def header_names(row: Sequence[str]) -> list[str]:
    """Return the names of columns in a header."""
    return [name.strip().removeprefix(f"{COMMENT} ") for name in row]


def _num_comments(lines: Sequence[str]) -> int:
    """Count the "#" lines above the header; the last "#" line may itself be the header."""
    number = len([*itertools.takewhile(lambda line: line.startswith(COMMENT), lines)])
    if not number or not lines[number:]:
        return 0
    delimiter = max(DELIMITERS, key=lines[number].count)
    dialect = Dialect(delimiter=delimiter, skips_spaces=True)
    widths = [*map(len, first_rows(lines[number - 1 : number + 1], dialect).fields)]
    return number - (len(widths) == widths.count(widths[0]) == 2 and widths[0] > 1)


def _widths(dialect: Dialect, lines: Sequence[str]) -> set[int]:
    """Return the numbers of fields in the first rows, with 0 for a fault."""
    rows = first_rows(lines, dialect)
    return {len(row) for row in rows.fields if row} | ({0} if rows.faults else set())
