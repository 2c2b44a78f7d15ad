"""Machines of a cluster are lost in the middle of a build: it recovers, and its bytes are equal."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from flink_cluster import ROOT, TEST_S, free_port, wait_until


def read_back(output: Path) -> str:
    """What is where the build writes, but for the dataset itself."""
    return " ".join(path.name for path in (output / "data").iterdir() if path.name != "1.0.0")


@pytest.mark.parametrize("stage", [pytest.param("inspect", marks=pytest.mark.nightly), "write"])
def test_a_task_manager_is_killed(cluster, launch, heavy, stages, tmp_path, digests, stage):
    output = tmp_path / "out"
    launcher = launch(heavy.source, output, *heavy.options)
    stages.wait_for(output, stage)
    cluster.kill_task_manager()
    cluster.start_task_manager()
    code, text = launcher.finish()
    cluster.wait_for_task_managers(2)

    assert code == 0, text
    assert re.search(r"records: (reading|inspecting|writing) [\d,]+", text), "no progress"
    assert cluster.failures(cluster.jobs()[0]), "nothing was lost"
    assert digests(output / "data/1.0.0") == heavy.digests
    assert read_back(output) == "", "something is left"


@pytest.fixture
def pool(cluster):
    """Starts a pool of workers at one address; one TaskManager is there to use it."""
    port = free_port()
    started = []

    def start():
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }
        command = [sys.executable, "-m", "apache_beam.runners.worker.worker_pool_main"]
        command.append(f"--service_port={port}")
        with open(cluster.folder / f"log/pool-{len(started)}.out", "wb") as output:
            started.append(
                subprocess.Popen(
                    command,
                    env=environment,
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


@pytest.mark.nightly
def test_a_worker_pool_is_killed(cluster, launch, heavy, stages, pool, tmp_path, digests):
    output = tmp_path / "out"
    first = pool()
    launcher = launch(
        heavy.source,
        output,
        *heavy.options,
        "--environment_type=EXTERNAL",
        f"--environment_config={pool.address}",
    )
    stages.wait_for(output, "write")
    os.killpg(first.pid, signal.SIGKILL)
    pool()
    code, text = launcher.finish()

    assert code == 0, text
    assert cluster.failures(cluster.jobs()[0]), "nothing was lost"
    assert digests(output / "data/1.0.0") == heavy.digests
    assert read_back(output) == "", "something is left"


@pytest.mark.nightly
def test_a_killed_launcher_does_not_stop_the_job(cluster, launch, heavy, stages, tmp_path, digests):
    """Interrupted, the job ends with its launcher; killed, it goes on, and is found again."""
    output = tmp_path / "out"
    launcher = launch(heavy.source, output, *heavy.options)
    stages.wait_for(output, "inspect")
    os.killpg(launcher.process.pid, signal.SIGINT)  # as a terminal does
    code, text = launcher.finish()
    assert code == 130, text
    assert "is cancelled\ninterrupted; run the same command again" in text
    assert "Traceback" not in text
    assert cluster.jobs()[0]["state"] == "CANCELED"

    launcher = launch(heavy.source, output, *heavy.options)
    stages.wait_for(output, "inspect")
    launcher.process.kill()
    launcher.process.wait()
    wait_until(lambda: not launcher.processes(), 20, "the job server is left")
    assert cluster.jobs()[0]["state"] == "RUNNING"

    again = launch(heavy.source, output, *heavy.options)
    code, text = again.finish()
    assert code == 0, text
    assert ", which an earlier command started" in text
    assert len([job for job in cluster.jobs() if job["state"] == "RUNNING"]) == 0
    assert again.process.stdout.read() == f"{output}/data/1.0.0\n"
    assert digests(output / "data/1.0.0") == heavy.digests
    assert read_back(output) == "", "something is left"


@pytest.mark.nightly
def test_a_job_that_ended_without_its_launcher_is_found_finished(cluster, launch, people, tmp_path):
    output = tmp_path / "out"
    launcher = launch(people, output, "--name=data")
    launcher.wait_for(" runs: http://")
    launcher.process.kill()
    launcher.process.wait()
    job = cluster.jobs()[0]["name"]
    wait_until(lambda: cluster.jobs()[0]["state"] == "FINISHED", TEST_S, "the job does not end")
    num_jobs = len(cluster.jobs())

    again = launch(people, output, "--name=data")
    code, text = again.finish()
    assert code == 0, text
    assert f"the job {job}, which an earlier command started, has made the dataset" in text
    assert "5,000 records in 1 shard" in text
    assert len(cluster.jobs()) == num_jobs
    assert read_back(output) == "", "something is left"

    code, text = launch(people, output, "--name=data").finish()
    assert code == 2, "another run is another build"
    assert "holds a finished dataset; pass --overwrite" in text
