"""A launcher that continues an earlier one; tests/flink does so with a real cluster."""

import dataclasses
import logging
import threading

import pytest

from beam_pipeline.errors import BeamTFRecordsError, ConfigError, UnavailableError
from beam_pipeline.running.remote import launch as launching
from beam_pipeline.running.remote.clusters import JobState
from beam_pipeline.running.remote.launch import Launch, _last_reason, quiet
from tfrecord_dataset.json_file import sealed


@dataclasses.dataclass
class Answers:
    """A cluster with the same answers for every job."""

    says: JobState
    failed: str = ""

    def prepare(self, output, inputs):
        raise AssertionError

    def state(self, job_name):
        return self.says

    def page(self, job_name):
        return ""

    def failure(self, job_name):
        return self.failed

    def cancel(self, job_name):
        raise AssertionError


def launch_over(folder, says, mark, build="b"):
    """Launch a build over the record of a job of the same or another build."""
    return Launch(
        cluster=Answers(says), folder=str(folder), name="pets", build=build, mark=lambda: mark
    )


def leave_record(folder, build):
    folder.mkdir()
    record = {"job_name": "pets-1", "build": build, "replaces": "older"}
    (folder / "job.json").write_text(sealed(record))


@pytest.mark.parametrize(
    ("build", "says", "mark", "finished"),
    [
        pytest.param("b", JobState.ENDED, "newer", True, id="finished"),
        pytest.param("b", JobState.UNKNOWN, "newer", True, id="finished, and forgotten"),
        pytest.param("b", JobState.ENDED, "older", False, id="failed"),
        pytest.param("b", JobState.UNKNOWN, "", False, id="never begun"),
        pytest.param("a", JobState.ENDED, "newer", False, id="of other options"),
    ],
)
def test_an_earlier_job_that_has_ended(tmp_path, build, says, mark, finished):
    leave_record(tmp_path / "job", build)
    launch = launch_over(tmp_path / "job", says, mark)
    assert launch.finished_earlier() == finished
    assert not (tmp_path / "job").exists()
    assert launch.ended


def test_another_password_is_the_same_build(tmp_path):
    """The record next to the dataset contains no password."""
    leave_record(tmp_path / "job", "b of https://***@host/pets?signature=***")
    build = "b of https://me:secret@host/pets?signature=secret"
    assert launch_over(tmp_path / "job", JobState.ENDED, "newer", build).finished_earlier()


def test_a_job_of_other_options_that_still_runs(tmp_path):
    """None of its files may be deleted."""
    leave_record(tmp_path / "job", "a")
    launch = launch_over(tmp_path / "job", JobState.RUNNING, "")
    with pytest.raises(ConfigError, match="the job pets-1 of another build is writing"):
        launch.finished_earlier()
    assert (tmp_path / "job/job.json").exists()
    assert not launch.ended


RECORD = sealed({"job_name": "pets-1", "build": "b", "replaces": ""})


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (RECORD[:40], "cut off or changed"),
        (RECORD.replace("pets-1", "pets-2"), "was changed after it"),
        (sealed({"job_name": 1, "build": "b", "replaces": ""}), "job_name is 1, not"),
    ],
)
def test_a_damaged_record_is_named(tmp_path, content, reason):
    """Its job may still run, so none of the job's files may be deleted."""
    (tmp_path / "job").mkdir()
    (tmp_path / "job/job.json").write_text(content)
    launch = launch_over(tmp_path / "job", JobState.ENDED, "newer")
    with pytest.raises(BeamTFRecordsError, match="names a running job, is damaged") as error:
        launch.finished_earlier()
    assert reason in str(error.value)
    assert (tmp_path / "job/job.json").exists()
    assert not launch.ended


@pytest.mark.parametrize(("mark", "finished"), [("newer", True), ("older", False)])
def test_an_earlier_job_whose_cluster_does_not_answer_for_a_while(
    tmp_path, monkeypatch, mark, finished
):
    """The job may still run, so no other job is started."""
    monkeypatch.setattr(launching, "_LOOK_S", 0.01)
    leave_record(tmp_path / "job", "b")
    launch = launch_over(tmp_path / "job", JobState.UNREACHABLE, mark)
    cluster = launch.cluster

    def state(job_name):
        asked.append(job_name)
        return JobState.UNREACHABLE if len(asked) < 5 else JobState.UNKNOWN

    asked = []
    monkeypatch.setattr(cluster, "state", state)
    assert launch.finished_earlier() == finished
    assert len(asked) == 5


def test_an_earlier_job_whose_cluster_does_not_answer_at_all(tmp_path, monkeypatch):
    monkeypatch.setattr(launching, "_UNREACHABLE_S", 0.0)
    leave_record(tmp_path / "job", "b")
    launch = launch_over(tmp_path / "job", JobState.UNREACHABLE, "older")
    with pytest.raises(UnavailableError, match="the job pets-1 does not answer; once"):
        launch.finished_earlier()
    assert (tmp_path / "job/job.json").exists()
    assert not launch.ended


def test_without_an_earlier_job(tmp_path):
    launch = launch_over(tmp_path / "job", JobState.RUNNING, "newer")
    assert not launch.has_earlier
    assert not launch.finished_earlier()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(
            "java.lang.RuntimeException: failed\n\tat org.apache.Flink.run(Flink.java:1)\n"
            'Traceback (most recent call last):\n  File "a.py", line 1\n'
            "ValueError: no such column\n\tat java.base/Thread.run(Thread.java:2)",
            "ValueError: no such column",
            id="Python's last line",
        ),
        pytest.param("Pipeline failed.", "Pipeline failed.", id="a sentence"),
        pytest.param("", "no reason is known", id="nothing"),
    ],
)
def test_the_reason_in_a_traceback_of_two_languages(text, reason):
    assert _last_reason(text) == reason


@pytest.mark.parametrize(
    ("says", "message"),
    [
        pytest.param(JobState.CANCELLED, "the job pets-1 was cancelled; run the", id="cancelled"),
        pytest.param(
            JobState.ENDED, "the job pets-1 failed: WorkerError: lost; run the", id="failed"
        ),
    ],
)
def test_a_failure_that_was_repeated_is_no_reason_to_cancel(tmp_path, says, message):
    launch = launch_over(tmp_path / "job", says, "")
    launch.cluster.failed = "WorkerError: lost\n"
    error = launch._failure("pets-1", RuntimeError("Pipeline pets-1 failed in state FAILED"))
    assert str(error).startswith(message)


@pytest.mark.parametrize(
    ("message", "is_reported"),
    [
        ("Multiplexer hanging up", False),
        ("Stream removed (Socket closed)", False),
        ("Connection reset", True),
    ],
)
def test_a_job_server_that_hangs_up_is_not_a_fault(message, is_reported, caplog, monkeypatch):
    """Beam logs a worker's broken connection, and raises it in a thread."""
    raised = []
    monkeypatch.setattr(threading, "excepthook", lambda args: raised.append(args.exc_value))
    logger = logging.getLogger("apache_beam.runners.worker.data_plane")

    def read():
        try:
            raise RuntimeError(message)
        except RuntimeError:
            logger.exception("Failed to read inputs in the data plane.")
            raise

    with quiet():
        thread = threading.Thread(target=read)
        thread.start()
        thread.join()

    assert bool(raised) == is_reported
    assert ("Failed to read inputs" in caplog.text) == is_reported
