"""Objects of a store: status, content of small ones, and listings.

Listings are streamed in thousands of keys and never held completely.
"""

import contextlib
import dataclasses
import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import obstore
from obstore.store import HTTPStore

from tfrecord_dataset.errors import BeamTFRecordsError, ConfigError, DatasetDamagedError
from tfrecord_dataset.json_file import MAX_BYTES
from tfrecord_dataset.store import requests
from tfrecord_dataset.store.clients import client_and_key
from tfrecord_dataset.store.listing import (
    FileNames,
    FolderNames,
    fixed_folder,
    names_by_folder,
    pattern_regex,
)
from tfrecord_dataset.store.pinned_files import changed
from tfrecord_dataset.store.requests import BEYOND_THE_END, KEYS_A_REQUEST
from tfrecord_dataset.store.threads import run_in_threads
from tfrecord_dataset.store.urls import split_object

REQUESTS_AT_ONCE = 64
_WORTH_A_LISTING = 100  # objects of one folder


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RemoteFile:
    """A file on a store.

    Attributes:
        sha256: Hex digest from metadata.json; empty if unknown.
        version: The store's version of the file (its ETag, or modification time).
    """

    url: str
    num_bytes: int
    sha256: str = ""
    version: str = ""

    @property
    def local_name(self) -> str:
        """Name of a local copy: equal for equal content, if the digest is known."""
        stated = (
            self.sha256
            or hashlib.sha256(f"{self.url}\n{self.num_bytes}\n{self.version}".encode()).hexdigest()
        )
        name = re.sub(r"[^\w.-]", "_", self.url.partition("?")[0].rpartition("/")[2])
        return f"{stated[:32]}-{name[-128:]}"


@contextlib.contextmanager
def explained(url: str) -> Iterator[None]:
    """Convert a fault of an object or its store to an error with a remedy.

    Raises:
        FileNotFoundError: The object does not exist.
        ConfigError: Credentials or the bucket are missing.
        BeamTFRecordsError: The object could not be read, after minutes of retries.
    """
    try:
        yield
    except FileNotFoundError:
        raise
    except PermissionError as error:
        raise ConfigError(
            f"{url} cannot be read: permission denied; check the credentials and their permissions"
        ) from error
    except OSError as error:
        if error.errno == BEYOND_THE_END:
            raise changed(url) from error
        raise BeamTFRecordsError(f"{url} cannot be read: {error.strerror}") from error


def describe(urls: Sequence[str]) -> list[RemoteFile | None]:
    """Get the status of objects in parallel; None for one that does not exist.

    Lists a folder of many objects: each worker of a training asks for all shards.
    """
    found: dict[str, RemoteFile | None] = {}
    for folder, count in Counter(url.rpartition("/")[0] for url in urls).items():
        if count >= _WORTH_A_LISTING:
            root = split_object(folder)[0]
            with contextlib.suppress(ConfigError), explained(folder):  # listing may be forbidden
                listed = list_level(folder)["objects"]
                found |= {(url := f"{root}/{meta['path']}"): _file(url, meta) for meta in listed}
    others = [url for url in urls if url not in found]
    described = run_in_threads(_describe, others, REQUESTS_AT_ONCE)
    found |= zip(others, described, strict=True)
    return [found[url] for url in urls]


def _describe(url: str) -> RemoteFile | None:
    with explained(url), contextlib.suppress(FileNotFoundError):
        if client_and_key(url)[1]:
            return _file(url, requests.head(url))
    return None


def _file(url: str, meta: Any, sha256: str = "") -> RemoteFile:
    version = requests.version_of(meta)
    return RemoteFile(url=url, num_bytes=meta["size"], sha256=sha256, version=version)


def read(url: str) -> bytes:
    """Read a small object.

    Raises:
        FileNotFoundError: The object does not exist.
        DatasetDamagedError: The object is too large.
        BeamTFRecordsError: As in `explained`.
    """
    with explained(url), requests.opened(url) as response:
        if response.meta["size"] > MAX_BYTES:
            raise DatasetDamagedError(
                f"{url} has more than the {MAX_BYTES:,} bytes that such a file may have; restore it"
            )
        return bytes(response.bytes())


def read_range(file: RemoteFile, offset: int, length: int) -> bytes:
    """Read a range of an object; shorter at its end.

    Raises:
        DatasetChangedError: The object has changed.
        BeamTFRecordsError: As in `explained`.
    """
    length = min(length, file.num_bytes - offset)
    if length <= 0:
        return b""
    # Read a whole file without a range, which some web servers do not support.
    options = None if length == file.num_bytes else {"range": (offset, offset + length)}
    try:
        with explained(file.url), requests.opened(file.url, options) as response:
            if _file(file.url, response.meta, file.sha256) != file:
                raise changed(file.url)
            data = bytes(response.bytes())
    except FileNotFoundError as error:
        raise changed(file.url) from error
    if len(data) != length:
        raise changed(file.url)
    return data


def is_folder(url: str) -> bool:
    """Whether anything exists below `url`."""
    with requests.bucket(url) as (store, key):
        if isinstance(store, HTTPStore):
            return False
        return any(True for _ in obstore.list(store, key, chunk_size=1))


def list_objects(url: str) -> Iterator[tuple[str, Any]]:
    """Yield (URL, status) of each object below `url`, by key, a thousand at a time."""
    root, _ = split_object(url)
    with requests.bucket(url) as (store, key):
        _refuse_http(store, url)
        for page in obstore.list(store, key, chunk_size=KEYS_A_REQUEST):
            yield from ((f"{root}/{meta['path']}", meta) for meta in page)


def _refuse_http(store: Any, url: str) -> None:
    if isinstance(store, HTTPStore):
        raise ConfigError(
            f"{url}: a web server cannot list files; name a file, such as a manifest, or a "
            "dataset's directory …/name/1.0.0 itself"
        )


def _without_markers(objects: Iterable[tuple[str, Any]]) -> Iterator[str]:
    objects = itertools.chain(objects, [("", {})])
    for (path, meta), (following, _) in itertools.pairwise(objects):
        if not _is_marker(meta, following.startswith(f"{path}/")):
            yield path


def _is_marker(meta: Any, is_folder: bool) -> bool:
    """Whether an object is a folder marker: empty and named "folder/", as consoles create them."""
    return meta["size"] == 0 and (is_folder or "." not in meta["path"].rpartition("/")[2])


def list_names(root: str) -> Iterator[FileNames]:
    """Yield every file below `root`, by key and so mostly folder by folder."""
    root = root.rstrip("/")
    paths = _without_markers(list_objects(root))
    return names_by_folder(path[len(root) + 1 :] for path in paths)


def scan_folder(url: str) -> Iterator[tuple[str, bool]]:
    """Yield (name, whether it is a folder) of the entries directly below `url`.

    If the first thousand keys are all files of this level, streams the rest as well. If one is
    deeper, lists by level, which is cheaper then but holds the whole response.
    """
    url = url.rstrip("/")
    objects = list_objects(url)
    first = list(itertools.islice(objects, KEYS_A_REQUEST))
    if len(first) == KEYS_A_REQUEST and any("/" in path[len(url) + 1 :] for path, _ in first):
        folders, files = list_folder(url)
        yield from ((name, True) for name in folders)
        yield from ((name, False) for name in files)
        return
    last = ""
    for path in _without_markers(itertools.chain(first, objects)):
        name, slash, _ = path[len(url) + 1 :].partition("/")
        if name and not (slash and name == last):
            yield name, bool(slash)
        last = name


def list_level(url: str) -> Any:
    """List the entries directly below `url`: common_prefixes, and the status of each object.

    Raises:
        ConfigError: The URL is a web server's, which cannot list files.
    """
    with requests.bucket(url) as (store, key):
        _refuse_http(store, url)
        return obstore.list_with_delimiter(store, key)


def list_folder(url: str) -> FolderNames:
    """Return the names of the entries directly below `url`, including hidden ones."""
    listing = list_level(url)
    paths = set(listing["common_prefixes"])
    files = [
        each["path"] for each in listing["objects"] if not _is_marker(each, each["path"] in paths)
    ]
    return FolderNames(tuple(sorted(map(_name, paths))), tuple(sorted(map(_name, files))))


def _name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def match_files(pattern: str) -> list[str]:
    """Return the URLs of the objects that match `pattern`."""
    client_and_key(pattern)  # refuses a wildcard in the bucket's name
    fits = pattern_regex(pattern)
    objects = list_objects(fixed_folder(pattern))
    return [url for url in _without_markers(objects) if fits.fullmatch(url)]
