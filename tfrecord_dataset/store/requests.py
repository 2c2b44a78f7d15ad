"""Requests to stores by URL.

The library retries requests during outages (`clients`). Its errors become OSErrors, or ConfigErrors
for wrong settings.
"""

import contextlib
import errno
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    NotSupportedError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)
from obstore.store import S3Store

from tfrecord_dataset.errors import ConfigError
from tfrecord_dataset.store.clients import Client, client_and_key

# OSError numbers: a range after the object's end; a server without range requests.
BEYOND_THE_END = errno.ERANGE
NO_RANGES = errno.ENOTSUP

_STATUS = re.compile(r"status code: ((\d{3})[^:]*)")
_OF_CONNECTION = re.compile(r"HttpError \{\s*kind: \w+")
_CAUSE = re.compile(r'(?:message|error): "([^"]*)"')
_RETRIES = re.compile(r" in ([\d.]+)s, after (\d+) retries")
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
        return _no_bucket(client)
    if status in (301, 307, 400) and isinstance(client.store, S3Store):
        return ConfigError(f"{client.root} cannot be used ({message}); check AWS_REGION")
    if "empty path segment" in message or "invalid path" in message:
        return OSError(errno.EINVAL, f"{message}; rename such an object", url)
    if status == 416:
        return OSError(BEYOND_THE_END, message, url)
    if "Range request not supported" in message:
        return OSError(NO_RANGES, message, url)
    return OSError(errno.EREMOTEIO, message, url)


def _no_bucket(client: Client) -> ConfigError:
    return ConfigError(f"there is no bucket {client.root}; fix the name, or create it")


def _tries(message: str) -> str:
    match = _RETRIES.search(message)
    return f", also after {1 + int(match[2])} tries in {float(match[1]):.0f} s" if match else ""


@contextlib.contextmanager
def write_errors(client: Client, url: str) -> Iterator[None]:
    """Like `os_errors`, for calls in which only the bucket can be missing."""
    try:
        with os_errors(client, url):
            yield
    except FileNotFoundError as error:
        raise _no_bucket(client) from error


KEYS_A_REQUEST = 1000
_BLOCK_BYTES = 8 << 20
# Largest object for one request: 5 GiB on S3.
_MOST_BYTES = 4 << 30
_TRIES = 5

_T = TypeVar("_T")


@contextlib.contextmanager
def bucket(url: str) -> Iterator[tuple[Any, str]]:
    """Yield the library's store for an object, and its key; convert the library's errors."""
    client, key = client_and_key(url)
    with os_errors(client, url):
        yield client.store, key


@contextlib.contextmanager
def opened(url: str, options: Any = None) -> Iterator[Any]:
    """Request an object, or the part in `options`, such as {"range": (start, end)}.

    Yields the library's result: `meta` as from `head`, and the content by `bytes()`.
    """
    with bucket(url) as (store, key):
        yield obstore.get(store, key, options=options)


def get_range(url: str, offset: int, length: int) -> bytes:
    """Read a range of an object."""
    with bucket(url) as (store, key):
        return bytes(obstore.get_range(store, key, start=offset, length=length))


def head(url: str) -> Any:
    """Return an object's status: path, size, last_modified, e_tag, version."""
    with bucket(url) as (store, key):
        return obstore.head(store, key)


def put(url: str, data: Any) -> None:
    """Create or replace an object; a large one in parts."""
    client, key = client_and_key(url)
    with write_errors(client, url):
        obstore.put(client.store, key, data)


def version_of(meta: Any) -> str:
    """Return the ETag in the metadata of a response or listing, else the modification time."""
    version = meta["e_tag"] or str(meta.get("last_modified", ""))
    return version.removeprefix("W/").strip('"')  # Azure omits an ETag's quotes in listings


def put_new(url: str, data: Any) -> str:
    """Create an object unless it exists, and return its version.

    An existing object with equal content is accepted.

    A store without conditional writes replaces an existing object. So does any store for more than
    4 GiB, if the object appears between the check and the upload.

    Raises:
        FileExistsError: An object with other content exists.
    """
    client, key = client_and_key(url)
    with write_errors(client, url):
        made = _until_sent(client, key, lambda: _made(client, key, data))
        if made is None and (made := _equal(client.store, key, data)) is None:
            raise FileExistsError(errno.EEXIST, "Another object is there", url)
    return version_of(made)


def _made(client: Client, key: str, data: Any) -> Any:
    """Create an object; None if one exists, perhaps from an earlier attempt of this call."""
    if len(data) > _MOST_BYTES:
        with contextlib.suppress(FileNotFoundError):
            obstore.head(client.store, key)
            return None
        return obstore.put(client.store, key, data, use_multipart=True)
    try:
        return obstore.put(client.store, key, data, mode="create", use_multipart=False)
    except (AlreadyExistsError, PreconditionError):
        return None
    except (NotSupportedError, NotImplementedError):
        return obstore.put(client.store, key, data)


def _until_sent(client: Client, key: str, request: Callable[[], _T]) -> _T:
    """Make a request that the library does not retry because it may have taken effect.

    Waits, with a read that the library does retry, until the store responds.
    """
    for _ in range(_TRIES - 1):
        try:
            return request()
        except BaseError as error:
            if not is_of_the_way(error):
                raise
        with contextlib.suppress(FileNotFoundError):
            obstore.head(client.store, key)
    return request()


def _equal(store: Any, key: str, data: Any) -> Any:
    """Return the metadata of an object with this content, else None."""
    response = obstore.get(store, key)
    if response.meta["size"] != len(data):
        return None
    digest = hashlib.sha256()
    for block in response.stream(min_chunk_size=_BLOCK_BYTES):
        digest.update(block)
    return response.meta if digest.digest() == hashlib.sha256(data).digest() else None


def delete(client: Client, keys: Sequence[str]) -> None:
    """Delete objects that may be missing in one request, up to the store's limit."""
    with contextlib.suppress(FileNotFoundError), os_errors(client, client.root):
        _until_sent(client, keys[0], lambda: obstore.delete(client.store, keys))
