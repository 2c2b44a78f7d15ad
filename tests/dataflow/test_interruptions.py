"""A launcher is interrupted or killed; its job is cancelled or continues."""

import signal
import subprocess
import time
from pathlib import Path

import pytest
from waiting import wait_until

ROOT = Path(__file__).parents[2]
_START_S = 120


@pytest.fixture
def held(service):
    """Jobs are accepted but do not start before held() is called."""
    service.gate.clear()
    yield service.gate.set
    service.gate.set()


@pytest.fixture
def launch(command, service):
    """launch(input, *options) -> a launcher with a running job."""

    def start(source, *options):
        before = len(service.jobs)
        process = subprocess.Popen(
            command(source, *options), cwd=ROOT, stderr=subprocess.PIPE, text=True
        )
        started.append(process)

        def runs():
            assert process.poll() is None, process.stderr.read()
            return [job for job in service.jobs[before:] if job.state == "JOB_STATE_RUNNING"]

        wait_until(runs, _START_S, "no job was submitted")
        return process

    started = []
    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def pets(service, class_folders, cloud, tmp_path):
    return service.put_folder(f"{cloud}/pets", class_folders(tmp_path / "pets", each=2))


def test_ctrl_c_cancels_the_job(held, launch, pets, service, cloud):
    launcher = launch(pets)
    time.sleep(3)  # the launcher knows its job by now

    launcher.send_signal(signal.SIGINT)
    _, stderr = launcher.communicate(timeout=90)

    assert launcher.returncode == 130, stderr
    job = service.jobs[-1]
    assert job.state == "JOB_STATE_CANCELLING"
    assert f"the job {job.name} is cancelled" in stderr
    assert "Traceback" not in stderr
    assert service.keys(f"{cloud}/data") == []


@pytest.mark.nightly
def test_the_job_of_a_killed_launcher_goes_on_alone(held, launch, build, pets, service, cloud):
    launch(pets).kill()
    job = service.jobs[-1]
    jobs = len(service.jobs)

    done = build(pets)

    assert done.returncode == 2, done.stderr
    assert f"the job {job.name} of an earlier command still runs (https://" in done.stderr
    held()
    wait_until(lambda: job.state == "JOB_STATE_DONE", _START_S, "the job does not end")

    done = build(pets)

    assert done.returncode == 2, done.stderr
    assert f"{cloud}/data/pets/1.0.0 holds a finished dataset" in done.stderr
    assert len(service.jobs) == jobs
    assert not [key for key in service.keys(f"{cloud}/data") if "/." in key]
