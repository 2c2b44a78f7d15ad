"""Runs a build's job on another runner, and continues one that an earlier launcher started.

The job's folder is next to the working directory: `job.json`, by which a later launcher finds the
job; counts of its stages; its problem, if any. The launcher that sees the job's end deletes it.
"""

import contextlib
import dataclasses
import logging
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any, Self

import apache_beam as beam
from apache_beam.options.pipeline_options import GoogleCloudOptions, PipelineOptions
from apache_beam.runners.portability.job_server import StopOnExitJobServer

from beam_pipeline.errors import BeamTFRecordsError, ConfigError, RecordError, UnavailableError
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef
from beam_pipeline.running import progress
from beam_pipeline.running.failures import explain, read_problem
from beam_pipeline.running.job import as_in_a_program, filtered
from beam_pipeline.running.remote.clusters import Cluster, JobState
from beam_pipeline.running.runner import Job
from beam_pipeline.running.store_settings import send_settings
from tfrecord_dataset import json_file
from tfrecord_dataset.shown_text import one_line, without_secrets

_LOOK_S = 1.0
# Dataflow limits the number of requests.
_FAILURE_LOOK_S = 10.0
_CANCEL_S = 30.0
# A cluster may replace its JobManager.
_UNREACHABLE_S = 180.0
_MAY_RUN = (JobState.RUNNING, JobState.UNREACHABLE)
# Seconds between the counts of a stage; on a store each is a request.
_BEAT_S, _REMOTE_BEAT_S = 1.0, 5.0


# Beam's loggers, and what they say about the start and end of job servers.
_TALKERS = ("", "apache_beam.utils.subprocess_server", "apache_beam.runners.worker.data_plane")
_NOISE = (
    *("Really ", "Waiting for grpc channel"),  # a job server starts
    # A job server ends while workers of this process are connected.
    *("Multiplexer hanging up", "Stream removed (Socket closed)"),
    # The JobManager is lost, or the job cancelled; the launcher has a message for it.
    *("java.net.ConnectException", "org.apache.flink.runtime.rest.util.RestClientException"),
    "org.apache.flink.runtime.client.JobCancellationException",
)
_MAX_RECORD_BYTES = 1 << 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class JobRecord:
    """Record of a job for a later launcher; it survives a power cut.

    Attributes:
        replaces: Identity of the dataset that existed before; "" if none did.
    """

    job_name: str
    build: str
    replaces: str

    def write(self, path: str) -> None:
        """Write the record to disk."""
        text = json_file.sealed(dataclasses.asdict(self))
        storage.write_bytes(path, text.encode(), durable=True)

    @classmethod
    def read(cls, path: str) -> Self:
        """Read a record; BeamTFRecordsError if it is damaged."""
        try:
            data = storage.read_bytes(FileRef(path=path), _MAX_RECORD_BYTES)
            return json_file.unsealed(data, cls)
        except (ValueError, RecordError) as error:
            raise BeamTFRecordsError(
                f"{path}, which names a running job, is damaged: {error}; check that the cluster "
                f"runs no job of this build, then delete {path.rpartition('/')[0]}"
            ) from error


class Attempt:
    """A pipeline whose end is awaited in another thread: its result, and its error at the end."""

    def __init__(self, pipeline: beam.Pipeline):
        self._pipeline = pipeline
        self._thread = threading.Thread(target=self._wait, daemon=True)
        self.result: Any = None
        self.error: Exception | None = None

    def start(self) -> None:
        """Submit the job; in the main thread, as Beam sets signal handlers."""
        self.result = self._pipeline.run()
        self._thread.start()

    def _wait(self) -> None:
        try:
            self.result.wait_until_finish()
        except Exception as error:
            self.error = error

    def has_ended(self) -> bool:
        """Whether the job has ended or not started, as far as Beam knows."""
        return not self._thread.is_alive()

    def cancel(self) -> None:
        """Ask Beam to cancel the job; it continues if Beam cannot."""
        with contextlib.suppress(Exception):
            self.result.cancel()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Filter Beam's messages about the start and end of job servers."""
    hook = threading.excepthook

    def report(args: threading.ExceptHookArgs) -> None:
        if not _is_noise(args.exc_value):
            hook(args)

    threading.excepthook = report
    try:
        with filtered(_TALKERS, _is_message):
            yield
    finally:
        threading.excepthook = hook


def _is_message(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return not (_is_noise(error) or _is_noise(record.getMessage()))


def _is_noise(message: object) -> bool:
    return any(text in str(message) for text in _NOISE)


@contextlib.contextmanager
def job_servers_stopped() -> Iterator[None]:
    """Stop the job servers that Beam starts in this context; os._exit would skip Beam's own way.

    On Ctrl-C they continue until the job is cancelled; Beam would stop them first.
    """
    start, started = StopOnExitJobServer.start, []

    def remember(server: StopOnExitJobServer) -> Any:
        started.append(server)
        handler = signal.getsignal(signal.SIGINT)
        service = start(server)
        signal.signal(signal.SIGINT, handler)
        return service

    StopOnExitJobServer.start = remember
    try:
        yield
    finally:
        StopOnExitJobServer.start = start
        for server in started:
            server.stop()


@dataclasses.dataclass(kw_only=True)
class Launch:
    """A build's job on another runner.

    Attributes:
        cluster: The runner.
        folder: The job's folder, visible to this machine and the workers.
        name: Start of the job's name.
        build: Identity of the build.
        mark: Returns the identity of the existing dataset, "" if there is none.
        ended: Whether the job has ended, or none was started.
    """

    cluster: Cluster
    folder: str
    name: str
    build: str
    mark: Callable[[], str]
    ended: bool = dataclasses.field(default=True, init=False)

    def __post_init__(self) -> None:
        self.build = without_secrets(self.build)  # job.json contains it
        self.job = Job(
            progress_dir=storage.join(self.folder, "progress"),
            beat_s=_REMOTE_BEAT_S if storage.is_remote(self.folder) else _BEAT_S,
            problem_file=storage.join(self.folder, "problem.json"),
        )
        self._record_file = storage.join(self.folder, "job.json")
        self._was_seen = False
        self._answered = time.monotonic()

    @property
    def has_earlier(self) -> bool:
        """Whether an earlier launcher did not see its job's end."""
        return storage.exists(self._record_file)

    def finished_earlier(self) -> bool:
        """Whether the job of an earlier launcher of this build made the dataset; waits for it.

        Raises:
            ConfigError: A job of another build is writing the dataset.
            BeamTFRecordsError: The job's problem, or its record is damaged.
        """
        if not self.has_earlier:
            return False
        self.ended = False
        record = JobRecord.read(self._record_file)
        name, is_same = record.job_name, record.build == self.build
        self.ended = self._is_over(name)
        if not self.ended and not is_same:
            raise ConfigError(
                f"the job {name} of another build is writing this dataset; wait for it, cancel it, "
                "or choose another --name, --version or --output"
            )
        if not self.ended:
            _say(f"waiting for the job {name}, which an earlier command started")
            with self._followed(name):
                self._watch(name, lambda: self._is_over(name))
        is_finished = is_same and self._has_made_dataset(record)
        if is_finished:
            _say(f"the job {name}, which an earlier command started, has made the dataset")
        storage.delete([self.folder])
        return is_finished

    def run(self, options: PipelineOptions, add_stages: Callable[[beam.Pipeline], Any]) -> None:
        """Run the job, and show its progress.

        Raises:
            BeamTFRecordsError: The job failed.
            KeyboardInterrupt: After the job was cancelled, if the runner can.
        """
        view = options.view_as(GoogleCloudOptions)
        view.job_name = view.job_name or f"{self.name.replace('_', '-')}-{uuid.uuid4().hex[:8]}"
        name = str(view.job_name)
        with as_in_a_program():
            pipeline = beam.Pipeline(options=options)
            add_stages(pipeline)
        send_settings(pipeline)
        record = JobRecord(job_name=name, build=self.build, replaces=self.mark())
        storage.delete([self.folder])
        storage.make_dirs(self.job.progress_dir)
        record.write(self._record_file)
        self.ended = False
        attempt = Attempt(pipeline)
        with quiet(), job_servers_stopped(), self._followed(name, attempt):
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
                _say(f"the connection to the job {name} was lost, but it has made the dataset")

    def _watch(self, name: str, has_ended: Callable[[], bool]) -> None:
        """Wait until the job has ended, or raise its problem as soon as it is known."""
        next_look = 0.0
        while True:
            is_over = has_ended()
            if problem := read_problem(self.job.problem_file):
                raise problem
            if is_over:
                return
            if not self._was_seen and (page := self.cluster.page(name)):
                self._was_seen = True
                _say(f"the job {name} runs: {page}")
            if time.monotonic() >= next_look:
                next_look = time.monotonic() + _FAILURE_LOOK_S
                failure = RuntimeError(self.cluster.failure(name))
                if (error := explain(failure)) is not failure:
                    raise error
            time.sleep(_LOOK_S)

    def _has_made_dataset(self, record: JobRecord) -> bool:
        return self.mark() not in ("", record.replaces)

    def _is_over(self, name: str) -> bool:
        """Whether the job has ended; UnavailableError if its cluster does not answer for long."""
        state = self.cluster.state(name)
        if state != JobState.UNREACHABLE:
            self._answered = time.monotonic()
        elif time.monotonic() - self._answered > _UNREACHABLE_S:
            raise _unreachable(name)
        return state not in _MAY_RUN

    @contextlib.contextmanager
    def _followed(self, name: str, attempt: Attempt | None = None) -> Iterator[None]:
        """Show the job's progress; cancel the job on any error; delete its folder at its end."""
        try:
            with progress.shown(self.job.progress_dir):
                try:
                    yield
                except BaseException as error:
                    self._cancel(name, attempt)
                    if not self.ended and not isinstance(error, UnavailableError):
                        _say(
                            f"the job {name} still runs; run the same command again to wait for it"
                        )
                    elif isinstance(error, KeyboardInterrupt):
                        _say(f"the job {name} is cancelled")
                    raise
            self.ended = True
        finally:
            if self.ended:
                storage.delete([self.folder])

    def _cancel(self, name: str, attempt: Attempt | None) -> None:
        """Cancel the job if it runs, and wait for its end."""
        if not self.cluster.cancel(name) and attempt:
            attempt.cancel()
        deadline = time.monotonic() + _CANCEL_S
        while time.monotonic() < deadline:
            state, is_seen = self.cluster.state(name), not attempt or attempt.has_ended()
            self.ended = is_seen and state not in _MAY_RUN
            if self.ended or (is_seen and state == JobState.UNREACHABLE):
                return
            time.sleep(_LOOK_S / 4)
        # Dataflow stops its machines minutes later.
        self.ended = self.cluster.state(name) == JobState.CANCELLED

    def _failure(self, name: str, error: Exception) -> Exception:
        if (ours := explain(error)) is not error:
            return ours
        state = self.cluster.state(name)
        if state == JobState.UNREACHABLE:
            return _unreachable(name)
        continues = "run the same command again to continue with the finished shards"
        if state == JobState.CANCELLED:  # its failures are of parts that ran again
            return BeamTFRecordsError(f"the job {name} was cancelled; {continues}")
        if state == JobState.UNKNOWN and self._was_seen:
            reason = "its cluster no longer knows it, as after the loss of its JobManager"
        else:
            reason = _last_reason(f"{error}\n{self.cluster.failure(name)}")
        return BeamTFRecordsError(f"the job {name} failed: {reason}; {continues}")


def _unreachable(name: str) -> UnavailableError:
    return UnavailableError(
        f"the cluster of the job {name} does not answer; once it does, run the same command again "
        "to continue with the job, or with its finished shards"
    )


def _last_reason(text: str) -> str:
    """Return the most specific line of a traceback of Java and Python: Python's last one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    python = [line for line in lines if not line.startswith(("at ", "File ", "..."))]
    errors = [line for line in python if "Error" in line.partition(":")[0]]
    return (errors or python or ["no reason is known"])[-1]


def _say(text: str) -> None:
    print(one_line(text), file=sys.stderr, flush=True)
