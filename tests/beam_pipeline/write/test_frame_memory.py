"""Frames that a worker process leaves in memory."""

import os
from concurrent.futures import ProcessPoolExecutor

import loky
import pytest

from beam_pipeline.write.frame_memory import FrameMemory, MemoryFile, leave


def left(item: tuple[bytes, MemoryFile | None]) -> bool:
    return leave(*item)


@pytest.mark.parametrize(
    "executor", [ProcessPoolExecutor, loky.ProcessPoolExecutor], ids=["a copy", "a new process"]
)
def test_other_processes_leave_frames_in_turn(executor):
    frames = [bytes([number]) * size for number, size in enumerate([3, 1, 5 << 20, 2, 7])]
    with executor(1) as pool, FrameMemory(2) as memory:
        for each in frames:
            assert pool.submit(left, (each, memory.give())).result()
            assert memory.take(len(each)) == each


def test_each_call_has_its_turn_whatever_way_its_frames_came():
    with FrameMemory(2) as memory:
        first, second = memory.give(), memory.give()
        assert not leave(b"", first)
        assert leave(b"abc", second)
        assert memory.take(0) == b""
        assert memory.take(3) == b"abc"


def test_a_file_that_was_opened_later_in_its_place_is_left_alone(tmp_path):
    with FrameMemory(1) as memory:
        place = memory.give()
    other = os.open(tmp_path / "shard", os.O_CREAT | os.O_RDWR)
    at = f"/proc/{os.getpid()}/fd/{other}"
    assert not leave(b"abc", place._replace(path=at))
    assert (tmp_path / "shard").read_bytes() == b""
    os.close(other)
    assert not leave(b"abc", place)


def test_nothing_stays_open():
    before = len(os.listdir("/proc/self/fd"))
    with FrameMemory(3) as memory:
        memory.give()
        assert len(os.listdir("/proc/self/fd")) == before + 3
    assert len(os.listdir("/proc/self/fd")) == before


def test_without_such_memory_frames_come_by_the_pipe(monkeypatch):
    monkeypatch.delattr(os, "memfd_create")
    with FrameMemory(3) as memory:
        place = memory.give()
        assert place is None
        assert not leave(b"abc", place)
        assert memory.take(0) == b""
