"""The store library's errors as OSErrors, and as ConfigErrors where no retry helps."""

import contextlib
import errno
import re
from collections.abc import Iterator

from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import S3Store

from trainer.errors import ConfigError
from trainer.store.clients import Client
from trainer.store.urls import scheme_of

# Of an OSError: the range begins behind the object's end; the server knows no ranges.
BEYOND_THE_END = errno.ERANGE
NO_RANGES = errno.ENOTSUP

_STATUS = re.compile(r"status code: (\d{3})")


@contextlib.contextmanager
def os_errors(client: Client, url: str) -> Iterator[None]:
    """Turns the library's errors into OSErrors, and into ConfigErrors where no retry helps."""
    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(errno.ENOENT, "No such object", url) from error
    except (PermissionDeniedError, UnauthenticatedError, PermissionError) as error:
        raise _denied(client, url) from error
    except (BaseError, ValueError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise _unknown_fault(client, url, str(error).partition("\n")[0]) from error


def _denied(client: Client, url: str) -> Exception:
    if client.remedy:
        return ConfigError(
            f"{client.root} may not be read or written without credentials; {client.remedy}"
        )
    return PermissionError(errno.EACCES, "Permission denied", url)


def _variables(client: Client) -> str:
    return {"s3": "AWS", "s3a": "AWS", "gs": "GOOGLE"}.get(scheme_of(client.root), "AZURE")


def _unknown_fault(client: Client, url: str, message: str) -> Exception:
    match = _STATUS.search(message)
    status = int(match[1]) if match else 0
    if "169.254.169.254" in message or "metadata.google" in message:
        return ConfigError(
            f"{client.root}: this machine's cloud gives no credentials for it ({message}); attach "
            "a service account or role to the machine, or set them in the environment; for a "
            f"public bucket set {_variables(client)}_SKIP_SIGNATURE=true"
        )
    if status in (401, 403):
        return _denied(client, url)
    if "NoSuchBucket" in message or status == 404:
        return ConfigError(f"there is no bucket {client.root}; fix the name, or create it")
    if status in (301, 307, 400) and isinstance(client.store, S3Store):
        return ConfigError(f"{client.root} cannot be used ({message}); check AWS_REGION")
    if "empty path segment" in message or "invalid path" in message:
        return OSError(errno.EINVAL, f"{message}; rename such an object", url)
    if status == 416:
        return OSError(BEYOND_THE_END, message, url)
    if "Range request not supported" in message:
        return OSError(NO_RANGES, message, url)
    return OSError(errno.EREMOTEIO, message, url)


@contextlib.contextmanager
def write_errors(client: Client, url: str) -> Iterator[None]:
    """As `os_errors`, where nothing but the bucket can be missing."""
    try:
        with os_errors(client, url):
            yield
    except FileNotFoundError as error:
        raise ConfigError(
            f"there is no bucket {client.root}; fix the name, or create it"
        ) from error
