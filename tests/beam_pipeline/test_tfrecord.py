"""Frames are TensorFlow's, and every damage is named by record and byte."""

import gzip
import io
import struct

import pytest

from beam_pipeline import tfrecord
from beam_pipeline.errors import RecordError
from tfrecord_dataset.format.frames import FRAME_BYTES, framed, masked_checksum, payload_of

PAYLOADS = [b"one", b"", b"three" * 50_000, bytes(range(256))]


@pytest.fixture
def tensorflow_file(tmp_path):
    """Writes a file by TensorFlow."""
    import tensorflow as tf

    def write(payloads, compression=""):
        path = tmp_path / f"written{compression}.tfrecord"
        with tf.io.TFRecordWriter(str(path), compression) as writer:
            for payload in payloads:
                writer.write(payload)
        return path

    return write


def test_frames_are_tensorflows(tensorflow_file):
    path = tensorflow_file(PAYLOADS)

    assert path.read_bytes() == b"".join(map(framed, PAYLOADS))


@pytest.mark.parametrize("compression", ["", "GZIP"])
def test_a_file_is_read_as_it_was_written(tensorflow_file, compression):
    path = tensorflow_file(PAYLOADS, compression)
    read = list(tfrecord.read_file(str(path), compressed=bool(compression)))

    assert [payload_of(frame) for _, frame in read] == PAYLOADS
    lengths = [len(payload) + FRAME_BYTES for payload in PAYLOADS]
    assert [offset for offset, _ in read] == [sum(lengths[:number]) for number in range(4)]


def whole(*payloads):
    return b"".join(map(framed, payloads))


LACKS, NO_LENGTH = "it lacks its last {} bytes", "it does not start with a length"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (whole(b"a") + b"\0", "truncated file: .*record 1, at byte 17: it lacks"),
        (whole(b"a", b"bc")[:-1], f"truncated file: .*record 1, at byte 17: {LACKS.format(1)}"),
        (whole(b"a", b"bc")[: 17 + 12], f"truncated file: .*{LACKS.format(6)}"),
        (whole(b"a") + b"garbage at the end", f"damaged file: .*record 1, at byte 17: {NO_LENGTH}"),
        (whole(b"a") + b"\x01" + whole(b"bc")[1:], "damaged file: .*record 1, at byte 17"),
    ],
)
def test_a_file_that_ends_badly(tmp_path, data, message):
    path = tmp_path / "file"
    path.write_bytes(data)
    for read in (
        lambda: tfrecord.spans(io.BytesIO(data)),
        lambda: tfrecord.read_file(str(path), False),
    ):
        found = []
        with pytest.raises(RecordError, match=f"^{message}"):
            found.extend(read())
        assert len(found) == 1, "the whole records are read"


def test_damaged_gzip(tmp_path):
    path = tmp_path / "file.gz"
    data = gzip.compress(whole(*PAYLOADS), mtime=0)
    for damaged, reason in (
        (data[:-9], "truncated file"),
        (data[:-8] + b"\0\0\0\0" + data[-4:], "damaged file"),
    ):
        path.write_bytes(damaged)
        found = []
        with pytest.raises(RecordError, match=f"^{reason}: ") as raised:
            found.extend(tfrecord.read_file(str(path), compressed=True))
        assert f"record {len(found)}, at byte" in str(raised.value)
        assert len(found) > 1


@pytest.mark.parametrize(
    "byte", [0, 9, 12, -1], ids=["length", "its checksum", "payload", "checksum"]
)
def test_a_flipped_byte_is_found(byte):
    frame = bytearray(framed(b"payload"))
    frame[byte] ^= 0x10
    with pytest.raises(RecordError, match="checksum is wrong"):
        payload_of(bytes(frame))


def test_a_length_beyond_all_measure(tmp_path):
    """Nothing is allocated for it."""
    length = struct.pack("<Q", 1 << 50)
    header = length + struct.pack("<I", masked_checksum(length))
    path = tmp_path / "file"
    path.write_bytes(header + b"a few bytes")

    with pytest.raises(RecordError, match="record too large"):
        list(tfrecord.read_file(str(path), compressed=False))
    with pytest.raises(RecordError, match="truncated file"), open(path, "rb") as handle:
        list(tfrecord.spans(handle))
