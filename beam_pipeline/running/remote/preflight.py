"""Checks before a remote job starts, in seconds.

Without them a dead endpoint is silent for five minutes, and a cluster that cannot see the output
fails at the end.
"""

import contextlib
import os
import socket
from collections.abc import Sequence
from urllib.parse import urlsplit

from beam_pipeline.errors import ConfigError, UnavailableError
from beam_pipeline.files import storage

_CONNECT_S = 5.0


def check_reachable(address: str, option: str, remedy: str) -> None:
    """Raise UnavailableError unless something accepts connections at "host:port" or a URL."""
    try:
        parts = urlsplit(address if "//" in address else f"//{address}")
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
        host = parts.hostname or ""
    except (KeyError, ValueError) as error:
        raise ConfigError(f"{option} is not an address such as localhost:8081") from error
    try:
        socket.create_connection((host, port), timeout=_CONNECT_S).close()
    except OSError as error:
        reason = error.strerror or str(error)
        raise UnavailableError(f"nothing answers at {option} ({reason}); {remedy}") from error


def is_this_machine(host: str) -> bool:
    """Whether a host name or address belongs to this machine."""
    try:
        addresses = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    except OSError:
        return False
    for family, kind, _, _, address in addresses:
        with contextlib.suppress(OSError), socket.socket(family, kind) as listener:
            listener.bind(address)
            return True
    return False


def check_paths(output: str, inputs: Sequence[str], are_seen: bool, runner: str) -> None:
    """Raise ConfigError if workers cannot use the output or an input.

    A local folder may be on shared storage, mounted on every machine, but not on this machine's
    root disk.
    """
    check_store(output, "--output")
    for option, path in (("--output", output), *(("the input", path) for path in inputs)):
        if path and not storage.is_remote(path) and not are_seen and _is_on_root_disk(path):
            raise ConfigError(
                f"{option} {path} is on this machine's disk, which the workers of {runner} do not "
                "see; use a bucket (gs://, s3://), or a folder that all machines share"
            )


def check_store(path: str, option: str) -> None:
    """Raise ConfigError if the bucket of a remote path is missing or not accessible."""
    if not storage.is_remote(path):
        return
    try:
        storage.make_dirs(path)  # creates nothing on a store
    except OSError as error:
        raise ConfigError(
            f"{option} {path} cannot be used: {error}; create the bucket, or correct its name "
            "and the credentials"
        ) from error


def _is_on_root_disk(path: str) -> bool:
    path = os.path.abspath(path)
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return os.stat(path).st_dev == os.stat("/").st_dev
