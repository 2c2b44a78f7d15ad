"""A job on another runner, from its start to its end, and what is known of it afterwards.

Beside the working directory lies the job's folder: `job.json`, by which a launcher that is run
again finds the job that an earlier one started; counts of its stages; its problem, if it has one.
Whoever sees the job's end deletes it.
"""

import contextlib
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import GoogleCloudOptions, PipelineOptions

from beam_pipeline.errors import BeamTFRecordsError, ConfigError, UnavailableError
from beam_pipeline.files import storage
from beam_pipeline.running import counters, progress
from beam_pipeline.running.failures import explain
from beam_pipeline.running.job import as_in_a_program
from beam_pipeline.running.remote.attempt import Attempt, job_servers_stopped, quiet
from beam_pipeline.running.remote.clusters import Cluster, JobState
from beam_pipeline.running.remote.job_folder import JobRecord, left
from beam_pipeline.running.runner import Job
from beam_pipeline.running.store_settings import send_settings
from tfrecord_dataset.shown_text import one_line, without_secrets

_LOOK_S = 1.0
_END_S = 30.0
# Of a cluster whose JobManager, say, is replaced.
_PATIENCE_S = 180.0
_AGAIN = "run the same command again (build continues with what is finished)"
_MAY_GO_ON = (JobState.RUNNING, JobState.UNREACHABLE)
# Between the counts of a stage: on a store each is a request.
_BEAT_S = 1.0
_REMOTE_BEAT_S = 5.0


class Launch:
    """A build's job on another runner.

    Args:
        cluster: Where it runs.
        folder: The job's folder, which this machine and the workers see.
        name: What the job's name starts with.
        build: What tells the build from others.
        mark: What marks the dataset that is there now; "" for none.

    Attributes:
        ended: Whether the job has ended, or none was started.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        folder: str,
        name: str,
        build: str,
        mark: Callable[[], str],
    ):
        self._cluster = cluster
        self._folder = folder
        self._name = name
        self._build = without_secrets(build)  # it is written down
        self._mark = mark
        self._problem_file = storage.join(folder, "problem.json")
        self._record_file = storage.join(folder, "job.json")
        self._was_seen = False
        self._answered = time.monotonic()
        self.ended = True

    @property
    def job(self) -> Job:
        """What the stages are told."""
        return Job(
            progress_dir=self._progress_dir,
            beat_s=_REMOTE_BEAT_S if storage.is_remote(self._folder) else _BEAT_S,
            problem_file=self._problem_file,
        )

    @property
    def _progress_dir(self) -> str:
        return storage.join(self._folder, "progress")

    @property
    def has_earlier(self) -> bool:
        """Whether an earlier launch has not seen its job's end."""
        return storage.exists(self._record_file)

    def finished_earlier(self) -> bool:
        """Whether the job of an earlier launch of the same build has made the dataset.

        Waits for a job that still runs.

        Raises:
            ConfigError: A job of another build writes the same dataset.
            BeamTFRecordsError: The job's problem, or its record is damaged.
        """
        if not self.has_earlier:
            return False
        self.ended = False
        record = JobRecord.read(self._record_file)
        same = record.build == self._build
        self.ended = self._is_over(record.job_name)
        if not self.ended and not same:
            raise ConfigError(
                f"the job {record.job_name} of another build is writing this dataset; wait for "
                "it, cancel it, or choose another --name, --version or --output"
            )
        if not self.ended:
            _say(f"the job {record.job_name}, started earlier, still runs: going on with it")
            with self._followed(record.job_name):
                self._watch(record.job_name, lambda: self._is_over(record.job_name))
        finished = same and self._has_made_dataset(record)
        if finished:
            _say(f"the job {record.job_name}, started earlier, has made the dataset")
        storage.delete([self._folder])
        return finished

    def run(self, options: PipelineOptions, add_stages: Callable[[beam.Pipeline], Any]) -> None:
        """Runs the job; shows its progress, and in the end what it counted.

        Raises:
            BeamTFRecordsError: The job's problem, or that it failed.
            KeyboardInterrupt: The job is cancelled, where that is possible.
        """
        name = self._named(options)
        with as_in_a_program():
            pipeline = beam.Pipeline(options=options)
            add_stages(pipeline)
        send_settings(pipeline, options)
        record = JobRecord(job_name=name, build=self._build, replaces=self._mark())
        storage.delete([self._folder])
        storage.make_dirs(self._progress_dir)
        record.write(self._record_file)
        self.ended = False
        attempt = Attempt(pipeline)
        with quiet(), job_servers_stopped():
            with self._followed(name, attempt):
                try:
                    attempt.start()
                    self._watch(name, attempt.has_ended)
                    if attempt.error:
                        raise attempt.error
                except BeamTFRecordsError:
                    raise
                except Exception as error:
                    failure = self._failure(name, error)
                    if not self._has_made_dataset(record):
                        raise failure from error
                    _say(f"the job {name} has made the dataset, but its end was not seen")
            counts = counters.counted(attempt.result)
        if counts:
            _say(f"counted: {counters.as_text(counts)}")

    def _watch(self, name: str, has_ended: Callable[[], bool]) -> None:
        """Waits until the job has ended.

        Raises:
            BeamTFRecordsError: The job's problem, as soon as it is known.
        """
        page = ""
        while True:
            ended = has_ended()
            if problem := left(self._problem_file):
                raise problem
            if ended:
                return
            if not page and (page := self._cluster.page(name)):
                self._was_seen = True
                _say(f"the job {name} runs: {page}")
            failure = RuntimeError(self._cluster.failure(name))
            if (error := explain(failure)) is not failure:
                raise error
            time.sleep(_LOOK_S)

    def _has_made_dataset(self, record: JobRecord) -> bool:
        return self._mark() not in ("", record.replaces)

    def _is_over(self, name: str) -> bool:
        """Whether the job has ended.

        Raises:
            UnavailableError: Its cluster has not answered for some minutes.
        """
        state = self._cluster.state(name)
        if state != JobState.UNREACHABLE:
            self._answered = time.monotonic()
        elif time.monotonic() - self._answered > _PATIENCE_S:
            raise _unreachable(name)
        return state not in _MAY_GO_ON

    @contextlib.contextmanager
    def _followed(self, name: str, attempt: Attempt | None = None) -> Iterator[None]:
        """Shows the job's progress; deletes its folder once nobody needs it.

        Ends the job where the launcher does not see its end, for whatever reason.
        """
        try:
            with progress.shown(self._progress_dir):
                try:
                    yield
                except BaseException as error:
                    self._end(name, attempt)
                    if not self.ended and not isinstance(error, UnavailableError):
                        _say(f"the job {name} goes on; run the same command again to see its end")
                    elif isinstance(error, KeyboardInterrupt):
                        _say(f"the job {name} is cancelled")
                    raise
            self.ended = True
        finally:
            if self.ended:
                storage.delete([self._folder])

    def _end(self, name: str, attempt: Attempt | None) -> None:
        """Cancels the job, if it still runs, and waits for its end."""
        if not self._cluster.cancel(name) and attempt:
            attempt.cancel()
        deadline = time.monotonic() + _END_S
        while time.monotonic() < deadline:
            state, seen = self._cluster.state(name), not attempt or attempt.has_ended()
            self.ended = seen and state not in _MAY_GO_ON
            if self.ended or (seen and state == JobState.UNREACHABLE):
                return
            time.sleep(_LOOK_S / 4)
        # Dataflow's machines take minutes to go.
        self.ended = self._cluster.state(name) == JobState.CANCELLED

    def _failure(self, name: str, error: Exception) -> Exception:
        if (ours := explain(error)) is not error:
            return ours
        state = self._cluster.state(name)
        if state == JobState.UNREACHABLE:
            return _unreachable(name)
        if state == JobState.UNKNOWN and self._was_seen:
            return BeamTFRecordsError(
                f"the job {name} is lost: its cluster no longer knows it, as after the loss of its "
                f"manager; {_AGAIN}"
            )
        reason = _last_reason(f"{error}\n{self._cluster.failure(name)}")
        return BeamTFRecordsError(
            f"the job {name} failed: {reason}; the runner's own pages say more; {_AGAIN}"
        )

    def _named(self, options: PipelineOptions) -> str:
        """The job's name: the user's, or one that no other job has."""
        view = options.view_as(GoogleCloudOptions)
        if not view.job_name:
            view.job_name = f"{self._name.replace('_', '-')}-{uuid.uuid4().hex[:8]}"
        return str(view.job_name)


def _unreachable(name: str) -> UnavailableError:
    return UnavailableError(
        f"the cluster of the job {name} does not answer any more; once it is back, run the same "
        "command again: it goes on with the job, or with what this one has finished"
    )


def _last_reason(text: str) -> str:
    """The line of a traceback of two languages that says most: Python's own last one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    python = [line for line in lines if not line.startswith(("at ", "File ", "..."))]
    errors = [line for line in python if "Error" in line.partition(":")[0]]
    return (errors or python or ["no reason is known"])[-1]


def _say(text: str) -> None:
    print(one_line(text), file=sys.stderr, flush=True)
