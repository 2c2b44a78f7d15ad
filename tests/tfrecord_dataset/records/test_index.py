"""Positions of ten million records: read by shard when needed, and compact."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from tfrecord_dataset.errors import DatasetDamagedError
from tfrecord_dataset.records.index import RecordIndex
from tfrecord_dataset.records.shard_files import ShardFiles
from tfrecord_dataset.store.pinned_files import LocalFiles

NUM_SHARDS, LENGTH = 1000, 10_000
SIZES = np.random.default_rng(0).integers(15_000, 25_000, LENGTH)
STARTS = np.concatenate([[0], np.cumsum(SIZES)])


@pytest.fixture
def many(tmp_path):
    """An index of a thousand sparse files of 200 MB, and the shards whose .idx was read."""
    rows = zip(STARTS[:-1].tolist(), SIZES.tolist(), strict=True)
    lines = b"".join(b"%d %d\n" % row for row in rows)
    paths = [str(tmp_path / f"{number:03}") for number in range(NUM_SHARDS)]
    for path in paths:
        with Path(path).open("wb") as file:
            file.truncate(int(STARTS[-1]))
    read = []

    def read_index(shard):
        read.append(shard)
        return lines

    shards = ShardFiles(LocalFiles(paths), "", read_index)
    return RecordIndex(shards, [LENGTH] * NUM_SHARDS), read


def test_nothing_is_read_at_the_start_and_then_the_shards_of_the_records(many):
    index, read = many
    assert index.num_records == NUM_SHARDS * LENGTH
    assert index.num_bytes == NUM_SHARDS * STARTS[-1]
    assert index.shard_of(np.array([0, LENGTH, 9_999_999])).tolist() == [0, 1, 999]
    assert read == []

    numbers = np.array([7_123_456, 3, 7_123_457, 12_345])
    shards, starts, ends = index.locate(numbers)

    places = numbers % LENGTH
    assert shards.tolist() == [712, 0, 712, 1]
    assert starts.tolist() == STARTS[places].tolist()
    assert ends.tolist() == STARTS[places + 1].tolist()
    index.locate(numbers)
    assert sorted(read) == [0, 1, 712]


def test_four_bytes_per_record_are_held(many):
    index, read = many
    tracemalloc.start()
    try:
        index.locate(np.arange(0, NUM_SHARDS * LENGTH, LENGTH))
        held, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert len(read) == NUM_SHARDS
    assert held <= 4.2 * index.num_records
    assert most <= held + 64 * 40 * LENGTH


def test_a_shard_of_more_than_four_gigabytes(tmp_path):
    starts = np.arange(6) << 30
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(int(starts[-1]))
    text = "".join(f"{start} {1 << 30}\n" for start in starts[:-1])
    shards = ShardFiles(LocalFiles([str(path)]), "", lambda shard: text.encode())

    assert RecordIndex(shards, [5]).bounds_of(0).tolist() == starts.tolist()


def test_a_number_of_records_that_differs_from_the_index_is_named_when_it_is_read(many):
    index, _ = many
    wrong = RecordIndex(index.shards, [LENGTH] * (NUM_SHARDS - 1) + [LENGTH - 1])

    wrong.locate(np.array([0]))
    with pytest.raises(DatasetDamagedError, match=r"states 9,999 records in .*/999, but it holds"):
        wrong.locate(np.array([9_999_998]))
