"""Compressed inputs are unpacked once, whole or not at all."""

import gzip
import os

import pytest

from beam_pipeline.errors import RecordError
from beam_pipeline.sources import unpacking
from beam_pipeline.sources.unpacking import unpack_gzip

CONTENT = bytes(range(256)) * 1000


@pytest.fixture
def packed(tmp_path):
    path = tmp_path / "numbers.gz"
    path.write_bytes(gzip.compress(CONTENT[:1000]) + gzip.compress(CONTENT[1000:]))
    return path


def read(path):
    with open(path, "rb") as handle:
        return handle.read()


def test_unpack_gzip_in_several_blocks_and_members(packed, tmp_path, monkeypatch):
    monkeypatch.setattr(unpacking, "_BLOCK_BYTES", 1000)
    assert read(unpack_gzip(str(packed), str(tmp_path / "scratch"))) == CONTENT


def test_what_is_there_is_taken_until_the_input_changes(packed, tmp_path):
    scratch = str(tmp_path / "scratch")
    path = unpack_gzip(str(packed), scratch)
    before = os.stat(path).st_ino
    assert unpack_gzip(str(packed), scratch) == path
    assert os.stat(path).st_ino == before
    packed.write_bytes(gzip.compress(b"other"))
    assert read(unpack_gzip(str(packed), scratch)) == b"other"


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        pytest.param(lambda data: data[:-5], "truncated file", id="truncated"),
        pytest.param(lambda data: b"x" + data[1:], "damaged file", id="not gzip"),
        pytest.param(lambda data: data[:-6] + b"\0\0" + data[-4:], "damaged file", id="checksum"),
        pytest.param(
            lambda data: data[:600] + b"\xff" * 200 + data[800:], "damaged file", id="data"
        ),
        pytest.param(lambda data: data + b"garbage", "damaged file", id="trailing garbage"),
    ],
)
def test_damaged_gzip_leaves_nothing(packed, tmp_path, damage, reason):
    packed.write_bytes(damage(packed.read_bytes()))
    scratch = tmp_path / "scratch"
    with pytest.raises(RecordError, match=rf"{reason}: numbers\.gz: "):
        unpack_gzip(str(packed), str(scratch))
    assert list(scratch.iterdir()) == []


def test_a_missing_file(tmp_path):
    with pytest.raises(RecordError, match=r"missing file: nowhere\.gz"):
        unpack_gzip(str(tmp_path / "nowhere.gz"), str(tmp_path / "scratch"))
