"""What a launcher knows of the runner that it gives a job to."""

import abc
import contextlib
import enum
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from apache_beam.options.pipeline_options import PipelineOptions

from beam_pipeline.running.runner import runner_name

_T = TypeVar("_T")


class JobState(enum.Enum):
    """What a cluster says of a job."""

    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"  # it has forgotten, or there is nobody to ask
    UNREACHABLE = "unreachable"  # it does not answer; the job may go on


class Cluster(abc.ABC):
    """A kind of runner, asked from outside of a job; an OSError is no answer.

    A job is found by its name, which the launcher gives it: a launcher that is run again knows
    no more of it.
    """

    @abc.abstractmethod
    def prepare(self, output: str, inputs: Sequence[str]) -> None:
        """Fills in options that the user may leave out, and checks what can be checked.

        Args:
            output: The directory that datasets go to.
            inputs: Files and folders that workers read.

        Raises:
            ConfigError: The job would fail; the message has the remedy. After ten seconds at most.
            UnavailableError: The runner's services do not answer now.
        """

    def page(self, job_name: str) -> str:
        """The URL of the job's page; "" for none."""
        job = None
        with contextlib.suppress(OSError):
            job = self._job(job_name)
        return self._page(job)

    def state(self, job_name: str) -> JobState:
        """How far the job of this name is."""
        return self._asked(job_name, self._state, JobState.UNKNOWN, JobState.UNREACHABLE)

    def failure(self, job_name: str) -> str:
        """The text of what failed in the job since it began, "" for nothing that is known."""
        return self._asked(job_name, self._failure, "", "")

    def cancel(self, job_name: str) -> bool:
        """Ends the job; whether it will end. False where this cannot be asked for."""
        return self._asked(job_name, self._cancel, False, False)

    def _asked(self, job_name: str, ask: Callable[[Any], _T], unknown: _T, silent: _T) -> _T:
        try:
            job = self._job(job_name)
            return ask(job) if job else unknown
        except OSError:
            return silent

    @abc.abstractmethod
    def _job(self, job_name: str) -> Any:
        """What the runner says of the newest job of this name; None where it knows of none."""

    @abc.abstractmethod
    def _state(self, job: Any) -> JobState:
        """How far a job is."""

    def _page(self, job: Any) -> str:
        """The URL of the page of a job, which may be None."""
        return ""

    def _failure(self, job: Any) -> str:
        """What failed in a job; by default Beam tells it to who waits for the job."""
        return ""

    @abc.abstractmethod
    def _cancel(self, job: Any) -> bool:
        """Ends a job; whether it will end."""


def cluster_of(options: PipelineOptions) -> Cluster:
    """What is known of the runner that `options` name; it is not the local one."""
    # A build on this machine loads none of these.
    match runner_name(options):
        case "flink":
            from beam_pipeline.running.remote.flink import FlinkCluster

            return FlinkCluster(options)
        case "dataflow":
            from beam_pipeline.running.remote.dataflow import DataflowCluster

            return DataflowCluster(options)
    from beam_pipeline.running.remote.portable import PortableCluster

    return PortableCluster(options)
