"""Windows are read in runs of neighbours; unreadable records are named."""

from unittest import mock

import numpy as np
import pytest
import tensorflow as tf

from tfrecord_dataset.format.example import encode
from tfrecord_dataset.format.frames import framed
from tfrecord_dataset.records.index import RecordIndex
from tfrecord_dataset.records.opening import open_shards
from tfrecord_dataset.records.reader import RecordReader
from trainer.input_pipeline import record_source
from trainer.input_pipeline.record_source import WindowReader, runs_of

SMALL, LARGE = 10, 300_000  # bytes of a record


def write(path, sizes):
    frames = [framed(encode({"x": [bytes([number]) * size]})) for number, size in enumerate(sizes)]
    path.write_bytes(b"".join(frames))


@pytest.fixture
def index_of(tmp_path):
    """Index of shards with small and large records."""

    def make(*shards):
        for number, sizes in enumerate(shards):
            write(tmp_path / f"{number}.tfrecord", sizes)
        return RecordIndex(open_shards(sorted(map(str, tmp_path.glob("*.tfrecord")))))

    return make


@pytest.mark.parametrize(
    ("shards", "numbers", "expected"),
    [
        pytest.param([[SMALL] * 4], [], [], id="nothing"),
        pytest.param([[SMALL] * 4], [3, 1, 2], [(0, 3)], id="neighbours"),
        pytest.param([[SMALL] * 4], [2, 2, 0], [(0, 3)], id="a small record is read over"),
        pytest.param([[LARGE] * 4], [0, 2], [(0, 1), (0, 1)], id="a large one is not"),
        pytest.param([[SMALL] * 2, [SMALL] * 2], [3, 0, 1], [(0, 2), (1, 1)], id="two shards"),
        pytest.param([[SMALL] * 2, [], [SMALL]], [2, 1], [(0, 1), (2, 1)], id="an empty shard"),
        pytest.param([[LARGE] * 8], range(8), [(0, 3), (0, 3), (0, 2)], id="a megabyte"),
    ],
)
def test_runs(index_of, shards, numbers, expected):
    index = index_of(*shards)
    numbers = np.array([*numbers], np.int64)

    runs = runs_of(index, numbers)

    assert list(zip(runs.shards.tolist(), runs.counts.tolist(), strict=True)) == expected


def read_window(index, numbers, read=None):
    """Read the records of a window with these numbers."""
    keys = np.stack([np.zeros(len(numbers), np.int64), numbers], axis=1)
    reader = WindowReader(index, read or RecordReader(index).read)
    parts = reader.windows(tf.data.Dataset.from_tensors(tf.constant(keys)), lambda keys: keys)
    return [record for records, _ in parts.as_numpy_iterator() for record in records]


@pytest.mark.parametrize("seed", range(3))
def test_a_window_holds_the_records_of_its_numbers(index_of, seed):
    random = np.random.default_rng(seed)
    shards = [random.integers(0, 200, size).tolist() for size in (40, 0, 1, 60)]
    index = index_of(*shards)
    numbers = random.integers(0, index.num_records, 70)

    assert read_window(index, numbers) == RecordReader(index).read(numbers).tolist()


def test_a_damaged_record_is_named_with_its_shard(index_of, tmp_path):
    index = index_of([SMALL] * 4, [SMALL] * 4)
    data = bytearray((tmp_path / "1.tfrecord").read_bytes())
    data[-10] ^= 1
    (tmp_path / "1.tfrecord").write_bytes(data)
    index = RecordIndex(open_shards(sorted(map(str, tmp_path.glob("*.tfrecord")))))

    assert len(read_window(index, np.arange(7))) == 7
    with pytest.raises(tf.errors.OpError, match=r"record 3 of .*1\.tfrecord has a wrong checksum"):
        read_window(index, np.arange(8))


def test_a_shard_that_takes_the_name_of_an_open_one_is_not_read(index_of, tmp_path):
    index = index_of([SMALL] * 4)
    before = RecordReader(index).read(np.arange(4)).tolist()
    write(tmp_path / "other", [LARGE] * 4)
    (tmp_path / "other").replace(tmp_path / "0.tfrecord")

    assert read_window(index, np.arange(4)) == before


@pytest.mark.parametrize(("most", "reads"), [(99, 1), (100, 0)])
def test_many_short_runs_are_read_by_number(index_of, monkeypatch, most, reads):
    index = index_of([SMALL] * 200, [SMALL] * 200)
    numbers = np.random.default_rng(0).permutation(np.arange(0, 400, 4))
    monkeypatch.setattr(record_source, "_RECORD_COST_BYTES", 1 << 20)  # each is a run
    monkeypatch.setattr(record_source, "_MANY_RUNS", most)
    read = mock.Mock(wraps=RecordReader(index).read)

    found = read_window(index, numbers, read)

    assert read.call_count == reads
    assert found == RecordReader(index).read(numbers).tolist()


def test_a_shard_that_tensorflow_cannot_open_is_read_by_its_ranges(index_of, monkeypatch):
    index = index_of([SMALL] * 4)
    monkeypatch.setattr(index.shards.plain, "paths", lambda numbers: [""] * len(numbers))

    assert read_window(index, np.arange(4)) == RecordReader(index).read(np.arange(4)).tolist()
