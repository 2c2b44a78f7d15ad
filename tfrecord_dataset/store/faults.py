"""The store library's errors as OSErrors, and as ConfigErrors where no retry helps."""

import contextlib
import errno
import re
from collections.abc import Iterator
from typing import NamedTuple

from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import S3Store

from tfrecord_dataset.errors import ConfigError
from tfrecord_dataset.store.clients import Client

# Of an OSError: the range begins behind the object's end; the server knows no ranges.
BEYOND_THE_END = errno.ERANGE
NO_RANGES = errno.ENOTSUP

_STATUS = re.compile(r"status code: ((\d{3})[^:]*)")
# Of 5xx, what no other try changes: not implemented, HTTP version not supported.
_LASTING = frozenset({501, 505})
_THROTTLED = frozenset({429, 503})
# S3 may say so in an answer of status 200, or of some of the keys to delete.
_BUSY = re.compile(r"\b(SlowDown|InternalError|ServiceUnavailable)\b")
# What the library calls the faults of connections, in the second part of its messages.
_KINDS = {
    "Connect": "no connection",
    "Request": "the connection was closed without an answer",
    "Timeout": "no answer",
    "Interrupted": "the connection broke off",
}
_KIND = re.compile(r"HttpError \{\s*kind: (\w+)")
_CAUSE = re.compile(r'(?:message|error): "([^"]*)"')
_CERTIFICATE = "InvalidCertificate"
# Of Linux, and of macOS; where no name server answers they say something else.
_UNKNOWN_HOST = ("Name or service not known", "nodename nor servname provided")
_TRIES = re.compile(r" in ([\d.]+)s, after (\d+) retries")
_REQUEST = re.compile(r"Error performing \w+ .*? in [^ ]+ +- ")


class Fault(NamedTuple):
    """What another try may heal.

    Attributes:
        reason: In a few words.
        throttled: Whether the store has too much to do.
        is_lasting: Whether it mostly stays: nobody knows the host, as where it was misspelt.
    """

    reason: str
    throttled: bool = False
    is_lasting: bool = False


def passing_fault(error: Exception) -> Fault | None:
    """The fault of a store or of the way to it that an error of the library means; else None."""
    if not isinstance(error, BaseError | OSError) or isinstance(error, FileNotFoundError):
        return None
    message = str(error)
    if match := _STATUS.search(message):
        status = int(match[2])
        if status in (408, 429) or (status >= 500 and status not in _LASTING):
            return Fault(match[1].strip(), status in _THROTTLED)
        return None
    if _CERTIFICATE in message:
        return None
    if kind := _KIND.search(message):
        causes = _CAUSE.findall(message)
        reason = _KINDS.get(kind[1], "the connection failed")
        return Fault(
            f"{reason}: {causes[-1]}" if causes else reason,
            is_lasting=any(name in message for name in _UNKNOWN_HOST),
        )
    if "HTTP error" in message:
        return Fault("the connection failed")
    if busy := _BUSY.search(message):
        return Fault(busy[1], throttled=busy[1] != "InternalError")
    return None


def tries_of(error: Exception) -> tuple[int, float]:
    """How often the library itself sent a request that failed, and for how many seconds."""
    match = _TRIES.search(str(error))
    return (1 + int(match[2]), float(match[1])) if match else (1, 0.0)


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


def _unknown_fault(client: Client, url: str, message: str) -> Exception:
    match = _STATUS.search(message)
    status = int(match[2]) if match else 0
    is_of_credentials = "169.254.169.254" in message or "metadata.google" in message
    message = _REQUEST.sub("", message)  # a URL may have a signature
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
