"""Whatever is damaged in a TFRecord file, the frames that are whole are found, and no others."""

import io
import random
import struct
import tracemalloc

import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from beam_pipeline.tfrecord.whole_frames import Gap, whole_frames
from tfrecord_dataset.frames import framed, masked_checksum

PAYLOADS = [b"", b"one", bytes(300), bytes(range(256)) * 9, b"five"]
FRAMES = [framed(payload) for payload in PAYLOADS]
DATA = b"".join(FRAMES)
STARTS = [sum(map(len, FRAMES[:number])) for number in range(len(FRAMES) + 1)]


def parts(data):
    """(frames, gaps) of a file."""
    found = list(whole_frames(io.BytesIO(data)))
    gaps = [part for part in found if isinstance(part, Gap)]
    frames = [part for part in found if not isinstance(part, Gap)]
    assert all(data[offset : offset + len(frame)] == frame for offset, frame in frames)
    covered = sorted([(o, len(f)) for o, f in frames] + [(g.offset, g.length) for g in gaps])
    assert sum(length for _, length in covered) == len(data)
    return [frame for _, frame in frames], gaps


def lying(length):
    """A length with the right checksum."""
    header = struct.pack("<Q", length)
    return header + struct.pack("<I", masked_checksum(header))


def flip(data, byte):
    return data[:byte] + bytes([data[byte] ^ 1]) + data[byte + 1 :]


def spliced(start, between, stop):
    """With other bytes in the fourth record."""
    return DATA[: STARTS[3] + start] + between + DATA[STARTS[3] + stop :]


@pytest.mark.parametrize(
    ("data", "kept", "cause"),
    [
        pytest.param(DATA, [0, 1, 2, 3, 4], "", id="whole"),
        pytest.param(b"", [], "", id="empty"),
        pytest.param(flip(DATA, STARTS[1]), [0, 2, 3, 4], "length does not match", id="length"),
        pytest.param(flip(DATA, STARTS[1] + 9), [0, 2, 3, 4], "length does not", id="its checksum"),
        pytest.param(flip(DATA, STARTS[1] + 13), [0, 2, 3, 4], "payload does not", id="payload"),
        pytest.param(flip(DATA, STARTS[2] - 1), [0, 2, 3, 4], "payload does not", id="the other"),
        pytest.param(flip(DATA, 0), [1, 2, 3, 4], "length does not match", id="the first"),
        pytest.param(DATA[:-1], [0, 1, 2, 3], "the file ends 1 bytes before", id="cut off"),
        pytest.param(DATA[: STARTS[4] + 5], [0, 1, 2, 3], "within a record", id="in a length"),
        pytest.param(DATA[3:], [1, 2, 3, 4], "length does not match", id="without its start"),
        pytest.param(b"\0" * 5000 + DATA, [0, 1, 2, 3, 4], "length does not", id="zeros before"),
        pytest.param(spliced(400, b"", 500), [0, 1, 2, 4], "ends", id="shorter"),
        pytest.param(spliced(400, b"new", 400), [0, 1, 2, 4], "payload", id="longer"),
        pytest.param(
            DATA[: STARTS[4] - 5 - len(FRAMES[4])] + DATA[STARTS[4] - 5 :],
            [0, 1, 2, 4], "payload", id="shorter by the next one",
        ),
        pytest.param(
            DATA[: STARTS[2]] + bytes(len(FRAMES[2])) + DATA[STARTS[3] :],
            [0, 1, 3, 4], "length does not", id="zeros between",
        ),
        pytest.param(lying(1 << 40) + DATA, [0, 1, 2, 3, 4], "is more than", id="lies a lot"),
        pytest.param(lying(1 << 30) + DATA, [0, 1, 2, 3, 4], "the file ends", id="lies a bit"),
        pytest.param(lying(40) + DATA, [0, 1, 2, 3, 4], "payload does not", id="lies"),
        pytest.param(
            flip(framed(DATA + b"tail"), 12 + len(DATA)) + FRAMES[1],
            [1], "payload", id="frames within",
        ),
    ],
)  # fmt: skip
def test_what_is_whole(data, kept, cause):
    frames, gaps = parts(data)
    assert frames == [FRAMES[number] for number in kept]
    assert [cause in gap.cause for gap in gaps] == ([True] if cause else [])


@pytest.mark.parametrize("length", [(1 << 24) - 1, 1 << 24])
def test_large_records_are_found_behind_what_is_damaged(length):
    large = framed(bytes(length))
    assert [len(frame) for frame in parts(b"noise" + large)[0]] == [len(large)]


def test_a_block_ends_anywhere(monkeypatch):
    """Lengths are found across the blocks in which they are looked for."""
    for bytes_a_block in (1, 7, 12, 13, 100):
        monkeypatch.setattr("beam_pipeline.tfrecord.whole_frames._BLOCK_BYTES", bytes_a_block)
        assert parts(b"noise" + DATA)[0] == FRAMES


@given(st.data())
def test_what_nobody_has_touched_is_kept(data):
    """Bytes are overwritten, cut out and put in; all frames outside of that are found."""
    start = data.draw(st.integers(0, len(DATA)))
    end = data.draw(st.integers(start, min(len(DATA), start + 700)))
    noise = data.draw(st.binary(max_size=700))
    changed = DATA[:start] + noise + DATA[end:]
    frames, _ = parts(changed)
    untouched = [
        frame
        for frame, first, last in zip(FRAMES, STARTS, STARTS[1:], strict=False)
        if last <= start or first >= end
    ]
    assert [frame for frame in frames if frame in untouched] == untouched


def test_tensorflows_files(tmp_path):
    path = str(tmp_path / "x")
    with tf.io.TFRecordWriter(path) as writer:
        for payload in PAYLOADS:
            writer.write(payload)
    assert parts((tmp_path / "x").read_bytes())[0] == FRAMES


def test_lying_lengths_take_no_memory():
    """Not even where very many of them do."""
    data = b"".join(lying((1 << 30) - number) for number in range(5_000)) + DATA
    tracemalloc.start()
    try:
        assert parts(data)[0] == FRAMES
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()


def test_random_bytes_hold_no_frame():
    assert parts(random.Random(0).randbytes(3 << 20))[0] == []
