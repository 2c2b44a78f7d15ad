"""Small files are distributed among processes, without an effect on the output."""

import functools
import multiprocessing
import os
import pickle
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tiers import first_in_ci

from beam_pipeline import pipeline
from beam_pipeline.config import BuildConfig
from beam_pipeline.dataset.opening import Dataset
from beam_pipeline.errors import BeamTFRecordsError
from beam_pipeline.pipeline import build
from beam_pipeline.running import parallel, worker_processes
from beam_pipeline.running.memory import ONE_THREAD
from beam_pipeline.write import write_shards
from beam_pipeline.write.encoding import EncodedChunk

NUM_IMAGES = 600


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """Tiny images in two classes, one of them empty."""
    folder = tmp_path / "images"
    for number in range(NUM_IMAGES):
        path = folder / f"class_{number % 2}" / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 4), (number % 256, number // 256, 0)).save(path)
    (folder / "class_0" / "empty.png").touch()
    return folder


def hashes(info: Dataset) -> list[str]:
    return [shard.sha256 for shards in info.splits.values() for shard in shards]


def test_processes_write_the_same_bytes(images, tmp_path, monkeypatch):
    monkeypatch.setattr(write_shards, "RECORDS_WITHOUT_PROCESSES", 100)
    options = {"input": str(images), "num_shards": 3, "max_bad_fraction": 0.1}
    processes = parallel.start_processes(1)
    while not processes.ready:
        time.sleep(0.05)
    in_processes = build(BuildConfig(output=str(tmp_path / "processes"), **options))
    assert parallel.started_processes() is None  # the build ends them
    alone = build(BuildConfig(output=str(tmp_path / "alone"), threads=1, **options))
    assert hashes(in_processes) == hashes(alone)
    assert in_processes.num_records("train") == NUM_IMAGES
    assert in_processes.metadata["rejected"] == {"empty file": 1}


DIE = """
import dataclasses, os, pathlib, signal, sys, time
from beam_pipeline.running.worker_processes import Work

# Some numbers kill their process; with a folder only the first time.
@dataclasses.dataclass
class Batch(Work):
    deadly: list
    folder: str
    in_pieces: list

    def __call__(self, number):
        died = pathlib.Path(self.folder, f"{number}")
        if number in self.deadly and not (self.folder and died.exists()):
            if self.folder:
                died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    def piece_by_piece(self, number):
        self.in_pieces.append(number)
        return number

def die_once(folder, number):
    if number == 3 and not os.path.exists(folder + "/died"):
        pathlib.Path(folder, "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number

def talk(number):
    print("\\x1b", number, file=sys.stderr, flush=True)

def die(folder, number):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number
"""


@pytest.fixture
def deadly(worker_module):
    """A module with functions that kill their process at number 3."""
    return worker_module("deadly", DIE)


def test_a_call_whose_process_was_killed_is_made_again(tmp_path, deadly):
    call = functools.partial(deadly.die_once, str(tmp_path))
    results = parallel.start_processes(1).ahead().map(call, range(12))
    assert list(results) == list(range(12))


@pytest.mark.parametrize(
    ("deadly_batches", "once"),
    first_in_ci([pytest.param([0, 4, 5], False, id="always"), pytest.param([3], True, id="once")]),
)
def test_only_a_batch_that_kills_its_process_is_done_piece_by_piece(
    tmp_path, deadly, deadly_batches, once
):
    batch = deadly.Batch(deadly_batches, str(tmp_path) if once else "", [])
    results = parallel.start_processes(2).ahead().map(batch, range(12))
    assert list(results) == list(range(12))
    assert sorted(batch.in_pieces) == ([] if once else deadly_batches)


@pytest.mark.slow
def test_a_call_that_kills_its_processes_is_one_error(tmp_path, deadly):
    results = parallel.start_processes(2).ahead().map(functools.partial(deadly.die, ""), range(12))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(
        BeamTFRecordsError,
        match="records cannot be processed: its process was ended 3 times by SIGKILL",
    ):
        next(results)


# Starts them like `python -m beam_pipeline build`, before it has threads.
FORKED = """
import functools, multiprocessing, os, sys
from beam_pipeline.running import memory
os.environ.update(memory.ONE_THREAD)
from beam_pipeline.running import parallel, worker_processes
import deadly

parallel.import_work()
processes = parallel.start_processes(2)
forked = set(multiprocessing.active_children())
assert len(forked) == 2, "not forked"
call = functools.partial(deadly.die_once, sys.argv[1])
print(*processes.ahead().map(call, range(12)))
active = set(multiprocessing.active_children())
assert (len(forked & active), len(active - forked)) == (1, 1), "not only the killed one is new"
parallel.end_processes()
"""


@pytest.mark.slow
@pytest.mark.usefixtures("deadly")
def test_only_the_killed_fork_is_replaced_by_a_new_process(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FORKED, str(tmp_path)], capture_output=True, text=True, timeout=100
    )
    assert done.stdout.split() == [str(number) for number in range(12)], done.stderr
    assert done.stderr == ""


@pytest.mark.slow
def test_a_build_shares_its_memory_with_its_worker_processes(images, tmp_path):
    output = str(tmp_path / "data")
    command_line = ["-m", "beam_pipeline", "build", str(images), "--output", output]
    with subprocess.Popen(
        [sys.executable, *command_line, "--max-bad-fraction", "0.1"], stderr=subprocess.PIPE
    ) as launcher:
        seen = set()
        while launcher.poll() is None:
            seen.update(command(pid) for pid in children(launcher.pid))
            time.sleep(0.01)
        assert launcher.stderr is not None
        assert launcher.returncode == 0, launcher.stderr.read()
    # Forks have the parent's command line; newly started processes have their own.
    assert {b" ".join(each.split(b"\0")[1:4]) for each in seen if each} == {
        b"-m beam_pipeline build"
    }


THREAD = "import threading\nthreading.Thread(target=time.sleep, args=[60], daemon=True).start()\n"


@pytest.mark.parametrize("before", ["", THREAD], ids=["forked", "started anew"])
def test_nothing_is_left_of_worker_processes_whose_parent_is_killed(before):
    """They also never listen on a port, unlike Beam's own workers."""
    code = (
        "import time\n"
        "from beam_pipeline.running.parallel import start_processes\n"
        f"{before}"
        "print(*start_processes(1).ahead().map(time.sleep, [0]), flush=True)\n"
        "time.sleep(60)"
    )
    environment = {**os.environ, **ONE_THREAD}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment
    ) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        mark = b"LokyProcess" if before else b"start_processes"
        (worker,) = (pid for pid in children(parent.pid) if mark in command(pid))
        assert listening_sockets(parent.pid) == listening_sockets(worker) == set()
        parent.kill()
    deadline = time.monotonic() + 30
    while mark in command(worker):
        assert time.monotonic() < deadline, "the worker outlives its parent"
        time.sleep(0.1)


def listening_sockets(pid: int) -> set[str]:
    """Return the listening sockets of a process, by the kernel's names."""
    tables = (Path(f"/proc/{pid}/net/{name}").read_text() for name in ("tcp", "tcp6"))
    rows = (line.split() for table in tables for line in table.splitlines()[1:])
    listening = {f"socket:[{row[9]}]" for row in rows if row[3] == "0A"}
    return listening & {os.readlink(each) for each in Path(f"/proc/{pid}/fd").iterdir()}


def children(pid: int) -> list[int]:
    """Return the child processes of a process, on Linux."""
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for path in threads for child in path.read_text().split()]


def command(pid: int) -> bytes:
    """Return a process's command line; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_buffers_pass_between_processes_outside_of_the_pickle():
    frames = os.urandom(3 << 20)  # more than a pipe holds
    chunk = EncodedChunk(frames=frames, lengths=b"", rows=b"abc")
    sent, received = multiprocessing.Pipe()
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(worker_processes.send, sent, (chunk, None))
        assert worker_processes.receive(received) == (chunk, None)
        sending.result()
    buffers = []
    assert len(pickle.dumps(chunk, pickle.HIGHEST_PROTOCOL, buffer_callback=buffers.append)) < 100
    assert b"".join(buffers) == frames + b"abc"


def test_a_process_that_ends_in_a_message_is_noticed():
    sent, received = multiprocessing.Pipe()
    sent.send_bytes(np.array([9], np.int64).tobytes())
    sent.send_bytes(pickle.dumps(None))
    sent.close()
    with pytest.raises(EOFError):
        worker_processes.receive(received)


def test_worker_processes_have_ended_when_the_report_is_drawn(images, tmp_path, monkeypatch):
    found = []

    def look(config):
        found.append(parallel.started_processes())

    monkeypatch.setattr(pipeline, "draw_page", look)
    parallel.start_processes(1)
    build(input=str(images), output=str(tmp_path / "out"), name="t", max_bad_fraction=0.1)
    assert found == [None]
