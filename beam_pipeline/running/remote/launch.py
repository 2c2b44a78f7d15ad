"""Runs a build's job on another runner: submits it, shows its page and progress, and waits.

The job's folder next to the dataset has the counts of its stages, and its problem, if any. The
job's name follows from the dataset's path, so that no second job of a cluster writes a dataset
while the job of a killed launcher does.
"""

import concurrent.futures
import contextlib
import copy
import functools
import hashlib
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import GoogleCloudOptions, PipelineOptions
from apache_beam.runners.runner import PipelineState

from beam_pipeline.errors import BeamTFRecordsError, ConfigError, UnavailableError
from beam_pipeline.files import storage
from beam_pipeline.running import progress
from beam_pipeline.running.failures import own_error, read_problem
from beam_pipeline.running.job import as_in_a_program
from beam_pipeline.running.remote.clusters import Cluster, JobState, PortableCluster, SeenJob
from beam_pipeline.running.runner import Job, runner_name
from beam_pipeline.running.store_settings import send_settings
from tfrecord_dataset.shown_text import one_line, without_secrets

_LOOK_S = 1.0
_POLL_S = 0.25
# What Flink says of a job may be seconds old.
_LOOKS_OF_BEAM = 8
# A JobManager is replaced in this time.
_LOST_S = 60.0
# Dataflow limits the number of requests.
_FAILURE_LOOK_S = 10.0
_CANCEL_S = 30.0
_CANCELLED = (JobState.CANCELLED, JobState.CANCELLING)
# Seconds between the counts of a stage; on a store each is a request.
_BEAT_S, _REMOTE_BEAT_S = 1.0, 5.0


def cluster_of(options: PipelineOptions) -> Cluster:
    """Return the runner that `options` name, which is not the local one."""
    # Imported here, as a job needs one of these.
    match runner_name(options):
        case "flink":
            from beam_pipeline.running.remote.flink import FlinkCluster

            return FlinkCluster(options)
        case "dataflow":
            from beam_pipeline.running.remote.dataflow import DataflowCluster

            return DataflowCluster(options)
    return PortableCluster(options)


def job_name(options: PipelineOptions, name: str, dataset_dir: str) -> str:
    """Return --job_name, by default one that only builds of this dataset have; set the option."""
    view = options.view_as(GoogleCloudOptions)
    if not view.job_name:
        digest = hashlib.sha256(without_secrets(dataset_dir).encode()).hexdigest()
        view.job_name = f"{name.replace('_', '-')}-{digest[:8]}"
    return str(view.job_name)


class Launch:
    """A build's job on another runner.

    Attributes:
        job: Settings of the job for its stages.
        has_ended: Whether the job has ended, or none was started.
    """

    def __init__(self, cluster: Cluster, folder: str, name: str, mark: Callable[[], str]):
        """Describe a job before its start.

        Args:
            cluster: The runner.
            folder: The job's folder, visible to this machine and the workers.
            name: The job's name.
            mark: Returns the identity of the existing dataset, "" if there is none.
        """
        self._cluster, self._folder, self._name, self._mark = cluster, folder, name, mark
        self._page = ""
        self._earlier_id = ""
        self._waiting: concurrent.futures.Future[Any] | None = None
        self.has_ended = True
        self.job = Job(
            progress_dir=storage.join(folder, "progress"),
            beat_s=_REMOTE_BEAT_S if storage.is_remote(folder) else _BEAT_S,
            problem_file=storage.join(folder, "problem.json"),
        )

    def check_is_first(self) -> None:
        """Raise ConfigError if the job of an earlier launcher runs, whose files must stay."""
        seen = self._look()
        if seen.state == JobState.UNREACHABLE:
            raise _unreachable(self._name)
        if seen.state in (JobState.RUNNING, JobState.CANCELLING):
            raise ConfigError(
                f"the job {self._name} of an earlier command still runs ({seen.page}); wait for "
                "its end or cancel it, then run the same command again"
            )
        self._earlier_id = seen.id

    def delete_folder(self) -> None:
        """Delete the job's folder."""
        storage.delete([self._folder])

    def run(self, options: PipelineOptions, add_stages: Callable[[beam.Pipeline], Any]) -> None:
        """Run the job, and show its page and progress.

        Raises:
            BeamTFRecordsError: The job failed.
            KeyboardInterrupt: After the job was cancelled, if the runner can.
        """
        with as_in_a_program():
            pipeline = beam.Pipeline(options=copy.deepcopy(options))  # Beam changes Flink's
            add_stages(pipeline)
        send_settings(pipeline)
        before = self._mark()
        self.delete_folder()
        storage.make_dirs(self.job.progress_dir)
        try:
            with progress.shown(self.job.progress_dir):
                self._submit_and_wait(pipeline)
        except BeamTFRecordsError:
            if self._mark() in ("", before) or read_problem(self.job.problem_file):
                raise
            self.has_ended = True
            _say(f"the connection to the job {self._name} was lost, but it has made the dataset")
        finally:
            if self.has_ended:
                self.delete_folder()

    def _submit_and_wait(self, pipeline: beam.Pipeline) -> None:
        self.has_ended = False
        result = None
        try:
            result = _submitted(pipeline)
            wait = functools.partial(self._poll, result) if self._cluster.is_polled else None
            self._waiting = _in_thread(wait or result.wait_until_finish)
            self._watch(self._waiting)
            self._waiting.result()
            self.has_ended = True
        except (Exception, KeyboardInterrupt) as error:
            failure = self._failure(error)
            self._cancel(result)
            if not self.has_ended and not isinstance(failure, UnavailableError):
                at = f" at {self._page}" if self._page else ""
                _say(f"the job {self._name} still runs; wait for its end, or cancel it{at}")
            elif isinstance(error, KeyboardInterrupt):
                _say(f"the job {self._name} is cancelled")
            raise failure from error

    def _poll(self, result: Any) -> None:
        """Wait until the cluster says that the job has ended; RuntimeError unless it succeeded."""
        heard = time.monotonic()
        while (state := self._look().state) not in (*_CANCELLED, JobState.DONE, JobState.FAILED):
            if state == JobState.RUNNING:
                heard = time.monotonic()
            elif time.monotonic() > heard + _LOST_S:
                break
            time.sleep(_POLL_S)
        for _ in range(_LOOKS_OF_BEAM):  # Beam deletes what it has uploaded once it sees the end
            if PipelineState.is_terminal(result.state):
                break
            time.sleep(_POLL_S)
        if state != JobState.DONE:
            raise RuntimeError(f"the job is {state.value}")

    def _watch(self, waiting: "concurrent.futures.Future[Any]") -> None:
        """Wait until the job has ended, or raise its problem as soon as it is known."""
        next_look = 0.0
        while True:
            has_ended = bool(concurrent.futures.wait([waiting], _LOOK_S).done)
            if problem := read_problem(self.job.problem_file):
                raise problem
            if has_ended:
                return
            if self._page and time.monotonic() < next_look:
                continue
            next_look = time.monotonic() + _FAILURE_LOOK_S
            seen = self._look()
            if seen.page and not self._page:
                self._page = seen.page
                _say(f"the job {self._name} runs: {seen.page}")
            if problem := own_error(RuntimeError(self._failures(seen))):
                raise problem

    def _look(self) -> SeenJob:
        """Return what the cluster knows of the job."""
        try:
            seen = self._cluster.find(self._name)
        except OSError:
            return SeenJob(state=JobState.UNREACHABLE)
        return SeenJob() if not seen or seen.id == self._earlier_id else seen

    def _failures(self, seen: SeenJob) -> str:
        with contextlib.suppress(OSError):
            return self._cluster.failure(seen) if seen.id else ""
        return ""

    def _cancel(self, result: Any) -> None:
        """Cancel the job if it runs, and wait for its end."""
        with contextlib.suppress(Exception):
            seen = self._look()
            if seen.id:
                self._cluster.cancel(seen)
            elif result:
                result.cancel()
        deadline = time.monotonic() + _CANCEL_S
        while time.monotonic() < deadline:
            state = self._look().state
            has_returned = self._waiting is None or self._waiting.done()
            is_over = state not in (JobState.RUNNING, JobState.UNREACHABLE)
            self.has_ended = state in _CANCELLED or (has_returned and is_over)
            if self.has_ended or (has_returned and state == JobState.UNREACHABLE):
                return
            time.sleep(_LOOK_S / 4)

    def _failure(self, error: BaseException) -> BaseException:
        """Return this project's own error for what the runner or the watch raised."""
        if not isinstance(error, Exception) or isinstance(error, BeamTFRecordsError):
            return error
        seen = self._look()
        failures = self._failures(seen)
        if ours := own_error(error, failures):
            return ours
        if seen.state == JobState.UNREACHABLE:
            return _unreachable(self._name)
        if seen.state in _CANCELLED:  # its failures are of parts that ran again
            what = "was cancelled"
        elif seen.state == JobState.UNKNOWN and self._page:
            what = "failed: its cluster no longer knows it, as after the loss of its JobManager"
        else:
            what = f"failed: {_last_reason(str(error), failures)}"
        return BeamTFRecordsError(
            f"the job {self._name} {what}; run the same command again, which continues a build "
            "with its finished shards"
        )


def _submitted(pipeline: beam.Pipeline) -> Any:
    """Submit a job; on Ctrl-C Beam would stop its job server before the job can be cancelled."""
    handler = signal.getsignal(signal.SIGINT)
    result = pipeline.run()
    with contextlib.suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGINT, handler)
    return result


def _in_thread(call: Callable[[], Any]) -> "concurrent.futures.Future[Any]":
    """Call a function in a thread that does not keep the process alive."""
    future: concurrent.futures.Future[Any] = concurrent.futures.Future()

    def run() -> None:
        try:
            future.set_result(call())
        except Exception as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def _unreachable(name: str) -> UnavailableError:
    return UnavailableError(
        f"the cluster of the job {name} does not answer; once it does, run the same command "
        "again, which continues a build with its finished shards"
    )


def _last_reason(*texts: str) -> str:
    """Return the most specific line of tracebacks of Java and Python: Python's last one."""
    lines = [line.strip() for text in texts for line in text.splitlines() if line.strip()]
    python = [line for line in lines if not line.startswith(("at ", "File ", "..."))]
    errors = [line for line in python if "Error" in line.partition(":")[0]]
    return (errors or python or ["no reason is known"])[-1]


def _say(text: str) -> None:
    print(one_line(text), file=sys.stderr, flush=True)
