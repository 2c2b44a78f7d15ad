"""Workers that are forked from a process which has imported, as their runner sees them."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

START = (
    "import sys; from beam_pipeline.running.remote import warm_start; "
    "sys.exit(warm_start.run('told:work', sys.argv[1].split(), sys.argv[2:]))"
)
TOLD = """
import json, os, sys, time
def work(arguments):
    told = [os.getpid(), os.getppid(), arguments, os.environ["WORKER_ID"], os.getcwd()]
    print(json.dumps([*told, "wave" in sys.modules]), flush=True)
    if arguments[0] == "wait":
        time.sleep(600)
    if arguments[0] == "fail":
        sys.exit(7)
    if arguments[0] == "raise":
        raise ValueError("what was asked for")
"""


@pytest.fixture
def tmp_path():
    """A short one: addresses of sockets have 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="warm-") as folder:
        yield Path(folder)


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Starts a worker, as a runner does; this process is its parent."""
    (tmp_path / "told.py").write_text(TOLD)
    (tmp_path / "threads.py").write_text(
        "import threading, time\n"
        "threading.Thread(target=time.sleep, args=[600], daemon=True).start()\n"
    )
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")

    def begin(*arguments, imports="wave", worker="1-1", folder=tmp_path):
        return subprocess.Popen(
            [sys.executable, "-c", START, imports, *arguments],
            env={**os.environ, "WORKER_ID": worker},
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    yield begin
    for process in psutil.process_iter(["cmdline"]):
        if any(str(tmp_path) in part for part in process.info["cmdline"] or ()):
            process.kill()


def until(condition):
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert condition()


@pytest.fixture
def warm(start, tmp_path):
    """The process that forks, started by a first worker, which runs in its own."""
    first = start("first")
    output, errors = first.communicate()
    assert json.loads(output)[0] == first.pid, errors
    until(lambda: list(tmp_path.glob("beam-workers-*/*[0-9]")))


def test_a_later_worker_is_forked(start, warm, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    later = start("a", "b c", worker="2-1", folder=tmp_path / "elsewhere")
    output, errors = later.communicate()
    pid, parent, *told = json.loads(output)
    assert later.returncode == 0, errors
    assert later.pid not in (pid, parent)
    assert psutil.Process(parent).cmdline()[-2:] == ["told:work", "wave"]
    assert told == [["a", "b c"], "2-1", str(tmp_path / "elsewhere"), True]


def test_one_process_alone_imports(start, tmp_path):
    for worker in [start("a") for _ in range(4)]:
        worker.communicate()
    until(lambda: list(tmp_path.glob("beam-workers-*/*[0-9]")))

    def waiting():
        lines = [each.info["cmdline"] or () for each in psutil.process_iter(["cmdline"])]
        return sum(any(str(tmp_path) in part for part in line) for line in lines)

    until(lambda: waiting() == 1)


@pytest.mark.parametrize(("how", "code", "said"), [("fail", 7, ""), ("raise", 1, "asked for\n")])
def test_its_end_is_told(start, warm, how, code, said):
    worker = start(how)
    _, errors = worker.communicate()
    assert worker.returncode == code
    assert errors.endswith(said)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_it_ends_with_the_process_that_its_runner_knows(start, warm, how):
    worker = start("wait")
    pid = json.loads(worker.stdout.readline())[0]
    assert pid != worker.pid
    worker.send_signal(how)
    worker.communicate()
    until(lambda: not psutil.pid_exists(pid))


def test_a_process_with_threads_is_not_forked(start, tmp_path):
    for _ in range(2):
        worker = start("a", imports="threads")
        output, _ = worker.communicate()
        assert json.loads(output)[0] == worker.pid
        time.sleep(1)
    assert not list(tmp_path.glob("beam-workers-*/*[0-9]"))


def test_a_folder_of_a_long_name(start, tmp_path, monkeypatch):
    folder = tmp_path / ("long" * 25)
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    for _ in range(2):
        worker = start("a")
        assert json.loads(worker.communicate()[0])[0] == worker.pid
    assert not list(folder.glob("*/*"))


def test_another_ones_folder_is_not_used(start, tmp_path):
    folder = tmp_path / f"beam-workers-{os.geteuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    for _ in range(2):
        worker = start("a")
        output, _ = worker.communicate()
        assert json.loads(output)[0] == worker.pid
    assert not list(folder.iterdir())
