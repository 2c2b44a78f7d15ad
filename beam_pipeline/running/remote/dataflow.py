"""Google Cloud Dataflow: completes and checks options, and follows a job through its REST API."""

import importlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from apache_beam.options.pipeline_options import (
    GoogleCloudOptions,
    PipelineOptions,
    SetupOptions,
    WorkerOptions,
)
from apache_beam.options.pipeline_options_validator import PipelineOptionsValidator

from beam_pipeline.errors import ConfigError, UnavailableError
from beam_pipeline.files import storage
from beam_pipeline.running.remote import preflight
from beam_pipeline.running.remote.clusters import Cluster, JobState, SeenJob
from tfrecord_dataset import extras
from tfrecord_dataset.store import clients

_REST_S = 10.0
_STATES = {
    "JOB_STATE_DONE": JobState.DONE,
    "JOB_STATE_FAILED": JobState.FAILED,
    "JOB_STATE_CANCELLING": JobState.CANCELLING,
    "JOB_STATE_CANCELLED": JobState.CANCELLED,
}
_CONSOLE = "https://console.cloud.google.com/dataflow/jobs"


class _Validator(PipelineOptionsValidator):
    """Beam's checks, except for the endpoint: it would refuse a port."""

    def validate_endpoint_url(self, endpoint_url: str) -> bool:
        return True


class DataflowCluster(Cluster):
    """Dataflow of one project in one region."""

    def __init__(self, options: PipelineOptions):
        self._options = options
        self._google = options.view_as(GoogleCloudOptions)

    def prepare(self, output: str, inputs: Sequence[str]) -> None:
        """Check settings, credentials, buckets and the service; give workers the package."""
        _check_installed()
        self._check_settings()
        for option, path in (("--output", output), *(("the input", path) for path in inputs)):
            if path and not storage.is_remote(path):
                raise ConfigError(
                    f"{option} {path} is on this machine, which Dataflow's workers do not see; "
                    "copy it to a bucket and give its gs:// URL"
                )
        stage_package(self._options)
        preflight.check_store(self._google.temp_location, "--temp_location")
        preflight.check_store(output, "--output")
        if not self._google.no_auth:
            _check_credentials()
        self._check_service()

    def find(self, job_name: str) -> SeenJob | None:
        """Return the newest job of this name; None if the project has none."""
        jobs = self._call("GET", "", params={"name": job_name}).get("jobs", [])
        named = [job for job in jobs if job["name"] == job_name]
        if not named:
            return None
        newest = max(named, key=lambda job: job["createTime"])
        page = f"{_CONSOLE}/{self._google.region}/{newest['id']}?project={self._google.project}"
        state = _STATES.get(newest["currentState"], JobState.RUNNING)
        return SeenJob(newest["id"], state, page)

    def failure(self, job: SeenJob) -> str:
        """Return the errors among the job's messages so far."""
        least = {"minimumImportance": "JOB_MESSAGE_ERROR"}
        messages = self._call("GET", f"/{job.id}/messages", params=least)
        return "\n".join(each["messageText"] for each in messages.get("jobMessages", ()))

    def cancel(self, job: SeenJob) -> None:
        """Cancel the job, unless it has ended."""
        self._call("PUT", f"/{job.id}", json={"requestedState": "JOB_STATE_CANCELLED"})

    def _call(self, method: str, path: str, **arguments: Any) -> dict[str, Any]:
        """Make a request about jobs; OSError if it fails."""
        endpoint = self._google.dataflow_endpoint.rstrip("/")
        place = f"projects/{self._google.project}/locations/{self._google.region}"
        response = self._session().request(
            method, f"{endpoint}/v1b3/{place}/jobs{path}", timeout=_REST_S, **arguments
        )
        response.raise_for_status()
        answer: dict[str, Any] = response.json()
        return answer

    def _session(self) -> Any:
        import requests
        from apache_beam.internal.gcp import auth
        from google.auth.transport.requests import AuthorizedSession

        no_auth = self._google.no_auth
        credentials = None if no_auth else auth.get_service_credentials(self._options)
        if credentials is None:
            return requests.Session()
        return AuthorizedSession(credentials.get_google_auth_credentials())

    def _check_settings(self) -> None:
        """Complete region and temporary folder, and check all as Beam does at the job's start."""
        from apache_beam.runners.dataflow.dataflow_runner import DataflowRunner

        google, workers = self._google, self._options.view_as(WorkerOptions)
        validator = _Validator(self._options, None)
        google.region = google.region or DataflowRunner().get_default_gcp_region()
        google.temp_location = google.temp_location or google.staging_location
        google.staging_location = google.staging_location or google.temp_location
        problems = [
            *([] if google.region else ["Missing required option: region."]),
            *validator.validate_cloud_options(google),
            *validator.validate_gcs_path(google, "temp_location"),
            *validator.validate_gcs_path(google, "staging_location"),
            *validator.validate_num_workers(workers),
            *validator.validate_worker_region_zone(workers),
            *validator.validate_sdk_container_image_options(workers),
        ]
        if problems:
            raise ConfigError(f"Dataflow would not take these options: {' '.join(problems)}")

    def _check_service(self) -> None:
        """Request one job: the service knows whether project, region and credentials fit."""
        google = self._google
        try:
            self._call("GET", "", params={"pageSize": 1})
        except OSError as error:
            response = getattr(error, "response", None)
            if response is None:
                raise UnavailableError(
                    f"nothing answers at --dataflow_endpoint={google.dataflow_endpoint} ({error}); "
                    "check the network, or leave the option out"
                ) from error
            try:
                reason = response.json()["error"]["message"]
            except (ValueError, KeyError, TypeError):
                reason = response.reason
            raise ConfigError(
                f"Dataflow does not take jobs for --project={google.project} --region="
                f"{google.region}: {response.status_code} {reason}; correct these, enable the "
                "Dataflow API, or give these credentials the role Dataflow Developer"
            ) from error


def _check_installed() -> None:
    try:
        importlib.import_module("google.auth")
        importlib.import_module("google.cloud.storage")
    except ImportError as error:
        raise ConfigError(
            "--runner=DataflowRunner needs Google's libraries, which are not installed; run "
            f"{extras.install('gcp')}"
        ) from error


def _check_credentials() -> None:
    """Raise ConfigError without credentials; outside of clouds, a search takes half a minute."""
    import google.auth
    from google.auth.environment_vars import NO_GCE_CHECK
    from google.auth.exceptions import GoogleAuthError

    if not clients.is_in_a_cloud():
        os.environ.setdefault(NO_GCE_CHECK, "true")
    try:
        google.auth.default()
    except GoogleAuthError as error:
        raise ConfigError(
            f"the credentials for Google Cloud cannot be used: {error}; run gcloud auth "
            "application-default login, or set GOOGLE_APPLICATION_CREDENTIALS to the key file of a "
            "service account"
        ) from error


def stage_package(options: PipelineOptions) -> None:
    """Send this clone of the repository to workers, unless the user's options install a package."""
    setup = options.view_as(SetupOptions)
    if (
        options.view_as(WorkerOptions).sdk_container_image
        or setup.setup_file
        or setup.requirements_file
        or setup.extra_packages
    ):
        return
    clone = Path(__file__).parents[3]
    if not ((clone / "setup.py").exists() and (clone / "pyproject.toml").exists()):
        raise ConfigError(
            "Dataflow's workers do not have this package; pass --setup_file=CLONE/setup.py, a "
            "--requirements_file that names it, or --sdk_container_image with "
            "docker/pipeline.Dockerfile's"
        )
    setup.setup_file = str(clone / "setup.py")
