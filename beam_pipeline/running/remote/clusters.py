"""Runners that a launcher gives jobs to: their interface, and plain job services."""

import abc
import enum
import shutil
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from apache_beam.options.pipeline_options import (
    JobServerOptions,
    PipelineOptions,
    PortableOptions,
    SetupOptions,
    SparkRunnerOptions,
    WorkerOptions,
)

from beam_pipeline.errors import ConfigError
from beam_pipeline.running.remote import preflight
from beam_pipeline.running.runner import local_runner, runner_name

_EMBEDDED = "embed"


class JobState(enum.Enum):
    """State of a job; the last two are those of a job that its cluster does not describe."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    CANCELLING = "cancelling"  # its machines stop minutes later
    UNKNOWN = "unknown"  # the cluster has forgotten it, or cannot be asked
    UNREACHABLE = "unreachable"  # the cluster does not answer; the job may run


class SeenJob(NamedTuple):
    """A job as its cluster describes it: its id there, its state, and the URL of its page."""

    id: str = ""
    state: JobState = JobState.UNKNOWN
    page: str = ""


class Cluster(abc.ABC):
    """A runner, which finds a job by the name that the launcher gave it.

    Runners that cannot be asked for jobs only implement `prepare`. All methods raise OSError if
    the runner does not answer.

    Attributes:
        is_polled: Whether Beam only polls a job's state, up to a minute apart.
    """

    is_polled = False

    @abc.abstractmethod
    def prepare(self, output: str, inputs: Sequence[str]) -> None:
        """Fill in options that the user left out, and check the others, in ten seconds at most.

        Raises:
            ConfigError: The job would fail.
            UnavailableError: The runner's services do not answer now.
        """

    def find(self, job_name: str) -> SeenJob | None:
        """Return the newest job of this name; None if the runner knows none."""
        return None

    def failure(self, job: SeenJob) -> str:
        """Return the text of the job's failures so far, the last one last; "" if there are none."""
        raise NotImplementedError

    def cancel(self, job: SeenJob) -> None:
        """Cancel the job, unless it has ended."""
        raise NotImplementedError


class PortableCluster(Cluster):
    """The job service of --job_endpoint, or one that Beam starts; it forgets jobs."""

    def __init__(self, options: PipelineOptions):
        self._options = options
        self._portable = options.view_as(PortableOptions)
        self._endpoint = self._portable.job_endpoint or ""

    def prepare(self, output: str, inputs: Sequence[str]) -> None:
        """Check the job service or Beam's needs to start one, and choose where workers run."""
        runner = runner_name(self._options)
        if self._endpoint == _EMBEDDED:
            local_runner()  # the service's runner has the same settings
        elif runner == "portable" and not self._endpoint:
            raise ConfigError(
                "--runner=PortableRunner needs --job_endpoint=HOST:PORT, the address of a running "
                "job service"
            )
        elif runner == "spark" and not self._endpoint:
            self._check_java()
        self._check_endpoint()
        master = self._options.view_as(SparkRunnerOptions).spark_master_url
        is_here = runner != "spark" or master.startswith("local")
        if self._endpoint not in ("", _EMBEDDED):
            is_here = preflight.is_this_machine(urlsplit(f"//{self._endpoint}").hostname or "")
        if is_here and self._portable.environment_type is None:
            self._portable.environment_type = "LOOPBACK"
        self._check_environment()
        are_seen = is_here or self._portable.environment_type == "LOOPBACK"
        place = f"the job service at {self._endpoint}" if self._endpoint else master
        preflight.check_paths(output, inputs, are_seen, place)

    def _check_endpoint(self) -> None:
        """Raise UnavailableError if --job_endpoint does not answer."""
        if self._endpoint not in ("", _EMBEDDED):
            option = f"--job_endpoint={self._endpoint}"
            remedy = "start the job server, or correct the address"
            preflight.check_reachable(self._endpoint, option, remedy)

    def _check_java(self) -> None:
        """Raise ConfigError if Beam cannot start its job server for Spark."""
        java = self._options.view_as(JobServerOptions).job_server_java_launcher
        if not shutil.which(java):
            raise ConfigError(
                f"Beam's job server for Spark needs Java, and there is no {java!r}; install "
                "Java 17, or pass --job_server_java_launcher"
            )

    def _check_environment(self) -> None:
        """Raise ConfigError if workers would run in an image without this package."""
        portable, options = self._portable, self._options
        kind = (portable.environment_type or "DOCKER").upper()
        given = portable.environment_config or portable.environment_options
        image = options.view_as(WorkerOptions).sdk_container_image
        if kind == "DOCKER" and not (given or image or options.view_as(SetupOptions).setup_file):
            raise ConfigError(
                "Beam's own image for workers does not have this package; pass "
                "--environment_type=PROCESS if the workers' machines have it, or "
                "--environment_config=IMAGE with docker/pipeline.Dockerfile's"
            )
