"""Google Cloud Dataflow: what a job needs there, and a job seen through its REST interface."""

import importlib.util
import os
import time
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
from beam_pipeline.running.remote import checks
from beam_pipeline.running.remote.clusters import Cluster, JobState
from tfrecord_dataset import extras
from tfrecord_dataset.store import clients

_REST_S = 10.0
# The service counts requests.
_LOOK_AGAIN_S = 10.0
_STATES = {
    "JOB_STATE_DONE": JobState.FINISHED,
    "JOB_STATE_FAILED": JobState.FAILED,
    # Its machines go within minutes, but nobody may wait for what they do.
    "JOB_STATE_CANCELLING": JobState.CANCELLED,
    "JOB_STATE_CANCELLED": JobState.CANCELLED,
}
_CONSOLE = "https://console.cloud.google.com/dataflow/jobs"


class _Validator(PipelineOptionsValidator):
    """Beam's checks but that of the endpoint, which refuses ports: `_check_service` asks it."""

    def validate_endpoint_url(self, endpoint_url: str) -> bool:
        return True


class DataflowCluster(Cluster):
    """A project's Dataflow in one region."""

    def __init__(self, options: PipelineOptions):
        self._options = options
        self._google = options.view_as(GoogleCloudOptions)
        self._last_failure = ("", 0.0)

    def prepare(self, output: str, inputs: Sequence[str]) -> None:
        """Checks settings, credentials, buckets and the service; gives workers the package."""
        _check_installed()
        self._check_settings()
        for option, path in (("--output", output), *(("the input", path) for path in inputs)):
            _check_remote(option, path)
        stage_package(self._options)
        checks.check_store(self._google.temp_location, "--temp_location")
        checks.check_store(output, "--output")
        if not self._google.no_auth:
            _check_credentials()
        self._check_service()

    def failure(self, job_name: str) -> str:
        """The errors in the job's messages, asked for once in a while."""
        text, seen = self._last_failure
        if time.monotonic() - seen > _LOOK_AGAIN_S:
            text = super().failure(job_name)
            self._last_failure = (text, time.monotonic())
        return text

    def _state(self, job: Any) -> JobState:
        return _STATES.get(job["currentState"], JobState.RUNNING)

    def _failure(self, job: Any) -> str:
        least = {"minimumImportance": "JOB_MESSAGE_ERROR"}
        messages = self._call("GET", f"/{job['id']}/messages", params=least)
        return "\n".join(each["messageText"] for each in messages.get("jobMessages", ()))

    def _page(self, job: Any) -> str:
        """In Google's console."""
        place = f"{self._google.region}/{job['id']}" if job else ""
        return f"{_CONSOLE}/{place}?project={self._google.project}"

    def _cancel(self, job: Any) -> bool:
        """Asks for the job's end, which takes Dataflow some minutes."""
        self._call("PUT", f"/{job['id']}", json={"requestedState": "JOB_STATE_CANCELLED"})
        return True

    def _job(self, job_name: str) -> dict[str, Any] | None:
        jobs = self._call("GET", "", params={"name": job_name}).get("jobs", [])
        named = [job for job in jobs if job["name"] == job_name]
        return max(named, key=lambda job: job["createTime"], default=None)

    def _call(self, method: str, path: str, **arguments: Any) -> dict[str, Any]:
        """Dataflow's answer to a request about jobs.

        Raises:
            OSError: There is none, or it is an error.
        """
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

        credentials = None
        if not self._google.no_auth:
            credentials = auth.get_service_credentials(self._options)
        if credentials is None:
            return requests.Session()
        return AuthorizedSession(credentials.get_google_auth_credentials())

    def _check_settings(self) -> None:
        """Fills in region and temporary folder, and checks all as Beam does once the job starts."""
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
        """Asks the service for one job: it knows whether project, region and credentials fit."""
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
    """Raises ConfigError where the libraries are missing that Beam submits jobs with."""
    try:
        found = importlib.util.find_spec("google.cloud.storage")
        found = found and importlib.util.find_spec("google.auth")
    except ImportError:  # of a package above it
        found = None
    if not found:
        raise ConfigError(
            "--runner=DataflowRunner needs Google's libraries, which are not installed; run "
            f"{extras.install('gcp')}"
        )


def _check_remote(option: str, path: str) -> None:
    if path and not storage.is_remote(path):
        raise ConfigError(
            f"{option} {path} is on this machine, which Dataflow's workers do not see; copy it to "
            "a bucket and give its gs:// URL"
        )


def _check_credentials() -> None:
    """Raises ConfigError where Beam would look for credentials in vain, for half a minute."""
    import google.auth
    from google.auth.exceptions import GoogleAuthError

    remedy = (
        "run gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS to the "
        "key file of a service account"
    )
    gcloud = os.environ.get("CLOUDSDK_CONFIG") or Path.home() / ".config" / "gcloud"
    if not (
        os.environ.get("GOOGLE_APPLICATION_CREDENTIALS")
        or Path(gcloud, "application_default_credentials.json").exists()
        or clients.is_in_a_cloud()
    ):
        raise ConfigError(f"there are no credentials for Google Cloud; {remedy}")
    try:
        google.auth.default()
    except GoogleAuthError as error:
        raise ConfigError(
            f"the credentials for Google Cloud cannot be used: {error}; {remedy}"
        ) from error


def stage_package(options: PipelineOptions) -> None:
    """Gives workers this clone of the repository, unless the user's options say what they have.

    Raises:
        ConfigError: This package is not run from a clone.
    """
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
