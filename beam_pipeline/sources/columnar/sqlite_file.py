"""SQLite databases: the groups of a table are ranges of its row ids.

A database is opened as it lies, for reading alone: nothing is locked, and nothing is written beside
it. Format: https://www.sqlite.org/fileformat2.html
"""

import contextlib
import functools
import itertools
import os
import sqlite3
import urllib.parse
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from beam_pipeline.sources.columnar.row_groups import RowGroups, damaged, unsupported
from beam_pipeline.sources.columns.choice import there_are
from beam_pipeline.sources.manifest.table import RANGE_BYTES

MAGIC = b"SQLite format 3\0"
# Of a text or of bytes.
_MAX_VALUE_BYTES = 256 << 20
_FEWEST_ROWS, _MOST_ROWS = 64, 65_536
_ROW_IDS = ("rowid", "_rowid_", "oid")


class _SqliteGroups(RowGroups):
    def __init__(self, path: str, connection: sqlite3.Connection, table: str):
        self._path, self._connection, self._table = path, connection, table
        description = connection.execute(f"SELECT * FROM {_quoted(table)} LIMIT 0").description
        names = [column[0] for column in description]
        self._row_id = _row_id(path, connection, table, names)
        self._starts = _starts(path, storage.version(path), table, self._row_id)
        self._rows = f"{_quoted(table)} WHERE {self._row_id} BETWEEN ? AND ?"
        self.num_groups = len(self._starts)
        self._held = {name: self._is_blob(name) for name in names}
        types = (pa.large_binary() if held else pa.string() for held in self._held.values())
        self.schema = pa.schema(zip(self._held, types, strict=True))

    def num_rows(self, group: int) -> int:
        [(number,)] = self._connection.execute(
            f"SELECT count(*) FROM {self._rows}", self._bounds(group)
        )
        return int(number)

    def batches(
        self, group: int, columns: Sequence[str], num_rows: int
    ) -> Iterator[pa.RecordBatch]:
        selected = ", ".join([self._row_id, *map(_quoted, columns)])
        rows = self._connection.execute(
            f"SELECT {selected} FROM {self._rows} ORDER BY {self._row_id}", self._bounds(group)
        )
        while some := rows.fetchmany(num_rows):
            ids, *values = zip(*some, strict=True)
            arrays = [
                self._array(name, of_column, ids)
                for name, of_column in zip(columns, values, strict=True)
            ]
            if arrays:
                yield pa.RecordBatch.from_arrays(arrays, [*columns])
            else:
                yield pa.RecordBatch.from_struct_array(pa.array([{}] * len(ids), pa.struct([])))

    def _bounds(self, group: int) -> tuple[int, int]:
        """The first and the last row id that a row of a group may have."""
        start, behind, *_ = *self._starts[group : group + 2], 1 << 63
        return start, behind - 1

    def _is_blob(self, name: str) -> bool:
        column, table = _quoted(name), _quoted(self._table)
        kinds = self._connection.execute(
            f"SELECT typeof({column}) FROM {table} WHERE {column} IS NOT NULL LIMIT 1"
        )
        return kinds.fetchall() == [("blob",)]

    def _array(self, name: str, values: Sequence[Any], ids: Sequence[int]) -> pa.Array:
        """The values of a column; of several types they are texts, but for numbers."""
        kinds = {type(value) for value in values} - {type(None)}
        if (kinds and (bytes in kinds) != self._held[name]) or (bytes in kinds and len(kinds) > 1):
            odd = next(
                row
                for row, value in zip(ids, values, strict=True)
                if value is not None and isinstance(value, bytes) != self._held[name]
            )
            raise unsupported(
                self._path,
                f"column {name!r} holds both bytes and other values, such as in the row {odd}",
                f"leave it out with --ignore-columns {name!r}",
            )
        if kinds <= {int, float} and len(kinds) > 1:
            return pa.array(values, pa.float64(), from_pandas=False)
        if len(kinds) > 1:
            values = [None if value is None else str(value) for value in values]
        return pa.array(values, pa.large_binary() if self._held[name] else None)


@contextlib.contextmanager
def opened_sqlite(path: str, table: str = "") -> Iterator[RowGroups]:
    """A table of a SQLite database to read.

    Args:
        path: The database.
        table: The table; "" is the only one.

    Raises:
        ConfigError: There is no such table, or it is not clear which.
        DataError: It is none, is damaged, or lies where it cannot be read.
    """
    try:
        with contextlib.closing(_connected(path)) as connection:
            yield _SqliteGroups(path, connection, _table(path, connection, table))
    except sqlite3.DataError as error:  # SQLITE_TOOBIG
        raise unsupported(
            path,
            f"a value in it is over {_MAX_VALUE_BYTES >> 20} MiB",
            "delete its row, or keep it in a file that the table names",
        ) from error
    except (sqlite3.Error, pa.ArrowException, OverflowError, UnicodeError) as error:
        raise damaged(path, "SQLite database", error) from error


def _connected(path: str) -> sqlite3.Connection:
    if not os.path.isfile(path):
        raise unsupported(
            path,
            "a database has to be a file of this machine, in no archive",
            "copy or unpack it here",
        )
    for suffix in ("-wal", "-journal"):
        if os.path.exists(path + suffix) and os.path.getsize(path + suffix):
            raise unsupported(
                path,
                f"{path}{suffix} holds changes that are not in it yet",
                "close the program that writes it, and run "
                f"sqlite3 {path} 'PRAGMA wal_checkpoint(TRUNCATE)'",
            )
    location = f"file:{urllib.parse.quote(path)}?mode=ro&immutable=1"
    connection = sqlite3.connect(location, uri=True)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
    connection.execute("PRAGMA trusted_schema=OFF")
    connection.execute("PRAGMA cell_size_check=ON")
    return connection


def _table(path: str, connection: sqlite3.Connection, stated: str) -> str:
    found = dict(
        connection.execute(
            "SELECT name, type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' FROM sqlite_master "
            "WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        ).fetchall()
    )
    tables = [str(name) for name, is_table in found.items() if is_table]
    if stated in tables:
        return stated
    if stated in found:
        raise ConfigError(
            f"--table {stated!r} is a view or virtual table of {path}; store what it shows: CREATE "
            f"TABLE stored AS SELECT * FROM {_quoted(stated)}"
        )
    if stated:
        raise ConfigError(f"--table {stated!r} is no table of {path}; {there_are(stated, tables)}")
    if len(tables) != 1:
        what = f"the tables {', '.join(tables)}" if tables else "no table"
        raise ConfigError(f"{path} has {what}; name the one to read by --table NAME")
    return tables[0]


def _row_id(path: str, connection: sqlite3.Connection, table: str, names: Sequence[str]) -> str:
    taken = {name.lower() for name in names}
    row_id = next((name for name in _ROW_IDS if name not in taken), "")
    with contextlib.suppress(sqlite3.OperationalError):
        connection.execute(f"SELECT {row_id} FROM {_quoted(table)} LIMIT 0")
        return row_id
    raise ConfigError(
        f"the table {table} of {path} has no row ids; store it anew: CREATE TABLE stored AS SELECT "
        f"* FROM {_quoted(table)}"
    )


@functools.lru_cache(maxsize=64)
def _starts(path: str, version: str, table: str, row_id: str) -> Sequence[int]:
    """The first row id of each group of the database at a path, which is of a version."""
    with contextlib.closing(_connected(path)) as connection:
        [(count,)] = connection.execute(f"SELECT count(*) FROM {_quoted(table)}")
        rows = count * RANGE_BYTES // max(1, storage.size(path) or 0)
        rows = min(max(rows, _FEWEST_ROWS), _MOST_ROWS)
        ids = connection.execute(f"SELECT {row_id} FROM {_quoted(table)} ORDER BY {row_id}")
        return [number for (number,) in itertools.islice(ids, 0, None, rows)]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
