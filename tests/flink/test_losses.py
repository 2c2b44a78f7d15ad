"""Losses of a cluster: what a build keeps and what it repeats, as in docs/clusters.md."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from flink_cluster import ROOT, TEST_S, wait_for_stage
from ports import free_port
from waiting import wait_until

nightly = pytest.mark.nightly


def last_line(text):
    """The launcher's own message; the lines above are Beam's log and the progress."""
    return text.rstrip("\n").rpartition("\n")[2]


def replace_one(cluster):
    cluster.kill_task_manager()
    cluster.start_task_manager()


def replace_all(cluster):
    for _ in range(2):
        cluster.kill_task_manager()
    for _ in range(2):
        cluster.start_task_manager()


@pytest.mark.parametrize("lose", [replace_one, pytest.param(replace_all, marks=nightly)])
def test_task_managers_are_killed(cluster, launch, heavy, tmp_path, built_by, lose):
    launcher = launch(heavy.source, tmp_path / "out", *heavy.options)
    wait_for_stage(tmp_path / "out", "write")
    lose(cluster)
    code, text = launcher.finish()
    cluster.wait_for_task_managers(2)
    assert code == 0, text
    shown = re.findall(r"(?:reading|inspecting|writing) ([\d,]+)", text)
    assert shown, "no progress"
    assert max(int(count.replace(",", "")) for count in shown) <= 1500, "counted twice"
    assert cluster.failures(cluster.jobs()[0]), "nothing was lost"
    assert built_by(tmp_path / "out") == heavy.digests


@pytest.mark.nightly
def test_a_cancelled_job(cluster, launch, heavy, tmp_path, built_by):
    """It is not reported as the failure of a part that ran again."""
    launcher = launch(heavy.source, tmp_path / "out", *heavy.options)
    wait_for_stage(tmp_path / "out", "inspect")
    [job] = [job for job in cluster.jobs() if job["state"] == "RUNNING"]
    replace_one(cluster)
    wait_until(lambda: cluster.failures(job), TEST_S, "nothing was lost")
    cluster.cancel(job)
    code, text = launcher.finish()
    cluster.wait_for_task_managers(2)
    assert code == 1, text
    told = f"error: the job {job['name']} was cancelled; run the same command again"
    assert last_line(text).startswith(told)


@pytest.fixture
def pool(cluster):
    """Starts a worker pool at one address, with one TaskManager that uses it."""
    port = free_port()
    started = []

    def start():
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        command = [sys.executable, "-m", "apache_beam.runners.worker.worker_pool_main"]
        with open(cluster.folder / f"log/pool-{len(started)}.out", "wb") as output:
            started.append(
                subprocess.Popen(
                    [*command, f"--service_port={port}"],
                    env={**os.environ, "PYTHONPATH": str(ROOT), "PATH": path},
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            )
        return started[-1]

    cluster.kill_task_manager()
    cluster.wait_for_task_managers(1)
    start.address = f"localhost:{port}"
    yield start
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    cluster.start_task_manager()
    cluster.wait_for_task_managers(2)


def test_a_worker_pool_is_killed(cluster, launch, heavy, pool, tmp_path, built_by):
    first = pool()
    external = ("--environment_type=EXTERNAL", f"--environment_config={pool.address}")
    launcher = launch(heavy.source, tmp_path / "out", *heavy.options, *external)
    wait_for_stage(tmp_path / "out", "write")
    os.killpg(first.pid, signal.SIGKILL)
    pool()
    code, text = launcher.finish()
    assert code == 0, text
    assert cluster.failures(cluster.jobs()[0]), "nothing was lost"
    assert built_by(tmp_path / "out") == heavy.digests


@nightly
def test_a_job_manager_is_lost_for_long(cluster, launch, heavy, tmp_path, built_by):
    """No file is inspected again, and no finished shard is written again."""
    output = tmp_path / "out"
    launcher = launch(heavy.source, output, *heavy.options)
    wait_for_stage(output, "write")
    cluster.kill_job_manager()
    code, text = launcher.finish()
    if code == 0:  # the TaskManagers finished before they noticed
        assert "was lost, but it has made the dataset" in text
    else:
        assert code == 1, text
        assert "does not answer; once it does, run the same command again" in last_line(text)
        code, text = launch(heavy.source, output, *heavy.options).finish()
        assert code == 1, text
        assert "nothing answers at --flink_master" in text
    cluster.start_job_manager()
    cluster.wait_for_task_managers(2)
    if code:
        code, text = launch(heavy.source, output, *heavy.options).finish()
        assert code == 0, text
    assert built_by(output) == heavy.digests


@nightly
def test_a_job_manager_is_replaced_that_knows_no_jobs(cluster, launch, people, tmp_path, built_by):
    """As when Kubernetes replaces a pod."""
    launcher = launch(people, tmp_path / "out", "--name=data")
    launcher.wait_for(" runs: http://")
    cluster.kill_job_manager()
    cluster.start_job_manager()
    code, text = launcher.finish()
    assert code == 1, text
    assert "its cluster no longer knows it" in last_line(text)

    cluster.wait_for_task_managers(2)
    code, text = launch(people, tmp_path / "out", "--name=data").finish()
    assert code == 0, text
    assert built_by(tmp_path / "out")


@nightly
def test_a_job_manager_is_replaced_that_knows_its_jobs(
    available_cluster, launch, heavy, tmp_path, built_by
):
    """The launcher waits, and the job restarts with the results found and finished so far.

    If TaskManagers notice the loss only after the commit, only the dataset is left, and it
    stays.
    """
    launcher = launch(heavy.source, tmp_path / "out", *heavy.options)
    wait_for_stage(tmp_path / "out", "write")
    available_cluster.kill_job_manager()
    available_cluster.start_job_manager()
    code, text = launcher.finish()
    assert code == 0, text
    assert built_by(tmp_path / "out") == heavy.digests


@nightly
def test_a_killed_launcher_does_not_stop_the_job(cluster, launch, heavy, tmp_path, built_by):
    """An interrupt ends the job with its launcher; after a kill it continues, alone."""
    output = tmp_path / "out"
    launcher = launch(heavy.source, output, *heavy.options)
    wait_for_stage(output, "inspect")
    os.killpg(launcher.process.pid, signal.SIGINT)  # like Ctrl-C in a terminal
    code, text = launcher.finish()
    assert code == 130, text
    assert "is cancelled\ninterrupted; run the same command again" in text
    assert cluster.jobs()[0]["state"] == "CANCELED"

    launcher = launch(heavy.source, output, *heavy.options)
    wait_for_stage(output, "inspect")
    launcher.process.kill()
    launcher.process.wait()
    wait_until(lambda: not launcher.processes(), 20, "the job server is left")
    assert cluster.jobs()[0]["state"] == "RUNNING"
    cluster.kill_task_manager()  # so the job waits, and does not end before the next command

    job = cluster.jobs()[0]
    code, text = launch(heavy.source, output, *heavy.options).finish()
    assert code == 2, text
    assert f"the job {job['name']} of an earlier command still runs (http://" in text
    cluster.cancel(job)
    wait_until(lambda: cluster.jobs()[0]["state"] == "CANCELED", TEST_S, "it is not cancelled")
    cluster.start_task_manager()
    cluster.wait_for_task_managers(2)
    again = launch(heavy.source, output, *heavy.options)
    code, text = again.finish()
    assert code == 0, text
    assert again.process.stdout.read() == f"{output}/data/1.0.0\n"
    assert built_by(output) == heavy.digests


@nightly
def test_a_job_that_ended_without_its_launcher_is_found_finished(
    cluster, launch, people, tmp_path, built_by
):
    output = tmp_path / "out"
    launcher = launch(people, output, "--name=data")
    launcher.wait_for(" runs: http://")
    launcher.process.kill()
    launcher.process.wait()
    wait_until(lambda: cluster.jobs()[0]["state"] == "FINISHED", TEST_S, "the job does not end")
    num_jobs = len(cluster.jobs())

    code, text = launch(people, output, "--name=data").finish()
    assert code == 2, text
    assert "holds a finished dataset" in text
    assert "pass --overwrite" in text
    assert len(cluster.jobs()) == num_jobs
    assert built_by(output)
