"""What is found before a remote job starts: what is missing, and the remedy.

Each check takes seconds. Without them a dead endpoint is silent for five minutes, and a cluster
that cannot see the output fails at the end.
"""

import contextlib
import os
import shutil
import socket
from collections.abc import Sequence
from urllib.parse import urlsplit

from apache_beam.options.pipeline_options import (
    JobServerOptions,
    PipelineOptions,
    PortableOptions,
    SetupOptions,
    WorkerOptions,
)

from beam_pipeline.errors import ConfigError, UnavailableError
from beam_pipeline.files import storage

_CONNECT_S = 5.0


def check_job_endpoint(options: PipelineOptions) -> None:
    """Raises UnavailableError where nothing answers at --job_endpoint."""
    endpoint = options.view_as(PortableOptions).job_endpoint
    if endpoint and endpoint != "embed":
        check_reachable(
            endpoint, f"--job_endpoint={endpoint}", "start the job server, or correct the address"
        )


def check_reachable(address: str, option: str, remedy: str) -> None:
    """Looks whether anything accepts connections at "host:port" or a URL.

    Raises:
        UnavailableError: Nothing does.
        ConfigError: It is no address.
    """
    try:
        parts = urlsplit(address if "//" in address else f"//{address}")
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
        host = parts.hostname or ""
    except (KeyError, ValueError) as error:
        raise ConfigError(f"{option} is no address such as localhost:8081; correct it") from error
    try:
        socket.create_connection((host, port), timeout=_CONNECT_S).close()
    except OSError as error:
        reason = error.strerror or str(error)
        raise UnavailableError(f"nothing answers at {option} ({reason}); {remedy}") from error


def is_this_machine(host: str) -> bool:
    """Whether a host's name or address is one that this machine can listen at."""
    try:
        addresses = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    except OSError:
        return False
    for family, kind, _, _, address in addresses:
        with contextlib.suppress(OSError), socket.socket(family, kind) as listener:
            listener.bind(address)
            return True
    return False


def check_places(output: str, inputs: Sequence[str], seen: bool, runner: str) -> None:
    """Raises ConfigError where the workers of a job could not use the output or an input.

    A local folder may be shared storage, mounted alike on every machine; one of the disk that
    this machine starts from is not.

    Args:
        output: The directory that datasets go to.
        inputs: Files and folders that workers read.
        seen: Whether the workers see this machine's disks.
        runner: What runs the job, for the message.
    """
    check_store(output, "--output")
    for option, path in (("--output", output), *(("the input", path) for path in inputs)):
        if path and not storage.is_remote(path) and not seen and is_own_disk(path):
            raise ConfigError(
                f"{option} {path} is a disk of this machine, which the workers of {runner} do not "
                "see; give a bucket (gs://, s3://), or a folder of storage that all machines share"
            )


def check_store(path: str, option: str) -> None:
    """Raises ConfigError where the bucket of a remote path is not there, or not open to us."""
    if not storage.is_remote(path):
        return
    try:
        storage.make_dirs(path)  # on a store it looks, and makes nothing
    except OSError as error:
        raise ConfigError(
            f"{option} {path} cannot be used: {error}; create the bucket, or correct its name "
            "and the credentials"
        ) from error


def check_environment(options: PipelineOptions) -> None:
    """Raises ConfigError where workers would run in an image without this package."""
    portable = options.view_as(PortableOptions)
    kind = (portable.environment_type or "DOCKER").upper()
    given = portable.environment_config or portable.environment_options
    setup = options.view_as(SetupOptions)
    image = options.view_as(WorkerOptions).sdk_container_image
    if kind == "DOCKER" and not (given or setup.setup_file or image):
        raise ConfigError(
            "Beam's own image for workers does not hold this package; pass "
            "--environment_type=PROCESS where it is installed on the workers' machines, or "
            "--environment_config=IMAGE with docker/pipeline.Dockerfile's"
        )


def check_java(options: PipelineOptions, runner: str) -> None:
    """Raises ConfigError where Beam could not start its job server for a runner."""
    java = options.view_as(JobServerOptions).job_server_java_launcher
    if not shutil.which(java):
        raise ConfigError(
            f"Beam's job server for {runner} needs Java, and there is no {java!r}; install Java "
            "17, or pass --job_server_java_launcher"
        )


def is_own_disk(path: str) -> bool:
    """Whether a local folder, which need not be there yet, is on the disk that holds "/"."""
    path = os.path.abspath(path)
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return os.stat(path).st_dev == os.stat("/").st_dev
