"""Every whole frame of a TFRecord file becomes a record; incomplete data is rejected."""

import contextlib
import gzip
import zlib

import numpy as np
import pytest
from eager_runner import yielded

from beam_pipeline.files import storage
from beam_pipeline.records import Record, Rejected
from beam_pipeline.sources.tfrecord.read_tfrecords import ReadTFRecords, first_records, list_records
from beam_pipeline.sources.tfrecord.record_files import RecordFile, find_record_files
from tfrecord_dataset.format.example import encode
from tfrecord_dataset.format.frames import framed, payload_of

PAYLOADS = [encode({"x": [number]}) for number in range(5)]
WHOLE = b"".join(map(framed, PAYLOADS))


@pytest.fixture
def listed(tmp_path):
    """List the records of a file with given bytes: payloads and rejects."""

    def listing(data, compressed=False):
        path = tmp_path / "a.tfrecord"
        path.write_bytes(gzip.compress(data, mtime=0) if compressed is True else data)
        file = RecordFile(
            path=str(path), relative="in/a.tfrecord", split="train", compressed=bool(compressed)
        )
        found = list(list_records(file, str(tmp_path / "scratch"), {}))
        records = [each for each in found if isinstance(each, Record)]
        assert [record.key for record in records] == [
            f"in/a.tfrecord:{n}" for n in range(len(records))
        ]
        read = [payload_of(storage.read_bytes(record.example)) for record in records]
        return read, [each for each in found if isinstance(each, Rejected)]

    return listing


@pytest.mark.parametrize("compressed", [False, True])
def test_every_record_is_listed(listed, compressed):
    assert listed(WHOLE, compressed) == (PAYLOADS, [])


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize(
    ("data", "reason", "detail"),
    [
        (WHOLE[:-3], "truncated file", "record 4, at byte"),
        (WHOLE + b"garbage, many bytes", "damaged file", "record 5, at byte"),
    ],
)
def test_whole_records_before_the_damage_are_used(listed, data, reason, detail, compressed):
    payloads, (rejected,) = listed(data, compressed)

    assert payloads == PAYLOADS[: 4 if reason == "truncated file" else 5]
    assert (rejected.source, rejected.reason, rejected.bad) == ("in/a.tfrecord", reason, True)
    assert detail in rejected.detail


# Random bytes do not compress, so that each byte of the gzip file holds about one of the content.
_LONG = [encode({"x": [np.random.default_rng(number).bytes(3000)]}) for number in range(5)]
_PACKED = gzip.compress(b"".join(map(framed, _LONG)), mtime=0)
_COMPRESSIBLE = [encode({"x": [f"text {number} ".encode() * 500]}) for number in range(5)]
_DENSE = gzip.compress(b"".join(map(framed, _COMPRESSIBLE)), mtime=0)


@pytest.mark.parametrize(
    ("data", "whole", "reason", "record"),
    [
        pytest.param(_PACKED[:-200], _LONG[:4], "truncated file", 4, id="cut in the last record"),
        pytest.param(_PACKED[:-4], _LONG, "truncated file", 5, id="cut in the trailer"),
        pytest.param(_PACKED[:12], [], "truncated file", 0, id="cut in the first record"),
        pytest.param(_PACKED[:-8] + bytes(8), _LONG, "damaged file", 5, id="wrong checksum"),
        pytest.param(
            gzip.compress(framed(_LONG[0]), mtime=0) + _PACKED[:-200],
            [_LONG[0], *_LONG[:4]],
            "truncated file",
            5,
            id="cut in a second member",
        ),
    ],
)
def test_whole_records_before_damage_to_gzip_are_used(listed, data, whole, reason, record):
    payloads, (rejected,) = listed(data, compressed="already")
    assert (payloads, [rejected]) == listed(data, compressed="already"), "it is repeatable"

    assert payloads == whole
    assert (rejected.source, rejected.reason) == ("in/a.tfrecord", reason)
    assert f"at record {record}, byte {len(b''.join(map(framed, whole)))}" in rejected.detail


@pytest.mark.parametrize("place", range(20, len(_DENSE), 7))
def test_a_flipped_byte_costs_no_record_before_it(place, tmp_path):
    data = bytearray(_DENSE)
    data[place] ^= 0xFF
    unpacking, content = zlib.decompressobj(31), b""
    with contextlib.suppress(zlib.error):
        for byte in data:
            content += unpacking.decompress(bytes([byte]))
    framed_ones = list(map(framed, _COMPRESSIBLE))
    expected = sum(content.startswith(b"".join(framed_ones[: n + 1])) for n in range(5))

    path = tmp_path / "a.tfrecord.gz"
    path.write_bytes(data)
    file = RecordFile(path=str(path), relative=path.name, split="train", compressed=True)
    *records, rejected = list_records(file, str(tmp_path / "scratch"), {})

    frames = [storage.read_bytes(record.example) for record in records[:expected]]
    assert frames == framed_ones[:expected]
    assert isinstance(rejected, Rejected)


def test_an_empty_file(listed):
    payloads, (rejected,) = listed(b"")

    assert payloads == []
    assert (rejected.reason, rejected.bad) == ("no records", False)


def test_a_folder(tmp_path):
    for number in range(3):
        data = gzip.compress(WHOLE) if number == 2 else WHOLE
        (tmp_path / f"data_{number}.tfrecord").write_bytes(data)
    (tmp_path / "README").write_text("what this is")
    found = yielded(ReadTFRecords(str(tmp_path), str(tmp_path / "scratch")))
    records = [each for each in found if isinstance(each, Record)]

    keys = {f"data_{number}.tfrecord:{record}" for number in range(3) for record in range(5)}
    assert {each.key for each in records} == keys
    assert {each.expected["x"].kind for each in records} == {"int64"}
    assert [each.source for each in found if isinstance(each, Rejected)] == ["README"]


def test_the_first_records_are_of_several_files(tmp_path):
    for number in range(8):
        (tmp_path / f"{number}.tfrecord").write_bytes(framed(b"payload") * 100)
    broken = bytearray(framed(b"payload") * 100)
    broken[13] ^= 1
    (tmp_path / "0.tfrecord").write_bytes(broken)
    sources = [source for source, _ in first_records(find_record_files(str(tmp_path))[0])]

    assert len(sources) == 256
    assert sources[0] == "0.tfrecord:1", "a damaged one is left out"
    assert sources[-1] == "4.tfrecord:0"
