"""Read CSV and TSV files: cells are texts; an unreadable row is rejected with its line."""

import codecs
import dataclasses
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from beam_pipeline.batch import most_bytes
from beam_pipeline.errors import ConfigError, DataError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.problems import Problem, ProblemError
from beam_pipeline.schema.conformance import check_number
from beam_pipeline.sources.paths import kind_of_all, media_kind, suffix, uncompressed
from beam_pipeline.sources.tables.parts import Part, opened_text, parts_of_text
from beam_pipeline.sources.tables.read_tables import ReadTables
from beam_pipeline.sources.tables.table import (
    BATCH_ROWS,
    BadRow,
    Batch,
    Cells,
    Scratch,
    Table,
    TableFile,
)
from beam_pipeline.sources.tables.usual_columns import CAPTIONS, IMAGE, joined_names, lowered
from tfrecord_dataset.delimited import (
    BLOCK_BYTES,
    DEFAULT_ENCODING,
    DELIMITERS,
    UNREADABLE,
    Dialect,
    RowBatch,
    decode,
    dialect_of,
    first_rows,
    header_names,
    lines_of,
    read_rows,
    text_blocks,
)

_HEAD_BYTES = 1 << 20  # enough for a header of 20,000 columns
_ROWS = 100
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)")
_WHOLE, _DIGIT = re.compile("[0-9]{1,18}"), re.compile("[0-9]")
_DIGITS_OF_YEARS = 4
_FEWEST_NUMBERS = 3  # as names of columns
_UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# Flickr8k's and Flickr30k's *.token: "x.jpg#0", a tab, and a caption.
_NUMBERED_CAPTION = re.compile(r"[^\t#]+\.\w{3,4}#\d+\t")
_LISTS = ("txt", "token")


def header_of(first: RowBatch, path: str, num_rows: int = 1) -> list[str]:
    """Return the names of the columns in the first rows; "" leaves a column out.

    Raises:
        ConfigError: There is no header, its rows differ in length, or it looks like a row of data.
    """
    rows = [header_names(row) for row in first.fields[:num_rows]]
    if first.faults and first.faults[0].line < max(first.lines[:num_rows], default=math.inf):
        line, detail = first.faults[0]
        raise ConfigError(f"{path}:{line} is not a header: {detail}; correct the line")
    if not rows or not any(map(any, rows)):
        raise ConfigError(f"{path} is empty, or its first line is; write the columns' names there")
    if widths := [len(row) for row in rows if len(row) != len(rows[0])]:
        raise ConfigError(
            f"{path}: the {num_rows} header rows have {len(rows[0])} and {widths[0]} fields; "
            "correct header_rows, or give each row a field for each column"
        )
    names = joined_names(rows)
    below = [row for row in first.fields[num_rows:] if len(row) == len(names)]
    if num_rows == 1 and (cell := data_in(names, below)):
        facts = {"path": path, "cell": cell}
        raise ProblemError(Problem(code="header is data", facts=facts, option="no_header"))
    for at, name in enumerate(names):  # pandas writes its index without a name
        if not name and (kind := kind_of_all(row[at] for row in below)) and kind not in names:
            names[at] = kind
    return names


def _aligned(header: list[str], below: Sequence[Sequence[str]]) -> list[str]:
    """Add or leave out empty names at the end, so that there is one for each field of the rows."""
    widths = {len(row) for row in below if row}
    if widths == {len(header) + 1} and not any(row[-1].strip() for row in below if row):
        return [*header, ""]
    return header[: max(widths)] if widths and not any(header[max(widths) :]) else header


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


class _Batch:
    """A batch that grows; rows without any value are left out."""

    def __init__(self, header: Sequence[str]) -> None:
        self._header = header
        self._columns: list[list[str]] = [[] for _ in header]
        self._bad: list[BadRow] = []
        self.lines: list[int] = []

    def add(self, rows: RowBatch, num_above: int) -> None:
        """Add the rows below the first `num_above`."""
        fields, lines = rows.fields[num_above:], rows.lines[num_above:]
        if not all(keep := [*map(any, fields)]):
            fields = [*itertools.compress(fields, keep)]
            lines = [*itertools.compress(lines, keep)]
        if fields:
            for column, values in zip(self._columns, zip(*fields, strict=True), strict=True):
                column.extend(values)
        self.lines += lines
        self._bad += [BadRow(*fault) for fault in rows.faults]

    def made(self) -> Batch:
        """Return the batch."""
        named = zip(self._header, self._columns, strict=True)
        columns = {name: column for name, column in named if name}
        return Batch(columns=columns, lines=self.lines, bad=self._bad)


@dataclasses.dataclass(frozen=True, kw_only=True)
class CsvTable(Table):
    """A CSV file, with `num_above` rows of a header."""

    is_typed = False

    dialect: Dialect
    num_above: int = 1

    def rows(self, scratch: Scratch | None = None) -> Iterator[Batch]:
        """Read the rows unconverted; rows without any value are skipped."""
        part = self.part
        num_above = 0 if part.start else self.num_above
        blocks_at_once = most_bytes(len(self.header), BLOCK_BYTES) // BLOCK_BYTES
        with opened_text(self.file.path, part) as content:
            blocks = text_blocks(content, self.dialect.encoding, offset=part.start)
            batch = _Batch(self.header)
            read = read_rows(blocks, self.dialect, len(self.header), part.row)
            for number, block in enumerate(read, 1):
                for rows in block:
                    batch.add(rows, num_above)
                    num_above -= min(num_above, len(rows.lines))
                    if len(batch.lines) >= BATCH_ROWS:
                        yield batch.made()
                        batch = _Batch(self.header)
                if number % blocks_at_once == 0:
                    yield batch.made()
                    batch = _Batch(self.header)
            yield batch.made()

    def smallest_parts(self) -> Iterator[Part]:
        return parts_of_text(
            self.file.path, self.dialect, len(self.header), num_above=self.num_above
        )


def columns_of_list(lines: Sequence[str]) -> Sequence[str]:
    """Return the columns of a list without header, with a file and its class per line, or ()."""
    for delimiter in f"{DELIMITERS} ":
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
    lines = _whole_lines(start)
    return bool(columns_of_list(lines)) or are_captions(lines) or _has_header(lines)


def has_rows(start: bytes) -> bool:
    """Return whether the lines that `start` begins with are rows of as many fields, two or more.

    Two lines of prose may be, so it takes three.
    """
    lines = _whole_lines(start) if b"\0" not in start else []
    rows = first_rows(lines, dialect_of(lines, is_tsv=False))
    widths = {len(row) for row in rows.fields if row}
    return len(rows.fields) > 2 and not rows.faults and len(widths) == 1 and widths != {1}


def _whole_lines(start: bytes) -> list[str]:
    lines = lines_of(decode(start))
    return lines[:-1] if lines[1:] and not lines[-1].endswith("\n") else lines


def _has_header(lines: Sequence[str]) -> bool:
    """Return whether the first line names columns of images and captions."""
    rows = first_rows(lines[:1], dialect_of(lines, is_tsv=False)).fields
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
    try:
        lines = lines_of(decode(data, encoding))
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
        header_rows: Number of rows of names, which are joined.
        encoding: Python's name of the encoding.
    """

    suffixes = ("csv", "tsv")

    column_names: Sequence[str] = ()
    no_header: bool = False
    header_rows: int = 1
    encoding: str = DEFAULT_ENCODING

    def opened(self, file: TableFile) -> Table:
        lines, ending = _first_lines(file.path, self.encoding), suffix(uncompressed(file.path))
        header, cells = list(self.column_names), Cells()
        if not header and not self.no_header and ending in _LISTS:
            header = [*columns_of_list(lines)]
            if are_captions(lines):
                header, cells = ["image", "caption"], Cells(numbered="image")
        dialect = dialect_of(lines, is_tsv=ending == "tsv", num_columns=len(header))
        rows = first_rows(lines, dialect)
        if self.no_header and not header:
            header = [f"column_{number}" for number in range(1, len([*rows.fields, []][0]) + 1)]
        if header and self.header_rows > 1:
            raise ConfigError(
                f"{file.path} is read without a header, by its names of columns or its form; leave "
                "out header_rows"
            )
        num_above = 0 if header else self.header_rows
        dialect = dataclasses.replace(dialect, has_header=not header, encoding=self.encoding)
        first = lines[dialect.num_before : dialect.num_before + num_above]
        if any(UNREADABLE in line for line in first):
            facts = {"path": file.path, "encoding": self.encoding}
            raise ProblemError(
                Problem(
                    code="header not decoded", facts=facts, option="encoding", choices=("cp1252",)
                )
            )
        if not header:
            stated = header_of(rows, file.path, num_above)
            header = _aligned(stated, rows.fields[num_above:])
            if len(header) != len(stated):  # its rows would be faulty
                dialect = dataclasses.replace(dialect, num_before=rows.lines[num_above] - 1)
                num_above = 0
        counts = Counter(filter(None, header))
        if twice := [name for name, count in counts.items() if count > 1]:
            raise ConfigError(f"{file.path} has the column {twice[0]!r} twice; rename one")
        check_number(header, file.path)
        return CsvTable(
            file=file, header=tuple(header), dialect=dialect, cells=cells, num_above=num_above
        )
