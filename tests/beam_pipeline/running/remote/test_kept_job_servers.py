"""Servers that stay: found again, ended when idle, never another process taken for one.

The server is a real process that listens at the port; tests/flink has Java's.
"""

import json
import os
import signal
import sys
import time

import psutil
import pytest

from beam_pipeline.errors import ConfigError, UnavailableError
from beam_pipeline.running.remote import kept_job_servers

LISTENS = [
    *(sys.executable, "-I", "-c"),
    "import socket, sys, time; s = socket.create_server(('localhost', int(sys.argv[1]))); "
    "time.sleep(600)",
    "{port}",
]


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    yield
    for server in kept_job_servers.running():
        os.kill(server.pid, signal.SIGTERM)


def ended(pid):
    deadline = time.monotonic() + 30
    while psutil.pid_exists(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not psutil.pid_exists(pid)


def test_the_same_command_finds_it_and_another_does_not():
    with kept_job_servers.used(LISTENS, "one") as port:
        pass
    [server] = kept_job_servers.running()
    assert server.port == port
    assert server.folder.stat().st_mode & 0o777 == 0o700
    with kept_job_servers.used(LISTENS, "one") as again:
        assert again == port
    with kept_job_servers.used(LISTENS, "two") as other:
        assert other != port
    assert len(kept_job_servers.running()) == 2


def test_one_ends_when_nobody_has_used_it():
    with kept_job_servers.used(LISTENS, "", idle_s=1):
        [server] = kept_job_servers.running()
        [listens] = psutil.Process(server.pid).children()
        time.sleep(2)
        assert kept_job_servers.running() == [server], "it is in use"
    assert ended(server.pid)
    assert ended(listens.pid)
    assert kept_job_servers.running() == []


def test_one_in_use_is_not_stopped():
    with kept_job_servers.used(LISTENS, ""):
        [server] = kept_job_servers.running()
        with pytest.raises(
            ConfigError, match=f"a build uses the job server of process {server.pid}"
        ):
            kept_job_servers.stop(server)
    kept_job_servers.stop(server)
    assert ended(server.pid)
    assert kept_job_servers.running() == []


def test_a_server_that_ends_takes_its_keeper_along():
    with kept_job_servers.used(LISTENS, ""):
        [server] = kept_job_servers.running()
        psutil.Process(server.pid).children()[0].kill()
        assert ended(server.pid)
    with kept_job_servers.used(LISTENS, ""):
        assert kept_job_servers.running()[0].pid != server.pid


def test_another_process_of_that_number_is_not_touched():
    with kept_job_servers.used(LISTENS, ""):
        pass
    [server] = kept_job_servers.running()
    for process in (psutil.Process(server.pid), *psutil.Process(server.pid).children()):
        process.kill()
    assert ended(server.pid)
    (server.folder / "address.json").write_text(
        json.dumps({"pid": os.getpid(), "token": "0" * 32, "port": server.port})
    )
    assert kept_job_servers.running() == []


def test_one_that_does_not_start_says_where_its_log_is():
    command = [sys.executable, "-I", "-c", "import sys; sys.exit('no Java')"]
    with (
        pytest.raises(UnavailableError, match="the job server does not start") as error,
        kept_job_servers.used(command, ""),
    ):
        pass
    [folder] = kept_job_servers.servers_folder().iterdir()
    assert str(folder / "log") in str(error.value)
    assert (folder / "log").read_text() == "no Java\n"
