"""SQLite databases: the rows of a table or view of one.

A database is opened for reading only: nothing is locked, and no file is written.
Format: https://www.sqlite.org/fileformat2.html
"""

import contextlib
import dataclasses
import os
import sqlite3
import urllib.parse
from collections.abc import Iterator, Sequence
from typing import Any

from beam_pipeline.errors import ConfigError, DataError, RecordError, naming
from beam_pipeline.problems import ProblemError, several_tables_inside
from beam_pipeline.sources.references import name_of
from beam_pipeline.sources.tables.columnar import files_of, form_of_bytes
from beam_pipeline.sources.tables.names import there_are
from beam_pipeline.sources.tables.table import BATCH_ROWS, Batch, Form, Scratch, Table, TableFile

MAGIC = b"SQLite format 3\0"
_ROWS_WITH_FILES = 64
_VIEWS = (
    "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') "
    "AND sql NOT LIKE 'CREATE VIRTUAL%' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class DatabaseTable(Table):
    """A table of a SQLite database.

    Attributes:
        name: Its name.
    """

    has_lines = False
    sign = "#"

    name: str

    def rows(self, scratch: Scratch | None = None) -> Iterator[Batch]:
        """As `Table.rows`."""
        number = 0
        step = _ROWS_WITH_FILES if any(form.media for form in self.forms.values()) else BATCH_ROWS
        names = ", ".join(map(_quoted, self.forms)) or "1"
        with _connected(self.file.path) as connection:
            read = connection.execute(f"SELECT {names} FROM {_quoted(self.name)}")
            while some := read.fetchmany(step):
                columns = {
                    name: self._values(name, values, scratch)
                    for name, values in zip(self.forms, zip(*some, strict=True), strict=False)
                }
                yield Batch(columns=columns, lines=range(number, number + len(some)))
                number += len(some)

    def _values(self, name: str, values: Sequence[Any], scratch: Scratch | None) -> list[Any]:
        is_media = bool(self.forms[name].media)
        if any(isinstance(value, bytes) != is_media for value in values if value is not None):
            raise DataError(
                f"{self.file.path}: column {name!r} holds both bytes and other values; pass "
                f"--ignore-columns {name}"
            )
        if not is_media:
            return list(values)
        return files_of(values, scratch) if scratch else [None] * len(values)


def opened_database(file: TableFile, stated: str, ignored: Sequence[str]) -> DatabaseTable:
    """Look into a database.

    Args:
        file: The database.
        stated: The table; "" is the only one.
        ignored: Columns to leave out.

    Raises:
        ConfigError: There is no such table, or it is not clear which.
        RecordError: "damaged file", or "unsupported column": no feature can be made of one.
    """
    try:
        with _connected(file.path) as connection, naming(name_of(file.path)):
            name = _table(file.path, connection, stated)
            found = connection.execute(f"SELECT * FROM {_quoted(name)} LIMIT 0").description
            header = tuple(column[0] for column in found)
            forms = {
                column: _form(connection, name, column)
                for column in header
                if column not in ignored
            }
    except DataError as error:
        raise RecordError("damaged file", str(error)) from error
    return DatabaseTable(file=file, header=header, forms=forms, name=name)


def _form(connection: sqlite3.Connection, table: str, column: str) -> Form:
    name = _quoted(column)
    first = f"SELECT {name} FROM {_quoted(table)} WHERE {name} IS NOT NULL LIMIT 1"
    values = [value for (value,) in connection.execute(first) if isinstance(value, bytes)]
    return form_of_bytes(column, values[0]) if values else Form()


@contextlib.contextmanager
def _connected(path: str) -> Iterator[sqlite3.Connection]:
    """Open a database; raise DataError if it is damaged, incomplete or not on this machine."""
    if not os.path.isfile(path):
        raise DataError(f"{path} cannot be read: a database has to be a file of this machine")
    if os.path.exists(log := f"{path}-wal") and os.path.getsize(log):
        raise DataError(
            f"{path} cannot be read: {log} holds changes that are not in it yet; run sqlite3 "
            f"{path} 'PRAGMA wal_checkpoint(TRUNCATE)'"
        )
    location = f"file:{urllib.parse.quote(path)}?mode=ro&immutable=1"
    try:
        with contextlib.closing(sqlite3.connect(location, uri=True)) as connection:
            connection.execute("PRAGMA trusted_schema=OFF")
            yield connection
    except (sqlite3.Error, OverflowError, UnicodeError) as error:
        raise DataError(f"{path} is no SQLite database that can be read ({error})") from error


def _table(path: str, connection: sqlite3.Connection, stated: str) -> str:
    types = {str(name): kind for name, kind in connection.execute(_VIEWS)}
    tables = [name for name, kind in types.items() if kind == "table"]
    if stated in types:
        return stated
    if stated:
        raise ConfigError(f"--table {stated!r} is no table of {path}; {there_are(stated, tables)}")
    if not tables:
        raise ConfigError(f"{path} has no table; write one")
    if len(tables) > 1:
        raise ProblemError(several_tables_inside(path, "tables", tables))
    return tables[0]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
