"""What a cluster loses, what of a build is kept then, and what is done again: docs/clusters.md."""

import time

import pytest
from flink_cluster import wait_until

pytestmark = pytest.mark.nightly


def strays(output):
    """What is where the build writes, but for the dataset itself."""
    return [path.name for path in (output / "data").iterdir() if path.name != "1.0.0"]


def is_a_sentence(text):
    return "Traceback" not in text and "\tat " not in text


def test_a_job_manager_is_lost_for_long(cluster, launch, heavy, stages, tmp_path, digests):
    """No file is read again to inspect it, and none of its finished shards is written again."""
    output = tmp_path / "out"
    launcher = launch(heavy.source, output, *heavy.options)
    stages.wait_for(output, "write")
    cluster.kill_job_manager()
    code, text = launcher.finish()
    assert is_a_sentence(text)
    if code == 0:  # the TaskManagers were sooner done than they had noticed
        assert "was lost, but it has made the dataset" in text
    else:
        assert code == 1, text
        assert "does not answer; once it does, run the same command again" in text
        code, text = launch(heavy.source, output, *heavy.options).finish()
        assert code == 1, text
        assert "nothing answers at --flink_master" in text
    cluster.start_job_manager()
    cluster.wait_for_task_managers(2)
    if code:
        code, text = launch(heavy.source, output, *heavy.options).finish()
        assert code == 0, text
    assert digests(output / "data/1.0.0") == heavy.digests
    assert strays(output) == []


def test_a_job_manager_is_replaced_that_knows_no_jobs(cluster, launch, people, tmp_path):
    """As one pod of Kubernetes by another."""
    launcher = launch(people, tmp_path / "out", "--name=data")
    launcher.wait_for(" runs: http://")
    cluster.kill_job_manager()
    cluster.start_job_manager()
    code, text = launcher.finish()
    assert code == 1, text
    assert "its cluster no longer knows it" in text
    assert is_a_sentence(text)

    cluster.wait_for_task_managers(2)
    code, text = launch(people, tmp_path / "out", "--name=data").finish()
    assert code == 0, text
    assert strays(tmp_path / "out") == []


def test_a_job_manager_is_replaced_that_knows_its_jobs(
    available_cluster, launch, heavy, stages, tmp_path, digests
):
    """The launcher waits, and the job begins anew, with what was found and finished.

    TaskManagers that notice the loss only once they have committed leave it nothing but the
    dataset, which stays.
    """
    output = tmp_path / "out"
    launcher = launch(heavy.source, output, *heavy.options)
    stages.wait_for(output, "write")
    available_cluster.kill_job_manager()
    available_cluster.start_job_manager()
    code, text = launcher.finish()
    assert code == 0, text
    assert digests(output / "data/1.0.0") == heavy.digests
    assert strays(output) == []


def test_all_task_managers_are_lost_at_once(cluster, launch, heavy, stages, tmp_path, digests):
    output = tmp_path / "out"
    launcher = launch(heavy.source, output, *heavy.options)
    stages.wait_for(output, "write")
    for _ in range(2):
        cluster.kill_task_manager()
    for _ in range(2):
        cluster.start_task_manager()
    code, text = launcher.finish()
    cluster.wait_for_task_managers(2)
    assert code == 0, text
    assert cluster.failures(cluster.jobs()[0]), "nothing was lost"
    assert digests(output / "data/1.0.0") == heavy.digests
    assert strays(output) == []


def test_a_task_manager_is_lost_every_twenty_seconds(
    cluster, launch, heavy, stages, tmp_path, digests
):
    """As on machines that may be taken away at any time: each is replaced by a new one."""
    output = tmp_path / "out"
    launcher = launch(heavy.source, output, *heavy.options)
    stages.wait_for(output, "inspect")
    for _ in range(3):
        cluster.kill_task_manager()
        cluster.start_task_manager()
        time.sleep(20)
    code, text = launcher.finish()
    cluster.wait_for_task_managers(2)
    assert code == 0, text
    assert len(cluster.failures(cluster.jobs()[0])) >= 2
    assert digests(output / "data/1.0.0") == heavy.digests
    assert strays(output) == []


@pytest.mark.parametrize("moment", ["data/.job-1.0.0/job.json", "data/.job-1.0.0/progress/read-*"])
def test_a_launcher_is_killed_early(cluster, launch, people, tmp_path, moment):
    """Before the cluster has the job, and as soon as it reads: nothing is done twice at once."""
    output = tmp_path / "out"
    launcher = launch(people, output, "--name=data")
    wait_until(lambda: list(output.glob(moment)), 120, moment)
    launcher.process.kill()
    launcher.process.wait()

    code, text = launch(people, output, "--name=data").finish()
    assert code == 0, text
    assert strays(output) == []
    assert all(job["state"] != "RUNNING" for job in cluster.jobs())
