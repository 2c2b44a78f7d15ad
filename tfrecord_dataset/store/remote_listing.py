"""Listings of a store, streamed in thousands of keys and never held completely."""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import obstore
from obstore.store import HTTPStore

from tfrecord_dataset.errors import ConfigError
from tfrecord_dataset.store import requests
from tfrecord_dataset.store.clients import client_and_key
from tfrecord_dataset.store.listing import (
    FileNames,
    FolderNames,
    fixed_folder,
    names_by_folder,
    pattern_regex,
)
from tfrecord_dataset.store.requests import KEYS_A_REQUEST
from tfrecord_dataset.store.urls import split_object


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
