"""What lies below a URL of a store: asked for a thousand keys at a time, and never all held."""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import obstore
from obstore.store import HTTPStore

from beam_pipeline.errors import ConfigError
from beam_pipeline.files.clients import Client, client_and_key
from beam_pipeline.files.listing import (
    FileNames,
    FolderNames,
    fixed_folder,
    names_by_folder,
    pattern_regex,
)
from beam_pipeline.files.remote_faults import os_errors
from beam_pipeline.files.urls import split_object

KEYS_A_REQUEST = 1000


def is_folder(url: str) -> bool:
    """Whether anything lies below `url`."""
    client, key = client_and_key(url)
    if isinstance(client.store, HTTPStore):
        return False
    with os_errors(client, url):
        return any(True for _ in obstore.list(client.store, key, chunk_size=1))


def list_objects(url: str) -> Iterator[tuple[str, Any]]:
    """(URL, what the store says) of each object below `url`, by key, a thousand at a time."""
    client, key = client_and_key(url)
    _refuse_http(client, url)
    with os_errors(client, url):
        for chunk in obstore.list(client.store, key, chunk_size=KEYS_A_REQUEST):
            for meta in chunk:
                yield f"{client.root}/{meta['path']}", meta


def _refuse_http(client: Client, url: str) -> None:
    if isinstance(client.store, HTTPStore):
        raise ConfigError(f"{url}: http:// lists no folders; name a file, such as a manifest")


def _files(url: str) -> Iterator[str]:
    """The objects below `url`, without the markers of folders."""
    return _but_markers(list_objects(url))


def _but_markers(objects: Iterable[tuple[str, Any]]) -> Iterator[str]:
    objects = itertools.chain(objects, [("", {})])
    for (path, meta), (following, _) in itertools.pairwise(objects):
        if not _is_marker(meta, following.startswith(f"{path}/")):
            yield path


def _is_marker(meta: Any, is_folder: bool) -> bool:
    """Whether an object only stands for a folder: consoles make such, empty, named "folder/"."""
    return meta["size"] == 0 and (is_folder or "." not in meta["path"].rpartition("/")[2])


def list_names(root: str) -> Iterator[FileNames]:
    """Every file below `root`; keys come in order, so those of a folder mostly together."""
    root = root.rstrip("/")
    return names_by_folder(path[len(root) + 1 :] for path in _files(root))


def scan_folder(url: str) -> Iterator[tuple[str, bool]]:
    """The names of what lies directly below `url`, and which are folders.

    Where the first thousand keys are files of this level, the others are streamed, too, for a
    store's answer by level is held whole; where one of them lies deeper, that costs less.
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
    for path in _but_markers(itertools.chain(first, objects)):
        name, slash, _ = path[len(url) + 1 :].partition("/")
        if name and not (slash and name == last):
            yield name, bool(slash)
        last = name


def list_folder(url: str) -> FolderNames:
    """The names of what lies directly below `url`, hidden ones too."""
    client, key = client_and_key(url)
    _refuse_http(client, url)
    with os_errors(client, url):
        listing = obstore.list_with_delimiter(client.store, key)
    paths = set(listing["common_prefixes"])
    files = [
        each["path"] for each in listing["objects"] if not _is_marker(each, each["path"] in paths)
    ]
    return FolderNames(tuple(sorted(map(_name, paths))), tuple(sorted(map(_name, files))))


def _name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def match_files(pattern: str) -> list[str]:
    """The URLs of the objects that fit `pattern`."""
    bucket = split_object(pattern)[0]
    folder = fixed_folder(pattern)
    if not folder.startswith(bucket):
        raise ConfigError(f"{pattern}: a bucket's name cannot have a wildcard; write it out")
    fits = pattern_regex(pattern)
    return [url for url in _files(folder) if fits.fullmatch(url)]
