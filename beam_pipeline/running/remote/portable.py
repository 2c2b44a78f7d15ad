"""A running job service, or one that Beam starts, such as Spark's."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from apache_beam.options.pipeline_options import (
    PipelineOptions,
    PortableOptions,
    SparkRunnerOptions,
)
from apache_beam.runners.portability.fn_api_runner import worker_handlers

from beam_pipeline.errors import ConfigError
from beam_pipeline.running.remote import checks
from beam_pipeline.running.remote.clusters import Cluster
from beam_pipeline.running.runner import runner_name

_EMBEDDED = "embed"


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
            worker_handlers.DATA_BUFFER_TIME_LIMIT_MS = 0  # see local_runner
        elif self._endpoint:
            checks.check_job_endpoint(self._options)
        elif runner == "portable":
            raise ConfigError(
                "--runner=PortableRunner needs --job_endpoint=HOST:PORT, the address of a running "
                "job service"
            )
        elif runner == "spark":
            checks.check_java(self._options, "Spark")
        is_here = self._is_here()
        if is_here and self._portable.environment_type is None:
            self._portable.environment_type = "LOOPBACK"
        checks.check_environment(self._options)
        are_seen = is_here or self._portable.environment_type == "LOOPBACK"
        checks.check_paths(output, inputs, are_seen, f"the job service at {self._endpoint}")

    def _is_here(self) -> bool:
        """Whether the job runs on this machine, according to its addresses."""
        if self._endpoint in ("", _EMBEDDED):
            master = self._options.view_as(SparkRunnerOptions).spark_master_url
            return runner_name(self._options) != "spark" or master.startswith("local")
        return checks.is_this_machine(urlsplit(f"//{self._endpoint}").hostname or "")
