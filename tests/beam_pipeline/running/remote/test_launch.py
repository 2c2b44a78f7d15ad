"""A launcher that is run again, over what an earlier one has left; tests/flink has it for real."""

import dataclasses
import json

import pytest

from beam_pipeline.errors import ConfigError
from beam_pipeline.running.remote.launch import Launch, _last_reason
from beam_pipeline.running.remote.states import JobState


@dataclasses.dataclass
class Answers:
    """A cluster that says this of every job."""

    says: JobState

    def prepare(self, output, inputs):
        raise AssertionError

    def state(self, job_name):
        return self.says

    def page(self, job_name):
        return ""

    def failure(self, job_name):
        return ""

    def cancel(self, job_name):
        raise AssertionError


def launch_over(folder, says, mark):
    """A launch of the build "b", over the record of a job of the build "a" or "b"."""
    return Launch(Answers(says), folder=str(folder), name="pets", build="b", mark=lambda: mark)


def leave_record(folder, build):
    folder.mkdir()
    record = {"job_name": "pets-1", "build": build, "replaces": "older"}
    (folder / "job.json").write_text(json.dumps(record))


@pytest.mark.parametrize(
    ("build", "says", "mark", "finished"),
    [
        pytest.param("b", JobState.FINISHED, "newer", True, id="finished"),
        pytest.param("b", JobState.UNKNOWN, "newer", True, id="finished, and forgotten"),
        pytest.param("b", JobState.FAILED, "older", False, id="failed"),
        pytest.param("b", JobState.UNKNOWN, "", False, id="never begun"),
        pytest.param("a", JobState.FINISHED, "newer", False, id="of other options"),
    ],
)
def test_an_earlier_job_that_has_ended(tmp_path, build, says, mark, finished):
    leave_record(tmp_path / "job", build)
    launch = launch_over(tmp_path / "job", says, mark)
    assert launch.finished_earlier() == finished
    assert not (tmp_path / "job").exists()
    assert launch.ended


def test_a_job_of_other_options_that_still_runs(tmp_path):
    """Nothing of it may be deleted."""
    leave_record(tmp_path / "job", "a")
    launch = launch_over(tmp_path / "job", JobState.RUNNING, "")
    with pytest.raises(ConfigError, match="the job pets-1 of another build is writing"):
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
