"""Interface of the runners that a launcher gives jobs to."""

import abc
import enum
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from apache_beam.options.pipeline_options import PipelineOptions

from beam_pipeline.running.runner import runner_name

_T = TypeVar("_T")


class JobState(enum.Enum):
    """State of a job as its cluster reports it."""

    RUNNING = "running"
    ENDED = "ended"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"  # the cluster has forgotten it, or cannot be asked
    UNREACHABLE = "unreachable"  # the cluster does not answer; the job may run


class Cluster(abc.ABC):
    """A runner, which finds a job by the name that the launcher gave it.

    Runners that cannot be asked for jobs only implement `prepare`; the others raise OSError in the
    private methods if they do not answer.
    """

    @abc.abstractmethod
    def prepare(self, output: str, inputs: Sequence[str]) -> None:
        """Fill in options that the user left out, and check the others, in ten seconds at most.

        Raises:
            ConfigError: The job would fail.
            UnavailableError: The runner's services do not answer now.
        """

    def page(self, job_name: str) -> str:
        """Return the URL of the job's page; "" if it is unknown."""
        return self._ask(job_name, self._page, "", "")

    def state(self, job_name: str) -> JobState:
        """Return the job's state."""
        return self._ask(job_name, self._state, JobState.UNKNOWN, JobState.UNREACHABLE)

    def failure(self, job_name: str) -> str:
        """Return the text of the job's failures so far; "" if there are none."""
        return self._ask(job_name, self._failure, "", "")

    def cancel(self, job_name: str) -> bool:
        """Cancel the job; False if the cluster cannot."""
        return self._ask(job_name, self._cancel, False, False)

    def _ask(self, job_name: str, ask: Callable[[Any], _T], unknown: _T, silent: _T) -> _T:
        try:
            job = self._job(job_name)
            return ask(job) if job else unknown
        except OSError:
            return silent

    def _job(self, job_name: str) -> Any:
        """Return the runner's description of the newest job of this name, if any."""
        return None

    def _state(self, job: Any) -> JobState:
        raise NotImplementedError

    def _page(self, job: Any) -> str:
        raise NotImplementedError

    def _failure(self, job: Any) -> str:
        raise NotImplementedError

    def _cancel(self, job: Any) -> bool:
        raise NotImplementedError


def cluster_of(options: PipelineOptions) -> Cluster:
    """Return the runner that `options` name, which is not the local one."""
    # Imported here, as a local build needs none of these.
    match runner_name(options):
        case "flink":
            from beam_pipeline.running.remote.flink import FlinkCluster

            return FlinkCluster(options)
        case "dataflow":
            from beam_pipeline.running.remote.dataflow import DataflowCluster

            return DataflowCluster(options)
    from beam_pipeline.running.remote.portable import PortableCluster

    return PortableCluster(options)
