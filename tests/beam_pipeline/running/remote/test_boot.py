"""Workers forked from a process with finished imports, as seen by their runner."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

START = (
    "import sys; from beam_pipeline.running.remote import boot; "
    "sys.exit(boot.run('worker:work', sys.argv[1].split(), sys.argv[2:]))"
)
WORKER = """
import json, os, sys, time
def work(arguments):
    facts = [os.getpid(), os.getppid(), arguments]
    print(json.dumps([*facts, "wave" in sys.modules]), flush=True)
    if arguments[0] == "wait":
        time.sleep(600)
    if arguments[0] == "fail":
        sys.exit(7)
    if arguments[0] == "raise":
        raise ValueError("what was asked for")
"""


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Start a worker like a runner; this process is its parent."""
    (tmp_path / "worker.py").write_text(WORKER)
    (tmp_path / "threads.py").write_text(
        "import threading, time\n"
        "threading.Thread(target=time.sleep, args=[600], daemon=True).start()\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")

    def begin(*arguments, imports="wave"):
        return subprocess.Popen(
            [sys.executable, "-c", START, imports, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    yield begin
    for process in servers():
        process.kill()


def servers():
    """Return the servers that fork this process's workers."""
    return [
        each
        for each in psutil.process_iter(["cmdline"])
        if f"beam-tfrecords-{os.getpid()}-" in " ".join(each.info["cmdline"] or ())
    ]


def until(condition):
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert condition()


@pytest.fixture
def warm(start):
    """The server that forks, started by a first worker with its own process."""
    first = start("first")
    output, errors = first.communicate()
    assert json.loads(output)[0] == first.pid, errors
    until(is_listening)


def is_listening():
    return f"@beam-tfrecords-{os.getpid()}-" in Path("/proc/net/unix").read_text()


def test_a_later_worker_is_forked(start, warm):
    later = start("a", "b c")
    output, errors = later.communicate()
    pid, parent, *facts = json.loads(output)
    assert later.returncode == 0, errors
    assert later.pid not in (pid, parent)
    assert psutil.Process(parent).cmdline()[-2:] == ["worker:work", "wave"]
    assert facts == [["a", "b c"], True]


@pytest.mark.parametrize(("how", "code", "said"), [("fail", 7, ""), ("raise", 1, "asked for\n")])
def test_its_end_is_reported(start, warm, how, code, said):
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


def test_a_process_with_threads_is_not_forked(start):
    for _ in range(2):
        worker = start("a", imports="threads")
        output, _ = worker.communicate()
        assert json.loads(output)[0] == worker.pid
        until(lambda: not servers())


def test_another_users_process_is_not_asked(start, warm):
    """Any user may listen on such an address."""
    program = START.replace("sys.exit(", "boot.os.geteuid = lambda: 65534; sys.exit(")
    done = subprocess.run(
        [sys.executable, "-c", program, "wave", "a"], stdout=subprocess.PIPE, text=True, check=True
    )
    assert json.loads(done.stdout)[1] not in [server.pid for server in servers()]
