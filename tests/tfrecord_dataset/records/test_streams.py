"""Windows of compressed files, read in any order, unpack each file once."""

import gzip

import pytest

from tfrecord_dataset.format.frames import FRAME_BYTES, framed
from tfrecord_dataset.records import shard_files
from tfrecord_dataset.records.opening import open_shards


@pytest.fixture
def stream(tmp_path, monkeypatch):
    """Windows of one record in two files, and the files in the order of their first read."""
    payloads = [bytes([number]) * 100 for number in range(6)]
    paths = [tmp_path / name for name in ("a", "b")]
    for path, half in zip(paths, (payloads[:3], payloads[3:]), strict=True):
        path.write_bytes(gzip.compress(b"".join(map(framed, half))))
    monkeypatch.setattr(shard_files, "_BLOCK_BYTES", 100 + FRAME_BYTES)
    begun = []
    windows = shard_files.windows
    monkeypatch.setattr(
        shard_files, "windows", lambda *told: begun.append(told[1]) or windows(*told)
    )
    shards = open_shards([str(path) for path in paths])
    return shard_files.Streams(shards.files, shards.compression), payloads, begun


def test_windows_in_order_are_unpacked_once(stream):
    found, payloads, begun = stream
    windows = [found.window(number) for number in range(7)]
    assert windows == [(number, [payload]) for number, payload in enumerate(payloads)] + [(0, [])]
    assert begun == [0, 1]


def test_a_window_that_nothing_led_to_is_found_from_the_beginning(stream):
    found, payloads, begun = stream
    assert found.window(4) == (4, [payloads[4]])
    assert found.window(1) == (1, [payloads[1]])
    assert begun == [0, 1, 0]
    # Both continue in parallel.
    assert (found.window(5), found.window(2)) == ((5, [payloads[5]]), (2, [payloads[2]]))
    assert begun == [0, 1, 0]


def test_a_record_may_span_blocks(tmp_path, monkeypatch):
    payloads = [b"a" * 500, b"", b"b" * 1_000]
    (tmp_path / "a").write_bytes(gzip.compress(b"".join(map(framed, payloads))))
    monkeypatch.setattr(shard_files, "_BLOCK_BYTES", 100)
    shards = open_shards([str(tmp_path / "a")])
    found = shard_files.windows(shards.files, 0, shards.compression)
    assert [record for window in found for record in window] == payloads
