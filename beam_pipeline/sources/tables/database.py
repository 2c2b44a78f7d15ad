"""Read the rows of a table or view of SQLite databases.

Databases are opened read-only, without locks and without writing files.
Format: https://www.sqlite.org/fileformat2.html
"""

import contextlib
import dataclasses
import os
import sqlite3
import urllib.parse
from collections.abc import Iterator

from beam_pipeline.errors import DataError, RecordError, naming
from beam_pipeline.sources.paths import name_of
from beam_pipeline.sources.tables.columnar import declaration_of_bytes
from beam_pipeline.sources.tables.read_tables import ReadContainers
from beam_pipeline.sources.tables.table import (
    BATCH_ROWS,
    Batch,
    ColumnDeclaration,
    Scratch,
    Table,
    TableFile,
    chosen_table,
    files_of,
)

MAGIC = b"SQLite format 3\0"
_MAX_VALUE_BYTES = 256 << 20
_ROWS_WITH_FILES = 64
_TABLES = (
    "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') "
    "AND sql NOT LIKE 'CREATE VIRTUAL%' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
)


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
    """Open a database; raise DataError if it is damaged, incomplete or not a local file."""
    if not os.path.isfile(path):
        raise DataError(f"{path} cannot be read: a database has to be a file of this machine")
    for log in (f"{path}-wal", f"{path}-journal"):
        if os.path.exists(log) and os.path.getsize(log):
            raise DataError(
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
