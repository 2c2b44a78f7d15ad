"""Work is shared out by what the files are, and its results keep their order."""

import threading
import time

import pytest

from beam_pipeline.records import (
    Array,
    Audio,
    FileRef,
    Image,
    RawFile,
    Record,
    Rejected,
)
from beam_pipeline.running import parallel


def record(path, value=Image):
    return Record(key="a", features={"x": value(file=FileRef(path=path))})


@pytest.mark.parametrize("value", [Image, Audio, Array, RawFile])
def test_remote_files_go_to_many_threads(value):
    elements = [Rejected(source="a", reason="r", detail="d"), record("gs://bucket/a", value)]
    parallelism = parallel.choose_parallelism(elements, threads=0, processes=2)
    assert (parallelism.threads, parallelism.processes) == (16, 2)


def test_remote_examples_go_to_many_threads():
    example = Record(key="a", features={}, example=FileRef(path="s3://bucket/a"))
    assert parallel.choose_parallelism([example], threads=0, processes=0).threads == 16


def test_local_files_go_to_processes_alone():
    parallelism = parallel.choose_parallelism([record("/a.jpg")], threads=0, processes=2)
    assert (parallelism.threads, parallelism.processes) == (1, 2)


@pytest.mark.parametrize("path", ["/a.jpg", "gs://bucket/a.jpg"])
def test_what_was_asked_for_is_done(path):
    parallelism = parallel.choose_parallelism([record(path)], threads=3, processes=2)
    assert (parallelism.threads, parallelism.processes) == (3, 0)


def test_no_files_at_all():
    elements = [Rejected(source="a", reason="r", detail="d"), Record(key="n", features={"n": 1})]
    assert parallel.choose_parallelism(elements, 0, 0) == parallel.Parallelism()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_keep_their_order(threads):
    def late_if_even(number):
        time.sleep(0.01 * (number % 2 == 0))
        return number

    assert list(parallel.map_threads(late_if_even, range(30), threads)) == list(range(30))


def test_no_more_threads_than_asked_for():
    running, most = [], []
    lock = threading.Lock()

    def work(_):
        with lock:
            running.append(1)
            most.append(len(running))
        time.sleep(0.005)
        with lock:
            running.pop()

    list(parallel.map_threads(work, range(40), 3))
    assert 1 < max(most) <= 3


def test_little_is_taken_before_it_is_needed():
    taken = []

    def items():
        for number in range(1000):
            taken.append(number)
            yield number

    results = parallel.map_threads(lambda each: each, items(), 2)
    next(results)
    assert len(taken) <= 10
    results.close()


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_comes_out(threads):
    with pytest.raises(ZeroDivisionError):
        list(parallel.map_threads(lambda each: 1 / each, [1, 0, 1], threads))


@pytest.mark.slow
def test_processes_keep_the_order():
    numbers = range(-20, 0)
    assert list(parallel.start_processes(2).ahead().map(abs, numbers)) == list(range(20, 0, -1))
    assert parallel.started_processes() is parallel.start_processes(2)
    parallel.end_processes()
    assert parallel.started_processes() is None
