"""Rows of files to predict for, read by the options of the build of the training data."""

import codecs
import dataclasses
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from tfrecord_dataset.cells import (
    has_comma,
    is_missing_number,
    stripped,
    truth_as_number,
    with_point,
)
from tfrecord_dataset.delimited import (
    DEFAULT_ENCODING,
    UNREADABLE,
    Dialect,
    Fault,
    LongLineError,
    RowBatch,
    decode,
    dialect_of,
    first_rows,
    header_names,
    lines_of,
    read_rows,
    text_blocks,
)
from trainer.errors import DatasetDamagedError

SUFFIXES = (".csv", ".jsonl")
_MORE_SUFFIXES = (".tsv", ".ndjson")
DELIMITED = (".csv", ".tsv")
_HEAD_BYTES = 1 << 20
_MAX_CHARACTERS = 16 << 20  # of a line of JSON
_NAN = "nan"

# A line from 1, and its row by column, or why it cannot be read.
NumberedRow = tuple[int, dict[str, Any] | DatasetDamagedError]


def is_rows(path: Path) -> bool:
    """Return whether a file has a record per row, by its name."""
    return path.suffix.lower() in (*SUFFIXES, *_MORE_SUFFIXES)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RowOptions:
    """Options of a build that decide what rows of a table mean; see `beam-tfrecords build`."""

    no_header: bool = False
    column_names: tuple[str, ...] = ()
    encoding: str = DEFAULT_ENCODING
    decimal_comma: bool | tuple[str, ...] = False
    missing_values: tuple[str, ...] = ()
    missing_numbers: str | float = _NAN

    @classmethod
    def of_build(cls, options: Mapping[str, Any]) -> Self:
        """Return the options among those of a build, as in metadata.json."""
        stated: dict[str, Any] = {
            field.name: options[field.name]
            for field in dataclasses.fields(cls)
            if field.name in options
        }
        for name, value in stated.items():
            stated[name] = tuple(value) if isinstance(value, list) else value
        return cls(**stated)

    def read(self, path: Path) -> Iterator[NumberedRow]:
        """Yield the rows of a file with their lines, in place of one that cannot be read its error.

        Lines count from 1, which is the header's if there is one, as in the keys of a build.
        """
        is_delimited = path.suffix.lower() in DELIMITED
        rows = self._delimited(path) if is_delimited else _objects(path)
        if not self.decimal_comma:
            yield from rows
            return
        again = self._delimited(path) if is_delimited else _objects(path)
        commas = self._columns_with_commas(again)
        for line, row in rows:
            if isinstance(row, dict):
                row |= {name: with_point(row[name]) for name in commas & row.keys()}
            yield line, row

    def _columns_with_commas(self, rows: Iterable[NumberedRow]) -> frozenset[str]:
        if isinstance(self.decimal_comma, tuple):
            return frozenset(self.decimal_comma)
        cells = (cell for _, row in rows if isinstance(row, dict) for cell in row.items())
        return frozenset(name for name, text in cells if has_comma(stripped(text)))

    def _delimited(self, path: Path) -> Iterator[NumberedRow]:
        with path.open("rb") as handle:
            lines = lines_of(decode(handle.read(_HEAD_BYTES), self.encoding))
            handle.seek(0)
            header, dialect = self._header(lines, is_tsv=path.suffix.lower() == ".tsv")
            above, line = dialect.has_header, 0
            try:
                for block in read_rows(text_blocks(handle, self.encoding), dialect, len(header)):
                    for rows in block:
                        for line, fields in _in_order(rows, above=above):
                            if isinstance(fields, Fault):
                                what = f"{path}:{line}: {fields.detail}; correct the row"
                                yield line, DatasetDamagedError(what)
                            elif any(fields):
                                yield line, dict(zip(header, fields, strict=True))
                        above = above and not rows.lines
            except LongLineError as error:
                yield line + 1, DatasetDamagedError(f"{path} has {error}")

    def _header(self, lines: list[str], *, is_tsv: bool) -> tuple[list[str], Dialect]:
        header = list(self.column_names)
        dialect = dialect_of(lines, is_tsv=is_tsv, num_columns=len(header))
        first, *_ = [*first_rows(lines, dialect).fields, []]
        has_header = not header and not self.no_header
        if not header:
            named = header_names(first)
            header = named if has_header else [f"column_{at}" for at in range(1, len(first) + 1)]
        return header, dataclasses.replace(dialect, has_header=has_header, encoding=self.encoding)

    def value(self, value: Any, *, is_number: bool) -> Any:
        """Return the value of a cell; `is_number` for one of a column of numbers."""
        if self.missing_values and stripped(value) in self.missing_values:
            value = ""
        if not is_number or not (value is None or isinstance(value, str)):
            return value
        if value is None or is_missing_number(value):
            return float("nan") if self.missing_numbers == _NAN else self._filled(value)
        return _number(truth_as_number(value))

    def _filled(self, value: Any) -> Any:
        is_fill = isinstance(self.missing_numbers, int | float)
        return self.missing_numbers if is_fill else value


AS_BY_DEFAULT = RowOptions()


def _number(text: int | str) -> Any:
    """Return the number in a text that JSON may not spell so, such as +1 or .5."""
    if isinstance(text, int) or "_" in text or not text.isascii():
        return text
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _in_order(rows: RowBatch, *, above: bool) -> Iterator[tuple[int, list[str] | Fault]]:
    """Yield rows and faults with their lines, in order, without the header if it is `above`."""
    by_line: dict[int, list[str] | Fault] = dict(zip(rows.lines, rows.fields, strict=True))
    if above and rows.lines:
        del by_line[rows.lines[0]]
    by_line |= {fault.line: fault for fault in rows.faults}
    return iter(sorted(by_line.items(), key=lambda each: each[0]))


def _objects(path: Path) -> Iterator[NumberedRow]:
    with path.open("rb") as handle:
        start = handle.read(len(codecs.BOM_UTF16_LE))
        is_utf_16 = start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        encoding = "utf-16" if is_utf_16 else DEFAULT_ENCODING
        blocks = text_blocks(handle, encoding, start=start, at_most=_MAX_CHARACTERS)
        number = 0
        try:
            lines = itertools.chain.from_iterable(map(lines_of, blocks))
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, _object(line, f"{path}:{number}")
        except LongLineError as error:
            yield number + 1, DatasetDamagedError(f"{path} has {error}")


def _object(line: str, source: str) -> dict[str, Any] | DatasetDamagedError:
    try:
        if UNREADABLE in line:
            raise ValueError("it is not UTF-8")
        row = json.loads(line)
        if not isinstance(row, dict):
            raise TypeError(f"it is {json.dumps(row)[:20]}")
    except (TypeError, ValueError, RecursionError) as error:
        return DatasetDamagedError(f"{source} is not a JSON object: {error}; correct the line")
    return row
