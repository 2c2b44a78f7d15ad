"""The requests that both packages send to stores: repeated while a store is out, and counted.

What these functions raise is said by `faults.os_errors`.
"""

import contextlib
import errno
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import obstore
from obstore.exceptions import AlreadyExistsError, NotSupportedError, PreconditionError

from tfrecord_dataset.store.clients import Client, client_and_key
from tfrecord_dataset.store.faults import write_errors
from tfrecord_dataset.store.retries import send

KEYS_A_REQUEST = 1000

_T = TypeVar("_T")


def _ask(
    operation: str,
    url: str,
    request: Callable[[Any, str], _T],
    num_bytes: Callable[[_T], int] = lambda _: 0,
) -> _T:
    """What a request to the library's store of an object's bucket returns, given the key."""
    client, key = client_and_key(url)
    return send(operation, client, url, lambda: request(client.store, key), num_bytes)


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

    return _ask("get", url, request, len)


def get_range(url: str, offset: int, length: int) -> bytes:
    """Some bytes of an object."""

    def request(store: Any, key: str) -> bytes:
        return bytes(obstore.get_range(store, key, start=offset, length=length))

    return _ask("get", url, request, len)


def head(url: str) -> Any:
    """What the store says of an object: path, size, last_modified, e_tag, version."""
    return _ask("head", url, obstore.head)


def list_level(url: str) -> Any:
    """What lies directly below `url`: common_prefixes, and objects as of `head`."""
    return _ask("list", url, obstore.list_with_delimiter)


def list_below(url: str, after: str | None = None) -> Iterator[Any]:
    """All objects below `url`, as of `head`, by key; a thousand are asked for at a time.

    A listing that broke off goes on behind the last object that it had.

    Args:
        url: The folder.
        after: A key; those up to it are left out.
    """
    client, key = client_and_key(url)
    pages = _Pages(client, key, after)
    while page := send("list", client, url, pages.next_page):
        yield from pages.new(page)
        if len(page) < KEYS_A_REQUEST:
            return


class _Pages:
    def __init__(self, client: Client, key: str, after: str | None):
        self._client = client
        self._key = key
        self._last = after or ""
        self._behind = ""  # where it broke off
        self._is_sorted = True
        self._stream: Iterator[Sequence[Any]] | None = None

    def next_page(self) -> Sequence[Any]:
        """The next objects; none at the end. Where it fails it may be called again."""
        if self._stream is None:
            objects = obstore.list(
                self._client.store, self._key, offset=self._last or None, chunk_size=KEYS_A_REQUEST
            )
            self._stream = iter(objects)
        try:
            return next(self._stream, ())
        except Exception as error:
            self._stream, self._behind = None, self._last
            if not self._is_sorted:  # nobody knows what is missing
                reason = "the listing broke off, and the store does not list by name"
                raise OSError(errno.EREMOTEIO, reason, self._client.root) from error
            raise

    def new(self, page: Sequence[Any]) -> Iterator[Any]:
        """The objects of a page; of a listing that broke off not those that it had, for not all
        stores begin where they are told to.
        """
        for each in page:
            path = each["path"]
            if path > self._behind:
                self._is_sorted &= path > self._last
                self._last = path
                yield each


def is_any_below(url: str) -> bool:
    """Whether anything lies below `url`."""

    def request(store: Any, key: str) -> bool:
        return any(True for _ in obstore.list(store, key, chunk_size=1))

    return _ask("list", url, request)


def put(url: str, data: bytes) -> Any:
    """Makes an object by one request; returns its version: e_tag and version."""

    def request(store: Any, key: str) -> Any:
        return obstore.put(store, key, data, use_multipart=False)

    with write_errors(client_and_key(url)[0], url):
        return _ask("put", url, request, lambda _: len(data))


def put_if(url: str, data: bytes, version: Any) -> Any:
    """Makes an object, or replaces the one of this version; None where another did, or deleted it.

    That other may be this request itself, where its answer was lost. On a store that knows no such
    conditions the object is made or replaced.
    """
    mode: Any = "create"
    if version is not None:
        mode = {name: version[name] for name in ("e_tag", "version") if version[name]}

    def request(store: Any, key: str) -> Any:
        try:
            return obstore.put(store, key, data, mode=mode)
        except (AlreadyExistsError, PreconditionError):
            return None
        except FileNotFoundError:
            if version is None:
                raise
            return None
        except (NotSupportedError, NotImplementedError):
            return obstore.put(store, key, data)

    with write_errors(client_and_key(url)[0], url):
        return _ask("put", url, request, lambda _: len(data))


def copy(url: str, target: str) -> None:
    """Copies an object to a key of the same bucket."""
    _ask("copy", url, lambda store, key: obstore.copy(store, key, target))


def delete(client: Client, keys: Sequence[str]) -> None:
    """Deletes objects that may be there by one request; as many as their store takes in one."""
    with contextlib.suppress(FileNotFoundError):
        send("delete", client, client.root, lambda: obstore.delete(client.store, keys))
