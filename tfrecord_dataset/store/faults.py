"""Converts the store library's errors to OSErrors, or ConfigErrors for wrong settings."""

import contextlib
import errno
import re
from collections.abc import Iterator

from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import S3Store

from tfrecord_dataset.errors import ConfigError
from tfrecord_dataset.store.clients import Client

# OSError numbers: a range after the object's end; a server without range requests.
BEYOND_THE_END = errno.ERANGE
NO_RANGES = errno.ENOTSUP

_STATUS = re.compile(r"status code: ((\d{3})[^:]*)")
_OF_CONNECTION = re.compile(r"HttpError \{\s*kind: \w+")
_CAUSE = re.compile(r'(?:message|error): "([^"]*)"')
_TRIES = re.compile(r" in ([\d.]+)s, after (\d+) retries")
_REQUEST = re.compile(r"Error performing \w+ .*? in [^ ]+ +- ")


@contextlib.contextmanager
def os_errors(client: Client, url: str) -> Iterator[None]:
    """Convert the library's errors to OSErrors, or ConfigErrors for wrong settings."""
    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(errno.ENOENT, "No such object", url) from error
    except (PermissionDeniedError, UnauthenticatedError, PermissionError) as error:
        raise _denied(client, url) from error
    except (BaseError, ValueError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise _named(client, url, str(error)) from error


def is_of_the_way(error: Exception) -> bool:
    """Whether an error is a connection failure rather than a store's response."""
    return _OF_CONNECTION.search(str(error)) is not None


def _denied(client: Client, url: str) -> Exception:
    if client.remedy:
        return ConfigError(
            f"{client.root} cannot be read or written without credentials; {client.remedy}"
        )
    return PermissionError(errno.EACCES, "Permission denied", url)


def _named(client: Client, url: str, text: str) -> Exception:
    message = text.partition("\n")[0]
    match = _STATUS.search(message)
    status = int(match[2]) if match else 0
    is_of_credentials = "169.254.169.254" in message or "metadata.google" in message
    if match and (status >= 500 or status in (408, 429)):
        return OSError(errno.EREMOTEIO, match[1].strip() + _tries(message), url)
    if _OF_CONNECTION.search(text) and not is_of_credentials:
        reason = ": ".join(["the connection failed", *_CAUSE.findall(text)[-1:]])
        return OSError(errno.EREMOTEIO, reason + _tries(message), url)
    message = _REQUEST.sub("", message)  # the URL may contain a signature
    if is_of_credentials:
        return ConfigError(
            f"{client.root}: this machine's cloud gives no credentials for it ({message}); attach "
            "a service account or role to the machine, or set them in the environment; for a "
            f"public bucket set {client.prefix}_SKIP_SIGNATURE=true"
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


def _tries(message: str) -> str:
    """Describe the library's retries, if any."""
    match = _TRIES.search(message)
    return f", also after {1 + int(match[2])} tries in {float(match[1]):.0f} s" if match else ""


@contextlib.contextmanager
def write_errors(client: Client, url: str) -> Iterator[None]:
    """Like `os_errors`, for calls in which only the bucket can be missing."""
    try:
        with os_errors(client, url):
            yield
    except FileNotFoundError as error:
        raise ConfigError(
            f"there is no bucket {client.root}; fix the name, or create it"
        ) from error
