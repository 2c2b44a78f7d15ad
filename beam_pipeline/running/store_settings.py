"""Sends endpoints and regions of stores to the workers of a job on another runner.

These are environment variables (docs/object-stores.md), which such workers do not have. So the
job's functions carry them, and set them where they are unpickled, unless a worker has its own.
Credentials are not sent. Those among Beam's options reach workers as all options do, through the
runner, and are applied where functions are unpickled.
"""

import dataclasses
import os
import re
from collections.abc import Callable
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import AzureOptions, PipelineOptions, S3Options
from apache_beam.options.value_provider import RuntimeValueProvider
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


_PASSWORD = re.compile("(?<=://)[^/?#]*@")

# Returns one of Beam's options by name, if it is given.
_Stated = Callable[[str], Any]


def use_options(options: PipelineOptions) -> None:
    """Apply Beam's options for S3 and Azure to this process and those that it starts."""
    s3, azure = options.view_as(S3Options), options.view_as(AzureOptions)
    os.environ.update(_variables(lambda name: getattr(s3 if name[:2] == "s3" else azure, name)))


def _variables(stated: _Stated) -> dict[str, str]:
    """Return environment variables for Beam's options."""
    variables = {name: stated(option) for option, name in _S3_OPTIONS.items()}
    parts = (part.partition("=") for part in (stated("azure_connection_string") or "").split(";"))
    variables |= {
        _CONNECTION_STRING[name]: value for name, _, value in parts if name in _CONNECTION_STRING
    }
    if endpoint := stated("blob_service_endpoint"):
        variables["AZURE_STORAGE_ENDPOINT"] = endpoint
    for cloud, name in (("AWS", "AWS_ENDPOINT_URL"), ("AZURE", "AZURE_STORAGE_ENDPOINT")):
        if (variables.get(name) or "").startswith("http://"):
            variables[f"{cloud}_ALLOW_HTTP"] = "true"
    if str(stated("s3_verify")).lower() == "false":
        variables["AWS_ALLOW_INVALID_CERTIFICATES"] = "true"
    return {name: value for name, value in variables.items() if value}


def send_settings(pipeline: beam.Pipeline) -> None:
    """Attach this machine's settings to the functions of a pipeline."""
    here = {name: os.environ[name] for name in _SETTINGS.split() if name in os.environ}
    pipeline.visit(_Attach(_Carried({name: _PASSWORD.sub("", here[name]) for name in here})))


@dataclasses.dataclass(frozen=True)
class _Carried:
    """Settings that unpickling applies to the process."""

    settings: dict[str, str]

    def __reduce__(self) -> tuple[Any, ...]:
        return _install, (self.settings,)


def _install(settings: dict[str, str]) -> _Carried:
    os.environ.update(_variables(lambda name: RuntimeValueProvider.get_value(name, str, None)))
    for name, value in settings.items():
        os.environ.setdefault(name, value)
    return _Carried(settings)


class _Attach(PipelineVisitor):
    def __init__(self, carried: _Carried):
        self._carried = carried

    def visit_transform(self, transform_node: AppliedPTransform) -> None:
        if isinstance(transform_node.transform, beam.ParDo):
            transform_node.transform.fn._store_settings = self._carried
