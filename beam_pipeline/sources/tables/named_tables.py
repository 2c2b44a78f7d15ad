"""Read files of several named tables: sheets of workbooks (.xlsx), and tables of SQLite databases.

Workbooks are read with python-calamine, databases read-only, without locks and without writing
files. Formats: ECMA-376; https://www.sqlite.org/fileformat2.html
"""

import contextlib
import dataclasses
import functools
import io
import os
import re
import sqlite3
import urllib.parse
import zipfile
from collections.abc import Collection, Iterator
from typing import Any

import python_calamine

from beam_pipeline.errors import ConfigError, DataError, RecordError, naming
from beam_pipeline.files import storage
from beam_pipeline.problems import ProblemError, several_tables_inside
from beam_pipeline.records import FileRef
from beam_pipeline.sources.paths import name_of
from beam_pipeline.sources.tables.columnar import declaration_of_bytes
from beam_pipeline.sources.tables.columns import there_are
from beam_pipeline.sources.tables.read_tables import ReadContainers, ReadTables
from beam_pipeline.sources.tables.table import (
    BATCH_ROWS,
    Batch,
    ColumnDeclaration,
    Scratch,
    Table,
    TableFile,
    batch_of_rows,
    files_of,
)
from tfrecord_dataset.format.inflation import is_inflated

MAX_BYTES = 256 << 20
MAX_MEMBER_BYTES = 1 << 30
MAX_CELLS = 10_000_000
_MAX_COLUMNS = 16_384
# python-calamine ends the process at a cell beyond the largest sheet.
_PLACE = re.compile(rb"""\br\s*=\s*["']([A-Za-z]*)([0-9]+)["']""")
_MAX_DIGITS = 9  # and letters
_CELL = re.compile(rb"<(?:\w+:)?c[\s/>]")


MAGIC = b"SQLite format 3\0"
_MAX_VALUE_BYTES = 256 << 20
_ROWS_WITH_FILES = 64
_TABLES = (
    "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') "
    "AND sql NOT LIKE 'CREATE VIRTUAL%' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SheetTable(Table):
    """The sheet `sheet` of a workbook."""

    sheet: str

    def rows(self, scratch: Scratch | None = None) -> Iterator[Batch]:
        """Read the rows unprepared; rows without any value are skipped."""
        found = _sheet_rows(self.file.path, _opened_workbook(self.file.path), self.sheet)
        for start in range(1, len(found), BATCH_ROWS):
            some = enumerate(found[start : start + BATCH_ROWS], start + 1)
            numbered = {number: row for number, row in some if any(cell != "" for cell in row)}
            rows = [
                {name: _plain(cell) for name, cell in zip(self.header, row, strict=False) if name}
                for row in numbered.values()
            ]
            yield batch_of_rows(rows, [*numbered])


@dataclasses.dataclass
class ReadXlsx(ReadTables):
    """Read the rows of the sheet `table` of workbooks; "" reads the only sheet with content."""

    suffixes = ("xlsx",)

    table: str = ""

    def opened(self, file: TableFile) -> Table:
        path, workbook = file.path, _opened_workbook(file.path)
        first = {name: _sheet_rows(path, workbook, name, 1) for name in workbook.sheet_names}
        names = [name for name, rows in first.items() if rows or name == self.table]
        sheet = chosen_table(path, "sheet", names, self.table)
        row = [*first[sheet], []][0]
        header = [cell.strip() if isinstance(cell, str) else cell for cell in row]
        names = [name for name in header if name != ""]
        if not names or len({name for name in names if isinstance(name, str)}) < len(names):
            raise ConfigError(
                f"{path}, sheet {sheet}: the first row names no columns, or two alike; it is "
                f"{header}"
            )
        return SheetTable(file=file, header=tuple(header), sheet=sheet)


def _plain(cell: Any) -> Any:
    """Convert a cell to a JSON value: dates to text, whole floats to int."""
    if cell == "":
        return None
    if isinstance(cell, float):
        return int(cell) if cell.is_integer() and abs(cell) < 1 << 53 else cell
    return cell if isinstance(cell, str | bool | int) else str(cell)


def _sheet_rows(path: str, workbook: Any, sheet: str, number: int | None = None) -> list[list[Any]]:
    try:
        rows: list[list[Any]] = workbook.get_sheet_by_name(sheet).to_python(
            skip_empty_area=False, nrows=number
        )
    except Exception as error:  # broken XML may raise anything
        raise _damaged(path, error) from error
    return rows


def _opened_workbook(path: str) -> Any:
    data = storage.read_bytes(FileRef(path=path), MAX_BYTES)
    try:
        _check_sizes(path, data)
        return python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
    except DataError:
        raise
    except Exception as error:  # a broken zip may raise anything
        raise _damaged(path, error) from error


def _damaged(path: str, error: Exception) -> DataError:
    return DataError(f"{path} is not a readable .xlsx file ({error}); save it again")


def _check_sizes(path: str, data: bytes) -> None:
    """Raise DataError for sheets that would not fit into memory."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for member in archive.infolist():
            size = member.file_size
            too_large = size > MAX_MEMBER_BYTES or is_inflated(member.compress_size, size)
            if too_large or _num_cells(archive.read(member)) > MAX_CELLS:
                raise DataError(
                    f"{path}: {member.filename} is too large for a workbook; save the sheet as "
                    "CSV, without empty rows and columns"
                )


def _num_cells(text: bytes) -> int:
    """Count the cells of the rectangle that a sheet's XML spans from A1.

    A cell without a reference may be anywhere in a row.
    """
    places = _PLACE.findall(text)
    rows = max((int(digits.lstrip(b"0")[:_MAX_DIGITS] or b"0") for _, digits in places), default=0)
    columns = max(map(_column_number, {letters for letters, _ in places}), default=0)
    if sum(bool(letters) for letters, _ in places) < len(_CELL.findall(text)):
        columns = _MAX_COLUMNS
    return rows * columns


def _column_number(letters: bytes) -> int:
    known = letters[:_MAX_DIGITS].upper()
    return functools.reduce(lambda column, letter: column * 26 + letter - ord("A") + 1, known, 0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class DatabaseTable(Table):
    """The table `name` of a SQLite database."""

    sign = "#"

    name: str

    def rows(self, scratch: Scratch | None = None) -> Iterator[Batch]:
        number = 0
        media = [name for name, declared in self.declarations.items() if declared.media]
        names = ", ".join(map(_quoted, self.declarations)) or "1"
        with _connected(self.file.path) as connection:
            read = connection.execute(f"SELECT {names} FROM {_quoted(self.name)}")
            while rows := read.fetchmany(_ROWS_WITH_FILES if media else BATCH_ROWS):
                values = map(list, zip(*rows, strict=True))
                columns = dict(zip(self.declarations, values, strict=False))
                columns |= {name: files_of(columns[name], scratch) for name in media}
                yield Batch(columns=columns, lines=range(number, number + len(rows)))
                number += len(rows)


@dataclasses.dataclass
class ReadSqlite(ReadContainers):
    """Read the rows of `table` of SQLite databases; "" reads the only table."""

    suffixes = ("db", "sqlite", "sqlite3")

    table: str = ""

    def opened(self, file: TableFile) -> Table:
        try:
            with _connected(file.path) as connection, naming(name_of(file.path)):
                types = dict(connection.execute(_TABLES))
                stated = self.table
                names = [name for name, kind in types.items() if kind == "table" or name == stated]
                name = chosen_table(file.path, "table", names, stated)
                description = connection.execute(
                    f"SELECT * FROM {_quoted(name)} LIMIT 0"
                ).description
                header = tuple(column[0] for column in description)
                kept = [each for each in header if each and each not in self.ignore_columns]
                declarations = {each: _declaration(connection, name, each) for each in kept}
        except DataError as error:
            raise RecordError("damaged file", str(error)) from error
        return DatabaseTable(file=file, header=header, declarations=declarations, name=name)


def _declaration(connection: sqlite3.Connection, table: str, column: str) -> ColumnDeclaration:
    name = _quoted(column)
    first = f"SELECT {name} FROM {_quoted(table)} WHERE {name} IS NOT NULL LIMIT 1"
    values = [value for (value,) in connection.execute(first) if isinstance(value, bytes)]
    return declaration_of_bytes(column, values[0]) if values else ColumnDeclaration()


@contextlib.contextmanager
def _connected(path: str) -> Iterator[sqlite3.Connection]:
    """Open a database; raise DataError if damaged, ConfigError if incomplete or not local."""
    if not os.path.isfile(path):
        raise ConfigError(f"{path} cannot be read: a database has to be a file of this machine")
    for log in (f"{path}-wal", f"{path}-journal"):
        if os.path.exists(log) and os.path.getsize(log):
            raise ConfigError(
                f"{path} cannot be read: {log} holds changes that are not in it yet; run sqlite3 "
                f"{path} 'PRAGMA wal_checkpoint(TRUNCATE)'"
            )
    location = f"file:{urllib.parse.quote(path)}?mode=ro&immutable=1"
    try:
        with contextlib.closing(sqlite3.connect(location, uri=True)) as connection:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
            connection.execute("PRAGMA trusted_schema=OFF")
            connection.execute("PRAGMA cell_size_check=ON")
            yield connection
    except sqlite3.DataError as error:  # SQLITE_TOOBIG
        raise DataError(f"{path}: a value is over {_MAX_VALUE_BYTES >> 20} MiB") from error
    except (sqlite3.Error, OverflowError, UnicodeError) as error:
        raise DataError(f"{path} is not a readable SQLite database ({error})") from error


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def chosen_table(path: str, noun: str, names: Collection[str], stated: str) -> str:
    """Choose the table of a file to read; raise ConfigError if that is not clear."""
    if stated and stated not in names:
        raise ConfigError(f"--table: {path} has no {noun} {stated!r}; {there_are(stated, names)}")
    if not names:
        raise ConfigError(f"{path} has no {noun} with rows; write one")
    if len(names) > 1 and not stated:
        raise ProblemError(several_tables_inside(path, f"{noun}s", names))
    return stated or next(iter(names))
