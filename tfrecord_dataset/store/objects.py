"""Objects of a store: status, content of small ones, and listings.

Listings come in thousands of keys (`key_ranges`) and are never held completely.
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
from tfrecord_dataset.store.key_ranges import (
    LAST,
    PAGES_IN_A_ROW,
    KeyListing,
    is_in_order,
    is_marker,
    page_of,
    refuse_http,
)
from tfrecord_dataset.store.listing import (
    FileNames,
    FolderNames,
    KeyRange,
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
# Answers of a thousand keys that show what a folder holds.
_PAGES_OF_A_FOLDER = 64
_PARTS = 64  # for the workers of a cluster


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


def read_object(url: str) -> bytes:
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
        refuse_http(store, url)
        for page in obstore.list(store, key, chunk_size=KEYS_A_REQUEST):
            yield from ((f"{root}/{meta['path']}", meta) for meta in page)


def list_names(root: str, ranges: Iterable[KeyRange] = (KeyRange(),)) -> Iterator[FileNames]:
    """Yield every file below `root`, or those in ranges of keys, in no order."""
    for page in KeyListing(root, ranges).pages():
        yield from _names(root, page)


def list_parts(root: str) -> Iterator[FileNames | KeyRange]:
    """Yield the files below `root` until many ranges of keys are left, and then these."""
    listing = KeyListing(root, wanted=_PARTS)
    for page in listing.pages():
        yield from _names(root, page)
        if len(listing.left) >= listing.wanted:
            break
    yield from listing.left


def _names(root: str, page: Iterable[str]) -> Iterator[FileNames]:
    start = len(_prefix(root))
    return names_by_folder(key[start:] for key in page)


def _prefix(url: str) -> str:
    key = split_object(url)[1].rstrip("/")
    return f"{key}/" if key else ""


def scan_folder(url: str) -> Iterator[tuple[str, bool]]:
    """Yield (name, whether it is a folder) of the entries directly below `url`.

    Of many files only some are listed, from all over the folder; ("", False) stands for the others.
    If most of the first keys are deeper, lists by level, which is cheaper then but holds the whole
    response.
    """
    prefix, after, shared = _prefix(url), "", 0
    for number in range(_PAGES_OF_A_FOLDER):
        keys, last = page_of(url, KeyRange(after))
        entries = dict.fromkeys(key[len(prefix) :].partition("/")[:2] for key in keys)
        if number == 0 and last and (len(entries) < len(keys) / 2 or not is_in_order(url)):
            folders, files = list_folder(url)
            yield from itertools.product(folders, [True])
            yield from itertools.product(files, [False])
            return
        yield from ((name, bool(slash)) for name, slash in entries if name)
        if not last:
            break
        name, slash, _ = last[len(prefix) :].partition("/")
        if slash:
            after = f"{prefix}{name}/{LAST}"
        elif number < PAGES_IN_A_ROW:
            after = last
        else:
            shared = _skipped(keys[0][len(prefix) :], name, shared)
            after = last[: len(prefix) + shared] + LAST
    if last or shared:
        yield "", False


def _skipped(first: str, last: str, before: int) -> int:
    """Return how many characters names share that are skipped after a page of them.

    At first as many as the page's names; then fewer and fewer, since the next page shows only
    names that differ in the last of these characters.
    """
    if before > 1:
        return before - 1
    equal = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return max(1, sum(1 for _ in equal))


def list_level(url: str) -> Any:
    """List the entries directly below `url`: common_prefixes, and the status of each object.

    Raises:
        ConfigError: The URL is a web server's, which cannot list files.
    """
    with requests.bucket(url) as (store, key):
        refuse_http(store, url)
        return obstore.list_with_delimiter(store, key)


def list_folder(url: str) -> FolderNames:
    """Return the names of the entries directly below `url`, including hidden ones."""
    listing = list_level(url)
    paths = set(listing["common_prefixes"])
    files = [
        each["path"] for each in listing["objects"] if not is_marker(each, each["path"] in paths)
    ]
    return FolderNames(tuple(sorted(map(_name, paths))), tuple(sorted(map(_name, files))))


def _name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def match_files(pattern: str) -> list[str]:
    """Return the URLs of the objects that match `pattern`."""
    client_and_key(pattern)  # refuses a wildcard in the bucket's name
    fits = pattern_regex(pattern)
    root, folder = split_object(pattern)[0], fixed_folder(pattern)
    urls = (f"{root}/{key}" for page in KeyListing(folder).pages() for key in page)
    return list(filter(fits.fullmatch, urls))
