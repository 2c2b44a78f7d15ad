"""Compressed files of every kind: read whole or rejected, with a limit on the unpacked size."""

import bz2
import gzip
import lzma
import zlib

import pyarrow as pa
import pytest

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.sources.unpacking import blocks_of
from tfrecord_dataset.format import inflation

CONTENT = bytes(range(256)) * 600
PACK = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda data: pa.compress(data, "zstd", asbytes=True),
}


@pytest.fixture(params=PACK)
def written(request, tmp_path):
    """written(change of the packed bytes) -> the path of a file of two streams."""

    def write(change=lambda data: data, content=CONTENT):
        pack = PACK[request.param]
        path = tmp_path / f"a.csv.{request.param}"
        path.write_bytes(change(pack(content[:1000]) + pack(content[1000:])))
        return str(path)

    return write


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_streams_in_a_row_are_read_as_one_in_parts_of_any_size(written, size):
    path = written(content=CONTENT[:3000])
    with storage.decompressed(path) as content:
        assert content.read(0) == b""
        parts = [*iter(lambda: content.read(size), b"")]
        assert b"".join(parts) == CONTENT[:3000]
        assert max(map(len, parts)) <= size
        assert content.tell() == 3000


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda data: data[:-7], id="cut short"),
        pytest.param(lambda data: data + b"more", id="something behind"),
        pytest.param(lambda data: b"x" + data[1:], id="another file"),
        pytest.param(lambda data: data[:4] + b"\xff" * 20 + data[24:], id="damaged"),
    ],
)
def test_what_is_not_whole_is_a_reject(written, change):
    with pytest.raises(RecordError, match=r"(truncated|damaged) file: a\.csv\."):
        list(blocks_of(written(change)))


def test_what_is_far_larger_than_its_file_is_refused(written, monkeypatch):
    monkeypatch.setattr(inflation, "MAX_BYTES", 1 << 20)
    assert b"".join(blocks_of(written(content=bytes(1 << 20)))) == bytes(1 << 20)
    path = written(content=bytes(12 << 20))
    blocks = []
    with pytest.raises(RecordError, match="file too large: a"):
        blocks.extend(blocks_of(path))
    assert sum(map(len, blocks)) < 8 << 20


def test_xz_that_asks_for_gigabytes_is_refused(tmp_path):
    """The byte after the filter's number and size is the dictionary's size; 39 is 3 GiB."""
    data = bytearray(lzma.compress(b"x" * 100))
    assert data[14:16] == b"\x21\x01"
    data[16] = 39
    data[20:24] = zlib.crc32(data[12:20]).to_bytes(4, "little")
    path = tmp_path / "a.csv.xz"
    path.write_bytes(data)
    with pytest.raises(RecordError, match=r"damaged file: a\.csv\.xz: Memory usage limit"):
        list(blocks_of(str(path)))
