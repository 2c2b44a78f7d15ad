"""TFRecord files and indexes with false sizes are named before memory is allocated."""

import gzip
import hashlib
import itertools
import os
import socket
import struct

import numpy as np
import pytest
from damages import edit
from tiers import first_in_ci

import tfrecord_dataset
from tfrecord_dataset.errors import DatasetChangedError, DatasetDamagedError, NotADatasetError
from tfrecord_dataset.format import example, inflation
from tfrecord_dataset.format.frames import FRAME_BYTES, framed, masked_checksum
from tfrecord_dataset.json_file import sealed
from tfrecord_dataset.records import shard_files
from tfrecord_dataset.records.index import RecordIndex
from tfrecord_dataset.records.opening import open_shards
from tfrecord_dataset.records.reader import RecordReader
from tfrecord_dataset.records.shard_files import windows
from tfrecord_dataset.store import storage


def header(length):
    """Make the start of a frame, with a correct checksum."""
    stated = struct.pack("<Q", length)
    return stated + struct.pack("<I", masked_checksum(stated))


def in_order(file):
    shards = open_shards([str(file)])
    found = windows(shards.files, 0, shards.compression)
    return [record for window in found for record in window]


def by_number(file):
    index = RecordIndex(open_shards([str(file)]))
    return RecordReader(index).read(np.arange(index.num_records)).tolist()


reads = pytest.mark.parametrize("read", [in_order, by_number])
THREE = b"".join(map(framed, (b"a", b"bc", b"")))
TOO_LARGE = "record 3 of .* has {:,} bytes, more than 1,073,741,840; leave it out"
DAMAGED = {
    "2^63 bytes": (THREE + header(1 << 63), TOO_LARGE.format((1 << 63) + FRAME_BYTES)),
    "2^64 - 16 bytes": (THREE + header((1 << 64) - FRAME_BYTES), TOO_LARGE.format(1 << 64)),
    "10 GB": (THREE + header(10**10) + bytes(90), TOO_LARGE.format(10**10 + FRAME_BYTES)),
    "a gigabyte": (THREE + header(1 << 30) + bytes(90), "ends within its record 3"),
    "another length": (THREE + header(99)[:8] + bytes(90), "record 3 does not start with a length"),
    "a part of a length": (THREE + header(9)[:7], "ends within its record 3"),
    "no payload": (THREE + header(9), "ends within its record 3"),
    "a part of a payload": (THREE + framed(b"abc")[:-5], "ends within its record 3"),
    "a part of a checksum": (THREE + framed(b"abc")[:-1], "ends within its record 3"),
}


@reads
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize(("content", "message"), DAMAGED.values(), ids=DAMAGED)
def test_a_length_that_is_not_true(tmp_path, read, pack, content, message):
    file = tmp_path / "a.tfrecord"
    file.write_bytes(pack(content))

    with pytest.raises(DatasetDamagedError, match=message) as refused:
        read(file)

    assert str(file) in str(refused.value)


@reads
def test_a_record_of_three_gigabytes(tmp_path, read):
    """The file really has them, as a hole without disk space."""
    file = tmp_path / "a.tfrecord"
    file.write_bytes(THREE + header(3 << 30))
    os.truncate(file, len(THREE) + (3 << 30) + FRAME_BYTES)

    with pytest.raises(DatasetDamagedError, match=TOO_LARGE.format((3 << 30) + FRAME_BYTES)):
        read(file)


@reads
@pytest.mark.parametrize("content", [b"", gzip.compress(b"")], ids=["empty", "gzip of nothing"])
def test_no_records(tmp_path, read, content):
    (tmp_path / "a.tfrecord").write_bytes(content)

    assert read(tmp_path / "a.tfrecord") == []


@reads
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(framed(bytes(8 << 20)), id="one record"),
        pytest.param(framed(bytes(99)) * 50_000, id="many records"),
    ],
)
def test_a_file_that_unpacks_to_far_more(tmp_path, monkeypatch, read, content):
    monkeypatch.setattr(inflation, "MAX_BYTES", 1 << 20)
    file = tmp_path / "a.tfrecord.gz"
    file.write_bytes(gzip.compress(content))

    with pytest.raises(DatasetDamagedError, match=r"a\.tfrecord\.gz unpacks to over 1 MiB and"):
        read(file)


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(path))  # at most 108 characters


@pytest.mark.parametrize("make", [os.mkfifo, make_socket])
def test_what_is_not_a_file(tmp_path, make):
    make(tmp_path / "a.tfrecord")

    with pytest.raises(DatasetDamagedError, match=r"a\.tfrecord cannot be read: .*; restore it"):
        tfrecord_dataset.open(tmp_path / "*.tfrecord")


@pytest.mark.parametrize("compression", ["", "GZIP"])
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda file: os.truncate(file, file.stat().st_size // 2), id="shorter"),
        pytest.param(lambda file: file.write_bytes(file.read_bytes() * 2), id="longer"),
    ],
)
def test_a_file_that_changes_while_it_is_read(tmp_path, monkeypatch, compression, change):
    monkeypatch.setattr(shard_files, "_BLOCK_BYTES", 1 << 14)
    content = b"".join(framed(np.random.default_rng(n).bytes(1000)) for n in range(200))
    file = tmp_path / "a.tfrecord"
    file.write_bytes(gzip.compress(content) if compression else content)
    shards = open_shards([str(file)])
    if compression:
        streamed = windows(shards.files, 0, compression)
        assert next(streamed)
    else:
        reader = RecordReader(RecordIndex(shards))
        assert all(reader.read(np.arange(10)))

    change(file)

    with pytest.raises(DatasetChangedError, match="was changed or deleted while it was read"):
        list(streamed) if compression else reader.read(np.arange(200))


# Offsets and sizes of six records of 35 bytes, to falsify.
ROWS = [(35 * number, 35) for number in range(6)]
LIES = {
    "a record more": ([*ROWS, (210, 35)], "its records have 245 bytes, but the shard has 210"),
    "a record less": (ROWS[:-1], "its records have 175 bytes, but the shard has 210"),
    "no records": ([], "its records have 0 bytes"),
    "beyond the file": ([*ROWS[:-1], (10**6, 35)], "its records are not contiguous"),
    "one within another": ([*ROWS[:2], (50, 35), *ROWS[3:]], "are not contiguous"),
    "in another order": ([ROWS[1], ROWS[0], *ROWS[2:]], "are not contiguous"),
    "again and again": (ROWS * 100, "are not contiguous"),
    "a negative offset": ([*ROWS[:3], (-105, 35), *ROWS[4:]], "are not contiguous"),
    "a negative size": (
        [*ROWS[:3], (105, -35), *ROWS[4:]],
        "of less than 16 or more than 210",
    ),
    "no size": ([*ROWS[:3], (105, 0), *ROWS[4:]], "of less than 16 or more than 210"),
    "a size of 2^62": (
        [*ROWS[:3], (105, 1 << 62), *ROWS[4:]],
        "of less than 16 or more than 210",
    ),
    "a size of 2^64": (
        [*ROWS[:3], (105, 1 << 64), *ROWS[4:]],
        "of less than 16 or more than 210",
    ),
    "another border": ([(0, 36), (36, 34), *ROWS[2:]], "are misplaced"),
    "two records for one": ([(0, 17), (17, 18), *ROWS[1:]], "states 6 records in .* holds 7"),
    "words": ([("an", "index")], "it does not have an offset and a size per line"),
    "a fraction": ([*ROWS[:-1], (175, 35.5)], "it does not have an offset and a size per line"),
}


@pytest.fixture
def dataset(tmp_path):
    """Six records of 35 bytes in a shard, and an empty folder for the index."""
    shard = tmp_path / "tiny-train.tfrecord-00000-of-00001"
    shard.write_bytes(b"".join(framed(example.encode({"number": [n]})) for n in range(6)))
    entry = {"file": shard.name, "num_records": 6, "num_bytes": shard.stat().st_size}
    facts = {
        "format_version": 3,
        "features": [{"name": "number", "kind": "scalar", "dtype": "int64", "shape": []}],
        "splits": {"train": {"num_records": 6, "num_bytes": 210, "shards": [entry]}},
    }
    (tmp_path / "metadata.json").write_text(sealed(facts))
    (tmp_path / "idx").mkdir()
    return tmp_path


@pytest.mark.parametrize("is_stated", first_in_ci([False, True]), ids=["", "with its hash"])
@pytest.mark.parametrize(("rows", "message"), LIES.values(), ids=LIES)
def test_an_index_that_is_not_true(dataset, is_stated, rows, message):
    index = dataset / "idx/tiny-train.tfrecord-00000-of-00001.idx"
    index.write_text("".join(f"{offset} {size}\n" for offset, size in rows))
    if is_stated:
        data = index.read_bytes()
        stated = {"num_bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        edit(dataset / "metadata.json", lambda m: m.update(files={f"idx/{index.name}": stated}))

    with pytest.raises(DatasetDamagedError, match=message):
        tfrecord_dataset.open(dataset)["train"][0]
    index.unlink()
    records = tfrecord_dataset.open(dataset)["train"]
    assert [int(record["number"]) for record in records] == [*range(6)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"kind": "tensor", "key": "x", "shape": [10**12], "default": 0},
            "1,000,000,000,000 values",
        ),
        (
            {"kind": "tensor", "dtype": "nope", "encoding": "bytes"},
            "int64 list of 1, where a bytes",
        ),
        ({"minimum": 10**400}, "minimum is 1000.*, not a number or null"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_feature_that_no_record_can_hold(dataset, changes, message):
    edit(dataset / "metadata.json", lambda m: m["features"][0].update(changes))

    with pytest.raises(DatasetDamagedError, match=message):
        tfrecord_dataset.open(dataset)["train"][0]


def test_statistics_of_a_dataset_that_is_gone(dataset):
    """They are neither those of a later build nor empty."""
    opened = tfrecord_dataset.open(dataset)
    assert opened.statistics() == {}

    dataset.rename(dataset.with_name("gone"))

    with pytest.raises(DatasetChangedError, match="was deleted, or is being built again"):
        opened.statistics()


def test_a_cut_gzip_file_gives_its_whole_records(tmp_path):
    file = tmp_path / "a.tfrecord.gz"
    content = [framed(os.urandom(1000)) for _ in range(8)]
    packed = gzip.compress(b"".join(content))
    file.write_bytes(packed[: len(packed) - 100])
    shards = open_shards([str(file)])
    records = list[bytes]()

    with pytest.raises(DatasetDamagedError, match="ends within its record 7"):
        records.extend(itertools.chain.from_iterable(windows(shards.files, 0, "GZIP")))

    assert list(map(framed, records)) == content[:7]


def test_a_folder_with_a_link_to_itself(tmp_path):
    folder = tmp_path / "x[1]"
    folder.mkdir()
    (folder / "loop").symlink_to("loop")

    with pytest.raises(NotADatasetError, match=r"x\[\[\]1\]/\*\.tfrec\*$"):
        tfrecord_dataset.open(folder)


@pytest.mark.parametrize("pattern", ["*", "**"])
def test_a_pattern_matches_no_folders(tmp_path, pattern):
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.tfrecord").write_bytes(THREE)

    assert storage.matching(f"{tmp_path}/{pattern}") == [str(tmp_path / "a.tfrecord")]
