"""Work is distributed according to its files, and results keep their order."""

import errno
import os
import time

import pytest
from inspecting import in_columns

from beam_pipeline.batch import Examples
from beam_pipeline.errors import UnavailableError
from beam_pipeline.records import Array, Audio, FileRef, Image, RawFile, Record, Rejected
from beam_pipeline.running import parallel


def record(path, value=Image):
    return Record(key="a", features={"x": value(file=FileRef(path=path))})


REJECT = Rejected(source="a", reason="r", detail="d")
EXAMPLE = Record(key="a", features={}, example=FileRef(path="s3://bucket/a"))


@pytest.mark.parametrize(
    ("elements", "asked", "expected"),
    [
        *(
            pytest.param([REJECT, record("gs://bucket/a", kind)], 0, (64, 2), id=kind.__name__)
            for kind in (Image, Audio, Array, RawFile)
        ),
        pytest.param([EXAMPLE], 0, (64, 2), id="remote Examples"),
        pytest.param([record("/a.jpg")], 0, (1, 2), id="local files go only to processes"),
        pytest.param([record("/a.jpg")], 3, (3, 0), id="as asked for"),
        pytest.param([record("gs://bucket/a.jpg")], 3, (3, 0), id="as asked for, remote"),
        pytest.param([REJECT, Record(key="n", features={"n": 1})], 0, (1, 2), id="no files"),
    ],
)
def test_who_does_the_work(elements, asked, expected):
    examples = [each for each in in_columns(elements) if isinstance(each, Examples)]
    found = parallel.choose_parallelism(examples, threads=asked, processes=2)
    assert (found.threads, found.processes) == expected


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        pytest.param(Record(key="n", features={"n": 1, "t": "text"}), True, id="numbers, texts"),
        pytest.param(record("/a.jpg"), False, id="a file"),
        pytest.param(EXAMPLE, False, id="an Example"),
    ],
)
def test_what_is_checked_by_column(element, expected):
    [examples] = in_columns([element])
    assert parallel.are_by_column(examples) == expected


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_keep_their_order(threads):
    def late_if_even(number):
        time.sleep(0.01 * (number % 2 == 0))
        return number

    assert list(parallel.map_threads(late_if_even, range(30), threads)) == list(range(30))


def with_process(shard):
    return shard, os.getpid()


@pytest.mark.parametrize("large", [False, True])
def test_map_shards(tmp_path, monkeypatch, large):
    paths = [str(tmp_path / name) for name in ("a", "b", "missing")]
    for path in paths[:2]:
        with open(path, "wb") as file:
            file.write(bytes(6))
    monkeypatch.setattr(parallel, "_FEW_BYTES", 12 if large else 13)
    done = parallel.map_shards(with_process, [1, 2, 3], paths, 2)
    assert [shard for shard, _ in done] == [1, 2, 3]
    assert all((process != os.getpid()) == large for _, process in done)
    assert parallel.started_processes() is None


def test_a_system_without_room_for_processes_is_named(monkeypatch):
    def refuse(*args):
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(parallel, "_processes", None)
    monkeypatch.setattr(parallel, "WorkerPool", refuse)
    with pytest.raises(UnavailableError, match=r"temporarily unavailable\); end other .*threads 1"):
        parallel.start_processes(1)
