"""Requests to stores, by URL.

The library sends a request again while its store is out (`clients`). `faults.os_errors` says what
these functions raise.
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
# A store takes no larger object by one request: 5 GiB is S3's limit.
_MOST_BYTES = 4 << 30
_TRIES = 5

_T = TypeVar("_T")


def _ask(url: str, request: Callable[[Any, str], _T]) -> _T:
    client, key = client_and_key(url)
    with os_errors(client, url):
        return request(client.store, key)


def get(url: str, options: Any = None, check: Callable[[Any], None] = lambda meta: None) -> bytes:
    """An object, or what `options` ask of it (the library's GetOptions).

    Args:
        url: The object.
        options: Such as {"range": (start, end)}.
        check: Is called with what the store says of the object before its bytes come; may raise.
    """

    def request(store: Any, key: str) -> bytes:
        result = obstore.get(store, key, options=options)
        check(result.meta)
        return bytes(result.bytes())

    return _ask(url, request)


def get_range(url: str, offset: int, length: int) -> bytes:
    """Some bytes of an object."""
    return _ask(
        url,
        lambda store, key: bytes(obstore.get_range(store, key, start=offset, length=length)),
    )


def head(url: str) -> Any:
    """What the store says of an object: path, size, last_modified, e_tag, version."""
    return _ask(url, obstore.head)


def list_level(url: str) -> Any:
    """What lies directly below `url`: common_prefixes, and objects as of `head`."""
    return _ask(url, obstore.list_with_delimiter)


def list_below(url: str) -> Iterator[Any]:
    """All objects below `url`, as of `head`, by key; a thousand are asked for at a time."""
    client, key = client_and_key(url)
    with os_errors(client, url):
        for page in obstore.list(client.store, key, chunk_size=KEYS_A_REQUEST):
            yield from page


def is_any_below(url: str) -> bool:
    """Whether anything lies below `url`."""
    return _ask(url, lambda store, key: any(True for _ in obstore.list(store, key, chunk_size=1)))


def put(url: str, data: Any) -> None:
    """Makes or replaces an object; a large one goes in parts."""
    client, key = client_and_key(url)
    with write_errors(client, url):
        _until_sent(client, key, lambda: obstore.put(client.store, key, data))


def put_new(url: str, data: Any) -> None:
    """Makes an object unless one is there; one of the same content is as good.

    A store that knows no such condition replaces what is there, and so does every store with more
    than 4 GiB that appear between the look and the upload.

    Args:
        url: The object.
        data: Bytes, or a mapped file.

    Raises:
        FileExistsError: An object of another content is there.
    """
    client, key = client_and_key(url)
    with write_errors(client, url):
        is_made = _until_sent(client, key, lambda: _is_made(client, key, data))
        if not is_made and not _holds(client.store, key, data):
            raise FileExistsError(errno.EEXIST, "Another object is there", url)


def _is_made(client: Client, key: str, data: Any) -> bool:
    """Makes an object; False where one is there, which this very request may have made."""
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
    """What a request returns that the library does not send again once it may have been done.

    Asking for an object, which it does send again, waits until the store answers.
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
    found = obstore.get(store, key)
    if found.meta["size"] != len(data):
        return False
    digest = hashlib.sha256()
    for block in found.stream(min_chunk_size=_BLOCK_BYTES):
        digest.update(block)
    return digest.digest() == hashlib.sha256(data).digest()


def delete(client: Client, keys: Sequence[str]) -> None:
    """Deletes objects that may be there by one request; as many as their store takes in one."""
    with contextlib.suppress(FileNotFoundError), os_errors(client, client.root):
        _until_sent(client, keys[0], lambda: obstore.delete(client.store, keys))
