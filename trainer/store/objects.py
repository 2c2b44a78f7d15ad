"""Objects of a store: what is there, and the bytes of the small ones."""

import contextlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import obstore
from obstore.exceptions import BaseError
from obstore.store import HTTPStore

from trainer.errors import ConfigError, DatasetDamagedError, TrainerError
from trainer.store.cache import RemoteFile
from trainer.store.clients import client_and_key
from trainer.store.remote_faults import BEYOND_THE_END, os_errors

_KEYS_A_REQUEST = 1000
_REQUESTS_AT_ONCE = 64


class Folder(NamedTuple):
    """What lies directly below a URL.

    Attributes:
        folders: Names.
        files: By name.
    """

    folders: tuple[str, ...]
    files: dict[str, RemoteFile]


@contextlib.contextmanager
def opened(url: str) -> Iterator[tuple[Any, str]]:
    """The library's store of an object, and its key there.

    Raises:
        ConfigError: There are no credentials for it, or no such bucket.
        DatasetDamagedError: It is not there.
        TrainerError: It could not be read, though that was tried for minutes.
    """
    if set("*?[") & set(url.partition("://")[2].partition("/")[0]):
        raise ConfigError(f"{url}: a bucket's name cannot have a wildcard; write it out")
    client, key = client_and_key(url)
    try:
        with os_errors(client, url):
            yield client.store, key
    except FileNotFoundError as error:
        raise DatasetDamagedError(f"there is no {url}; restore it, or check the URL") from error
    except PermissionError as error:
        raise ConfigError(
            f"{url} may not be read: permission denied; check the credentials, and what they allow"
        ) from error
    except OSError as error:
        if error.errno == BEYOND_THE_END:
            raise changed(url) from error
        raise TrainerError(f"{url} cannot be read: {error.strerror}") from error


def changed(url: str) -> DatasetDamagedError:
    """The error for a file that is not as it was."""
    return DatasetDamagedError(f"{url} changed since the dataset was opened; open it again")


def exists(url: str) -> bool:
    """Whether there is an object."""
    return bool(_described([url])[0])


def describe(urls: Sequence[str]) -> list[RemoteFile]:
    """Objects, many asked for at once.

    Raises:
        DatasetDamagedError: One is not there.
    """
    found = _described(urls)
    for url, file in zip(urls, found, strict=True):
        if file is None:
            raise DatasetDamagedError(f"there is no {url}; restore it, or check the URL")
    return [file for file in found if file]


def _described(urls: Sequence[str]) -> list[RemoteFile | None]:
    with ThreadPoolExecutor(_REQUESTS_AT_ONCE) as pool:
        return list(pool.map(_describe, urls))


def _describe(url: str) -> RemoteFile | None:
    with opened(url) as (store, key), contextlib.suppress(FileNotFoundError):
        if key:
            return _file(url, obstore.head(store, key))
    return None


def _file(url: str, meta: Any) -> RemoteFile:
    version = meta["e_tag"] or str(meta["last_modified"])
    return RemoteFile(url=url, num_bytes=meta["size"], version=version)


def read(url: str, length: int | None = None) -> bytes:
    """An object, or its first bytes.

    Raises:
        TrainerError: As `opened`.
    """
    options: Any = {} if length is None else {"range": (0, length)}
    with opened(url) as (store, key):
        try:
            return bytes(obstore.get(store, key, options=options).bytes())
        except BaseError as error:
            if length is None or "416" not in str(error):  # else it is empty
                raise
    return b""


def read_range(url: str, offset: int, length: int) -> bytes:
    """Some bytes of an object.

    Raises:
        TrainerError: As `opened`.
    """
    with opened(url) as (store, key):
        return bytes(obstore.get_range(store, key, start=offset, length=length))


def listing(url: str) -> Folder:
    """What lies directly below `url`; nothing, if there is no such folder.

    Raises:
        ConfigError: It is a web server's, which lists nothing.
    """
    with opened(url) as (store, key):
        _check_lists(store, url)
        found = obstore.list_with_delimiter(store, key)
    base = url.rstrip("/")
    files = {each["path"].rpartition("/")[2]: each for each in found["objects"]}
    return Folder(
        tuple(sorted(path.rstrip("/").rpartition("/")[2] for path in found["common_prefixes"])),
        {name: _file(f"{base}/{name}", each) for name, each in sorted(files.items())},
    )


def list_below(url: str) -> Iterator[RemoteFile]:
    """Every object below `url`."""
    client, _ = client_and_key(url)
    with opened(url) as (store, key):
        _check_lists(store, url)
        for chunk in obstore.list(store, key, chunk_size=_KEYS_A_REQUEST):
            yield from (_file(f"{client.root}/{each['path']}", each) for each in chunk)


def is_folder(url: str) -> bool:
    """Whether anything lies below `url`."""
    with opened(url) as (store, key):
        if isinstance(store, HTTPStore):
            return False
        return any(True for _ in obstore.list(store, key, chunk_size=1))


def _check_lists(store: Any, url: str) -> None:
    if isinstance(store, HTTPStore):
        raise ConfigError(
            f"{url}: a web server lists no files; name the dataset's directory …/name/1.0.0 "
            "itself, or each file"
        )
