"""A job server that stays for the next build, as `--keep-job-server` asks for."""

import fcntl
import os
import signal

import psutil
import pytest
from flink_cluster import wait_until

from beam_pipeline.cli.commands import main
from beam_pipeline.running.remote import kept_job_servers


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    yield
    for server in kept_job_servers.running():
        os.kill(server.pid, signal.SIGTERM)


def test_the_next_build_finds_it(cluster, launch, people, tmp_path, digests, monkeypatch, capsys):
    made = []
    for name in ("first", "second"):
        launcher = launch(people, tmp_path / name, "--name=data", "--keep-job-server")
        assert launcher.process.wait() == 0, launcher.text()
        [server] = kept_job_servers.running()
        made.append((server, digests(tmp_path / name / "data/1.0.0")))
    assert made[0] == made[1], "one server made the same bytes"
    java = psutil.Process(server.pid).children()

    monkeypatch.setattr("beam_pipeline.cli.commands.examine", lambda urls: [])
    with (server.folder / "users").open("ab") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        assert main(["doctor", "--stop-job-server"]) == 2
        assert "a build uses the job server" in capsys.readouterr().err
    assert main(["doctor", "--stop-job-server"]) == 0
    assert kept_job_servers.running() == []
    assert [process for process in java if process.is_running()] == []


def test_a_killed_one_is_started_again(cluster, launch, people, tmp_path):
    def build(name):
        launcher = launch(people, tmp_path / name, "--keep-job-server")
        assert launcher.process.wait() == 0, launcher.text()
        [server] = kept_job_servers.running()
        return server

    first = build("first")
    [java] = psutil.Process(first.pid).children()
    os.kill(first.pid, signal.SIGKILL)
    wait_until(lambda: not java.is_running(), 20, "the server outlives its keeper")
    assert build("second").pid != first.pid
