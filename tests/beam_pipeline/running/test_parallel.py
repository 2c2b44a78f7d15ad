"""Work is shared out by what the files are, and its results keep their order."""

import threading
import time

import pytest

from beam_pipeline.records import (
    Array,
    Audio,
    FileContent,
    FileRef,
    Image,
    Record,
    Rejected,
    StoredExample,
)
from beam_pipeline.running import parallel


def records(tmp_path, size, value=Image):
    path = tmp_path / f"{size}.jpg"
    path.write_bytes(bytes(size))
    return [Record(key="a", features={"x": value(file=FileRef(path=str(path)))})] * 3


def test_small_files_go_to_processes(tmp_path):
    labour = parallel.divide_labour(records(tmp_path, 3000), threads=0, processes=2)
    assert (labour.threads, labour.processes) == (1, 2)


def test_large_files_go_to_threads(tmp_path, monkeypatch):
    monkeypatch.setattr(parallel.os, "cpu_count", lambda: 6)
    labour = parallel.divide_labour(records(tmp_path, 100_000), threads=0, processes=2)
    assert (labour.threads, labour.processes) == (6, 0)


@pytest.mark.parametrize("value", [Image, Audio, Array, FileContent])
def test_files_of_every_kind_are_looked_at(tmp_path, monkeypatch, value):
    monkeypatch.setattr(parallel.os, "cpu_count", lambda: 6)
    assert parallel.divide_labour(records(tmp_path, 100_000, value), 0, processes=2).threads == 6


@pytest.mark.parametrize("length", [3000, 100_000])
def test_of_a_range_its_own_length_counts(tmp_path, monkeypatch, length):
    monkeypatch.setattr(parallel.os, "cpu_count", lambda: 6)
    path = tmp_path / "a.tfrecord"
    path.write_bytes(bytes(1_000_000))
    file = FileRef(path=str(path), length=length)
    member = Record(key="a", features={"image": Image(file=file)})
    example = Record(key="a", features={}, example=StoredExample(file=file))
    for record in (member, example):
        labour = parallel.divide_labour([record], threads=0, processes=2)
        assert bool(labour.processes) == (length == 3000)


def test_remote_files_go_to_many_threads():
    remote = [Record(key="a", features={"image": Image(file=FileRef(path="gs://bucket/a.jpg"))})]
    labour = parallel.divide_labour(remote, threads=0, processes=2)
    assert (labour.threads, labour.processes) == (16, 0)


def test_what_was_asked_for_is_done(tmp_path):
    labour = parallel.divide_labour(records(tmp_path, 3000), threads=3, processes=2)
    assert (labour.threads, labour.processes) == (3, 0)


def test_no_files_at_all():
    elements = [Rejected(source="a", reason="r", detail="d"), Record(key="n", features={"n": 1})]
    assert parallel.divide_labour(elements, threads=0, processes=0).processes == 0


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


def test_processes_keep_the_order():
    assert list(parallel.ahead_in_processes(2).map(abs, range(-20, 0))) == list(range(20, 0, -1))
