"""Sends endpoints and regions of stores to the workers of a job on another runner.

These are environment variables (docs/object-stores.md), which such workers do not have. So the
job's functions carry them, and set them where they are unpickled, unless a worker has its own.
Credentials are not sent, as anyone who sees a job can read it.
"""

import dataclasses
import os
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import AzureOptions, PipelineOptions, S3Options
from apache_beam.pipeline import AppliedPTransform, PipelineVisitor

_SETTINGS = """
    AWS_ENDPOINT_URL AWS_ENDPOINT_URL_S3 AWS_REGION AWS_DEFAULT_REGION AWS_SKIP_SIGNATURE
    AWS_VIRTUAL_HOSTED_STYLE_REQUEST AWS_REQUEST_PAYER AWS_ALLOW_HTTP AWS_TIMEOUT
    AWS_ALLOW_INVALID_CERTIFICATES
    STORAGE_EMULATOR_HOST GOOGLE_SKIP_SIGNATURE GOOGLE_TIMEOUT
    AZURE_STORAGE_ACCOUNT_NAME AZURE_STORAGE_ENDPOINT AZURE_STORAGE_USE_EMULATOR
    AZURE_SKIP_SIGNATURE AZURE_ALLOW_HTTP AZURE_TIMEOUT AZURE_ALLOW_INVALID_CERTIFICATES
"""

# Beam's options for its own S3 and Azure clients.
_S3_OPTIONS = {
    "s3_endpoint_url": "AWS_ENDPOINT_URL",
    "s3_region_name": "AWS_REGION",
    "s3_access_key_id": "AWS_ACCESS_KEY_ID",
    "s3_secret_access_key": "AWS_SECRET_ACCESS_KEY",
    "s3_session_token": "AWS_SESSION_TOKEN",
}
_CONNECTION_STRING = {
    "AccountName": "AZURE_STORAGE_ACCOUNT_NAME",
    "AccountKey": "AZURE_STORAGE_ACCOUNT_KEY",
    "SharedAccessSignature": "AZURE_STORAGE_SAS_TOKEN",
    "BlobEndpoint": "AZURE_STORAGE_ENDPOINT",
}


def use_options(options: PipelineOptions) -> None:
    """Apply Beam's options for S3 and Azure to this process and those that it starts."""
    os.environ.update(_stated(options))


def _stated(options: PipelineOptions) -> dict[str, str]:
    s3, azure = options.view_as(S3Options), options.view_as(AzureOptions)
    stated = {name: getattr(s3, option) for option, name in _S3_OPTIONS.items()}
    parts = (part.partition("=") for part in (azure.azure_connection_string or "").split(";"))
    stated |= {
        _CONNECTION_STRING[name]: value for name, _, value in parts if name in _CONNECTION_STRING
    }
    if azure.blob_service_endpoint:
        stated["AZURE_STORAGE_ENDPOINT"] = azure.blob_service_endpoint
    for cloud, endpoint in (("AWS", "AWS_ENDPOINT_URL"), ("AZURE", "AZURE_STORAGE_ENDPOINT")):
        if (stated.get(endpoint) or "").startswith("http://"):
            stated[f"{cloud}_ALLOW_HTTP"] = "true"
    if str(s3.s3_verify).lower() == "false":
        stated["AWS_ALLOW_INVALID_CERTIFICATES"] = "true"
    return {name: value for name, value in stated.items() if value}


def send_settings(pipeline: beam.Pipeline, options: PipelineOptions) -> None:
    """Attach this machine's settings to the functions of a pipeline."""
    stated = _stated(options)
    defaults = {name: os.environ[name] for name in _SETTINGS.split() if name in os.environ}
    pipeline.visit(_Attach(_Carried(stated, defaults)))


@dataclasses.dataclass(frozen=True)
class _Carried:
    """Settings that unpickling applies to the process."""

    stated: dict[str, str]
    defaults: dict[str, str]

    def __reduce__(self) -> tuple[Any, ...]:
        return _install, (self.stated, self.defaults)


def _install(stated: dict[str, str], defaults: dict[str, str]) -> _Carried:
    os.environ.update(stated)
    for name, value in defaults.items():
        os.environ.setdefault(name, value)
    return _Carried(stated, defaults)


class _Attach(PipelineVisitor):
    def __init__(self, carried: _Carried):
        self._carried = carried

    def visit_transform(self, transform_node: AppliedPTransform) -> None:
        if isinstance(transform_node.transform, beam.ParDo):
            transform_node.transform.fn._store_settings = self._carried
