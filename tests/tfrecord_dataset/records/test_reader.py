"""Records are read by number and in order from files of any origin."""

import gzip
import os

import numpy as np
import pytest

from tfrecord_dataset.errors import DatasetDamagedError
from tfrecord_dataset.format import example
from tfrecord_dataset.format.frames import framed
from tfrecord_dataset.records import index as record_index
from tfrecord_dataset.records import shard_files
from tfrecord_dataset.records.index import RecordIndex
from tfrecord_dataset.records.opening import open_shards
from tfrecord_dataset.records.reader import RecordReader
from tfrecord_dataset.store.user_cache import cache_folder


def write(path, records, compression=""):
    data = b"".join(framed(example.encode(record)) for record in records)
    path.write_bytes(gzip.compress(data) if compression else data)


@pytest.fixture
def shards(tmp_path):
    """A function from a compression to three shards of 20 records, one of them empty."""

    def make(compression=""):
        files = []
        for number, count in enumerate([12, 0, 8]):
            path = tmp_path / f"{number}.tfrecord{'.gz' if compression else ''}"
            records = [{"number": [12 * (number > 0) + each]} for each in range(count)]
            write(path, records, compression)
            files.append(str(path))
        return files

    return make


def bounds_of(file):
    return record_index.bounds(open_shards([file]), 0)


def change(file, offset):
    """Change a byte, as a disk fault does, without changing the file's time."""
    facts = os.stat(file)
    with open(file, "r+b") as handle:
        handle.seek(offset)
        handle.write(b"\xff")
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def number_of(record):
    return example.lists(record)["number"][1][0]


@pytest.mark.parametrize("gap", [0, 1 << 20])
@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_any_records_in_any_order(shards, compression, gap, monkeypatch):
    monkeypatch.setattr("tfrecord_dataset.records.reader._GAP_BYTES", gap)
    reader = RecordReader(RecordIndex(open_shards(shards(compression))))
    chosen = np.array([19, 1, 0, 11, 12, 3, 6])

    assert [number_of(record) for record in reader.read(chosen)] == chosen.tolist()
    assert len(reader.read(np.zeros(0, np.int64))) == 0


def test_small_records_of_one_shard_are_read_at_once(shards, monkeypatch):
    reader = RecordReader(RecordIndex(open_shards(shards())))
    opened = []
    files = reader._files
    open_file = files.open
    monkeypatch.setattr(files, "open", lambda *which: opened.append(which) or open_file(*which))

    assert len(reader.read(np.arange(20))) == 20
    assert [shard for shard, _ in opened] == [0, 2]


def test_bare_files_are_walked_once(shards, monkeypatch, tmp_path):
    file = shards()[0]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(record_index, "_WORTH_CACHING", 1)
    first = bounds_of(file)
    monkeypatch.setattr(record_index, "walk", None)  # the second time nothing is scanned

    np.testing.assert_array_equal(bounds_of(file), first)

    os.utime(file, ns=(1, 1))  # another file with the same name
    with pytest.raises(TypeError):
        bounds_of(file)


def test_a_cache_that_cannot_be_written_costs_time_only(shards, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(record_index, "_WORTH_CACHING", 1)

    assert len(bounds_of(shards()[0])) == 13
    assert str(cache_folder()).startswith(str(tmp_path))


@pytest.mark.parametrize("place", ["payload", "length"])
def test_a_damaged_record_is_named(shards, place):
    file = shards()[2]
    index = RecordIndex(open_shards([file]))
    reader = RecordReader(index)
    change(file, int(index.bounds_of(0)[5]) + {"payload": 14, "length": 0}[place])

    reader.read(np.array([4, 6]))
    with pytest.raises(
        DatasetDamagedError, match=rf"record 5 of .*{os.path.basename(file)} has a wrong checksum"
    ):
        reader.read(np.arange(8))


def test_a_truncated_gzip_shard_is_named(shards):
    file = shards("GZIP")[0]
    os.truncate(file, os.path.getsize(file) - 10)

    with pytest.raises(DatasetDamagedError, match=r"0\.tfrecord\.gz cannot be unpacked"):
        RecordIndex(open_shards([file]))


def test_a_record_may_span_blocks(tmp_path, monkeypatch):
    payloads = [b"a" * 500, b"", b"b" * 1_000]
    (tmp_path / "a").write_bytes(gzip.compress(b"".join(map(framed, payloads))))
    monkeypatch.setattr(shard_files, "_BLOCK_BYTES", 100)
    shards = open_shards([str(tmp_path / "a")])
    found = shard_files.windows(shards.files, 0, shards.compression)
    assert [record for window in found for record in window] == payloads
