"""A launcher's view of its job; tests/flink and tests/dataflow run real ones."""

import contextlib
import dataclasses

import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.runner import PipelineState

from beam_pipeline.errors import BeamTFRecordsError, ConfigError, DataError, UnavailableError
from beam_pipeline.running.remote.clusters import Cluster, JobState, SeenJob
from beam_pipeline.running.remote.launch import Launch, _last_reason, job_name


@dataclasses.dataclass
class OneJob(Cluster):
    """A cluster that knows one job, or none, and does not answer if it is unreachable."""

    state: JobState
    failed: str = ""
    id: str = "1"

    def prepare(self, output, inputs):
        raise AssertionError

    def find(self, name):
        if self.state == JobState.UNREACHABLE:
            raise ConnectionRefusedError
        page = f"http://cluster/{name}"
        return None if self.state == JobState.UNKNOWN else SeenJob(self.id, self.state, page)

    def failure(self, job):
        return self.failed


def launch_on(cluster, folder):
    return Launch(cluster, str(folder), "pets-1", lambda: "")


@pytest.mark.parametrize(
    ("state", "error", "message"),
    [
        pytest.param(
            JobState.RUNNING,
            ConfigError,
            r"the job pets-1 of an earlier command still runs \(http://cluster/pets-1\); wait",
            id="running",
        ),
        pytest.param(JobState.CANCELLING, ConfigError, "still runs", id="cancelling"),
        pytest.param(
            JobState.UNREACHABLE,
            UnavailableError,
            "the job pets-1 does not answer; once",
            id="lost",
        ),
        pytest.param(JobState.DONE, None, "", id="ended"),
        pytest.param(JobState.CANCELLED, None, "", id="cancelled"),
        pytest.param(JobState.UNKNOWN, None, "", id="unknown"),
    ],
)
def test_a_job_of_an_earlier_launcher(tmp_path, state, error, message):
    """None of its files may be deleted while it runs."""
    launch = launch_on(OneJob(state), tmp_path)
    if error:
        with pytest.raises(error, match=message):
            launch.check_is_first()
    else:
        launch.check_is_first()


def test_an_earlier_job_of_the_same_name_is_not_this_one(tmp_path):
    cluster = OneJob(JobState.CANCELLED, failed="ValueError: old")
    launch = launch_on(cluster, tmp_path)
    launch.check_is_first()
    assert "failed: new; run" in str(launch._failure(RuntimeError("new")))
    cluster.id = "2"
    assert "was cancelled; run" in str(launch._failure(RuntimeError("new")))


def test_a_job_is_named_after_its_dataset():
    names = [
        job_name(PipelineOptions(arguments), "my_pets", dataset)
        for arguments, dataset in (
            ([], "/data/my_pets/1.0.0"),
            ([], "/data/my_pets/1.0.0"),
            ([], "/data/my_pets/1.0.1"),
            (["--job_name=mine"], "/data/my_pets/1.0.0"),
            ([], "https://me:secret@host/my_pets/1.0.0"),
            ([], "https://me:other@host/my_pets/1.0.0"),
        )
    ]
    assert names[0] == names[1] != names[2]
    assert names[0].startswith("my-pets-")
    assert names[3] == "mine"
    assert names[4] == names[5], "it is made without the password"


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
    ("state", "failed", "error", "message"),
    [
        pytest.param(
            JobState.CANCELLED,
            "WorkerError: lost\n",
            BeamTFRecordsError,
            "the job pets-1 was cancelled; run the",
            id="cancelled, after a failure that was repeated",
        ),
        pytest.param(
            JobState.FAILED,
            "WorkerError: lost\n",
            BeamTFRecordsError,
            "the job pets-1 failed: WorkerError: lost; run the",
            id="failed",
        ),
        pytest.param(
            JobState.FAILED,
            "beam_pipeline.errors.DataError: 3 of 9 are bad\n\tat java",
            DataError,
            "3 of 9 are bad",
            id="an error of ours",
        ),
        pytest.param(
            JobState.UNREACHABLE, "", UnavailableError, "does not answer; once", id="unreachable"
        ),
    ],
)
def test_why_a_job_failed(tmp_path, state, failed, error, message):
    launch = launch_on(OneJob(state, failed), tmp_path)
    found = launch._failure(RuntimeError("Pipeline pets-1 failed in state FAILED"))
    assert type(found) is error
    assert message in str(found)


@dataclasses.dataclass
class Seen(OneJob):
    """A cluster that shows the states of one job in turn, and the last one again."""

    state: JobState = JobState.UNKNOWN
    states: list[JobState] = dataclasses.field(default_factory=list)

    def find(self, name):
        self.state = self.states.pop(0) if self.states else self.state
        return super().find(name)


@pytest.mark.parametrize(
    ("states", "error"),
    [
        pytest.param("running unreachable unknown running done", "", id="lost for a while"),
        pytest.param("running failed", "the job is failed", id="failed"),
        pytest.param("running cancelling", "the job is cancelling", id="cancelled"),
        pytest.param("running unreachable", "the job is unreachable", id="lost"),
        pytest.param("running unknown", "the job is unknown", id="forgotten"),
    ],
)
def test_a_job_is_waited_for_that_beam_polls_rarely(tmp_path, monkeypatch, states, error):
    monkeypatch.setattr("beam_pipeline.running.remote.launch._POLL_S", 0.001)
    monkeypatch.setattr("beam_pipeline.running.remote.launch._LOST_S", 0.2)
    cluster = Seen(states=[JobState(state) for state in states.split()])
    launch = launch_on(cluster, tmp_path)
    of_beam = iter([PipelineState.RUNNING, PipelineState.DONE])

    class Result:
        state = property(lambda self: next(of_beam))

    with pytest.raises(RuntimeError, match=error) if error else contextlib.nullcontext():
        launch._poll(Result())
    assert not cluster.states
    assert not [*of_beam], "Beam has seen the end, and deleted what it has uploaded"
