"""A job service that runs already, or one that Beam starts, such as Spark's.

All are asked through Beam's job service, where its address is known. The service that Beam starts
for one job, and stops with it, knows of no earlier job.
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import grpc
from apache_beam.options.pipeline_options import (
    PipelineOptions,
    PortableOptions,
    SparkRunnerOptions,
)
from apache_beam.portability.api import beam_job_api_pb2, beam_job_api_pb2_grpc
from apache_beam.runners.portability.fn_api_runner import worker_handlers

from beam_pipeline.errors import ConfigError
from beam_pipeline.running.remote import checks
from beam_pipeline.running.remote.clusters import Cluster, JobState
from beam_pipeline.running.runner import runner_name

_ANSWER_S = 5.0
_EMBEDDED = "embed"
_JOB_NAME = "beam:option:job_name:v1"
_STATES = {
    beam_job_api_pb2.JobState.DONE: JobState.FINISHED,
    beam_job_api_pb2.JobState.FAILED: JobState.FAILED,
    beam_job_api_pb2.JobState.CANCELLED: JobState.CANCELLED,
    beam_job_api_pb2.JobState.CANCELLING: JobState.CANCELLED,
}


class PortableCluster(Cluster):
    """The job service of --job_endpoint, or one that Beam starts."""

    def __init__(self, options: PipelineOptions):
        self._options = options
        self._portable = options.view_as(PortableOptions)
        self._endpoint = self._portable.job_endpoint or ""

    def prepare(self, output: str, inputs: Sequence[str]) -> None:
        """Checks the job service, or what Beam starts one from; chooses where workers run."""
        if self._endpoint == _EMBEDDED:
            worker_handlers.DATA_BUFFER_TIME_LIMIT_MS = 0  # see local_runner
        elif self._endpoint:
            checks.check_job_endpoint(self._options)
        elif runner_name(self._options) == "portable":
            raise ConfigError(
                "--runner=PortableRunner needs --job_endpoint=HOST:PORT, the address of a running "
                "job service"
            )
        elif runner_name(self._options) == "spark":
            checks.check_java(self._options, "Spark")
        here = self._is_here()
        if here and self._portable.environment_type is None:
            self._portable.environment_type = "LOOPBACK"
        checks.check_environment(self._options)
        seen = here or self._portable.environment_type == "LOOPBACK"
        checks.check_places(output, inputs, seen, f"the job service at {self._endpoint}")

    def _state(self, job: Any) -> JobState:
        return _STATES.get(job.state, JobState.RUNNING)

    def _cancel(self, job: Any) -> bool:
        self._ask("Cancel", beam_job_api_pb2.CancelJobRequest(job_id=job.job_id))
        return True

    def _job(self, job_name: str) -> Any:
        if self._endpoint in ("", _EMBEDDED):  # it ends with the launcher
            return None
        answer = self._ask("GetJobs", beam_job_api_pb2.GetJobsRequest())
        for job in answer.job_info:
            if job_name in (job.job_name, _option(job, _JOB_NAME)):
                return job
        return None

    def _ask(self, method: str, request: Any) -> Any:
        with grpc.insecure_channel(self._endpoint) as channel:
            stub = beam_job_api_pb2_grpc.JobServiceStub(channel)
            try:
                return getattr(stub, method)(request, timeout=_ANSWER_S)
            except grpc.RpcError as error:
                raise OSError(str(error)) from error

    def _is_here(self) -> bool:
        """Whether the job runs on this machine, as far as its addresses tell."""
        if self._endpoint in ("", _EMBEDDED):
            master = self._options.view_as(SparkRunnerOptions).spark_master_url
            return runner_name(self._options) != "spark" or master.startswith("local")
        return checks.is_this_machine(urlsplit(f"//{self._endpoint}").hostname or "")


def _option(job: Any, name: str) -> str:
    options = job.pipeline_options.fields
    return str(options[name].string_value) if name in options else ""
