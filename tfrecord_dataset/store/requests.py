"""Requests to stores by URL.

The library retries requests during outages (`clients`). These functions raise the errors of
`faults.os_errors`.
"""

import contextlib
import errno
import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    NotSupportedError,
    PreconditionError,
)

from tfrecord_dataset.store.clients import Client, client_and_key
from tfrecord_dataset.store.faults import is_of_the_way, os_errors, write_errors

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

    Yields the library's result: `meta` as from `head`, and what `content` reads.
    """
    with bucket(url) as (store, key):
        yield obstore.get(store, key, options=options)


def content(response: Any) -> bytes:
    """Read the content of an opened object."""
    return bytes(response.bytes())


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


def put_new(url: str, data: Any) -> None:
    """Create an object unless it exists; an existing one with equal content is accepted.

    A store without conditional writes replaces an existing object. So does any store for more than
    4 GiB, if the object appears between the check and the upload.

    Raises:
        FileExistsError: An object with other content exists.
    """
    client, key = client_and_key(url)
    with write_errors(client, url):
        is_made = _until_sent(client, key, lambda: _is_made(client, key, data))
        if not is_made and not _holds(client.store, key, data):
            raise FileExistsError(errno.EEXIST, "Another object is there", url)


def _is_made(client: Client, key: str, data: Any) -> bool:
    """Create an object; False if one exists, perhaps from an earlier attempt of this call."""
    if len(data) > _MOST_BYTES:
        with contextlib.suppress(FileNotFoundError):
            obstore.head(client.store, key)
            return False
        obstore.put(client.store, key, data, use_multipart=True)
        return True
    try:
        obstore.put(client.store, key, data, mode="create", use_multipart=False)
    except (AlreadyExistsError, PreconditionError):
        return False
    except (NotSupportedError, NotImplementedError):
        obstore.put(client.store, key, data)
    return True


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


def _holds(store: Any, key: str, data: Any) -> bool:
    """Whether an object has this content."""
    response = obstore.get(store, key)
    if response.meta["size"] != len(data):
        return False
    digest = hashlib.sha256()
    for block in response.stream(min_chunk_size=_BLOCK_BYTES):
        digest.update(block)
    return digest.digest() == hashlib.sha256(data).digest()


def delete(client: Client, keys: Sequence[str]) -> None:
    """Delete objects that may be missing in one request, up to the store's limit."""
    with contextlib.suppress(FileNotFoundError), os_errors(client, client.root):
        _until_sent(client, keys[0], lambda: obstore.delete(client.store, keys))
