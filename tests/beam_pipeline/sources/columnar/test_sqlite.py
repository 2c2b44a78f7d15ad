"""SQLite: every row once, however its ids lie; what waits beside the file is not lost."""

import contextlib
import sqlite3

import pytest

from beam_pipeline.errors import ConfigError, DataError
from beam_pipeline.files import storage
from beam_pipeline.sources.columnar import sqlite_file
from beam_pipeline.sources.columnar.read import ReadSqlite
from beam_pipeline.sources.columnar.sqlite_file import opened_sqlite

JPEG = b"\xff\xd8\xff\xe0"
IDS = [-(1 << 63), -5, *range(300), 1 << 40, (1 << 63) - 1]


def written(path, ids=IDS):
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE a (image, name, label)")
        connection.executemany(
            "INSERT INTO a (rowid, image, name, label) VALUES (?, ?, ?, ?)",
            [(n, JPEG + str(n).encode(), f"{n} " * 200, "ab"[n % 2]) for n in ids],
        )
    return str(path)


def parts_of(source):
    job = source.job()
    return [part for table in job.tables for part in table.ranges(scratch=job.scratch)]


@pytest.mark.parametrize(("rows_a_group", "number"), [(1000, 1), (7, 44)])
def test_rows_of_any_ids(tmp_path, monkeypatch, read_manifest, rows_a_group, number):
    path = written(tmp_path / "a.db")
    monkeypatch.setattr(sqlite_file, "_MOST_ROWS", rows_a_group)
    monkeypatch.setattr(sqlite_file, "_FEWEST_ROWS", rows_a_group)
    sqlite_file._starts.cache_clear()

    source = ReadSqlite(path, scratch=str(tmp_path / "scratch"))
    records = read_manifest(source)

    assert len(parts_of(source)) == number
    sqlite_file._starts.cache_clear()
    assert [record.key for record in records] == [f"a.db#{n}" for n in range(len(IDS))]
    contents = [storage.read_bytes(record.features["image"].file) for record in records]
    assert contents == [JPEG + str(n).encode() for n in IDS]
    assert [*tmp_path.glob("a.db*")] == [tmp_path / "a.db"]


def test_changes_that_wait_beside_the_file_are_not_lost(tmp_path, read_manifest):
    """Opened as it lies, the file has none of them; the refusal says what brings them in."""
    path = written(tmp_path / "a.db", range(3))
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("PRAGMA journal_mode=WAL")
    writer.execute("INSERT INTO a VALUES (x'ffd8ffe0', 'late', 'a')")

    with pytest.raises(DataError, match=r"a\.db-wal holds changes .* wal_checkpoint\(TRUNCATE\)"):
        opened_sqlite(path).__enter__()

    writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert len(read_manifest(ReadSqlite(path, scratch=str(tmp_path / "scratch")))) == 4
    writer.close()


def test_a_database_on_a_store_is_refused(tmp_path, bucket):
    url, _ = bucket
    storage.write_bytes(f"{url}/a.db", (tmp_path / written(tmp_path / "a.db")).read_bytes())

    with pytest.raises(
        ConfigError, match="has to be a file of this machine, in no archive; copy or"
    ):
        ReadSqlite(f"{url}/a.db").job()


def test_a_page_that_is_damaged(tmp_path, read_manifest):
    path = tmp_path / "a.db"
    written(path)
    data = bytearray(path.read_bytes())
    data[4096 * 3 : 4096 * 3 + 64] = b"\xff" * 64
    path.write_bytes(data)

    with pytest.raises((DataError, ConfigError), match=r"a\.db is no SQLite database"):
        read_manifest(ReadSqlite(str(path), scratch=str(tmp_path / "scratch")))


def test_a_value_that_is_too_large(tmp_path, monkeypatch, read_manifest):
    path = written(tmp_path / "a.db", ids=[1])
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO a (rowid, image) VALUES (2, zeroblob(2000000))")
    monkeypatch.setattr(sqlite_file, "_MAX_VALUE_BYTES", 1 << 20)

    with pytest.raises(ConfigError, match=r"a\.db .* a value in it is over 1 MiB; delete its row"):
        read_manifest(ReadSqlite(path, scratch=str(tmp_path / "scratch")))
