"""Files by path: of stores (gs://, s3://, az://, https://), and those that TensorFlow opens."""

import fnmatch
import os
import re
from collections.abc import Iterator

import tensorflow as tf

from trainer.store import objects
from trainer.store.cache import Cache, RemoteFile, cache_folder
from trainer.store.urls import is_object as is_object
from trainer.store.urls import scheme_of


def open_cache(folder: str | None = None, max_bytes: int | None = None) -> Cache:
    """The cache in a folder; by default that of the user, `~/.cache/beam-tfrecords`."""
    return Cache(folder or str(cache_folder() / "shards"), max_bytes)


def exists(path: str) -> bool:
    """Whether there is a file, or a folder that is no store's."""
    return objects.exists(path) if is_object(path) else bool(tf.io.gfile.exists(path))


def is_folder(path: str) -> bool:
    """Whether there is a folder."""
    return objects.is_folder(path) if is_object(path) else bool(tf.io.gfile.isdir(path))


def lists_nothing(path: str) -> bool:
    """Whether `path` is a web server's, which tells of no folders."""
    return scheme_of(path) in ("http", "https")


def folders(path: str) -> list[str]:
    """The names of the folders in a folder, sorted."""
    if is_object(path):
        return list(objects.listing(path).folders)
    names = (name.rstrip("/") for name in tf.io.gfile.listdir(path))
    return sorted(name for name in names if tf.io.gfile.isdir(os.path.join(path, name)))


def files(path: str) -> dict[str, RemoteFile | None]:
    """The files in a folder by name, with what a store says of them; none without a folder."""
    if is_object(path):
        return dict(objects.listing(path).files)
    if not tf.io.gfile.isdir(path):
        return {}
    return dict.fromkeys(name.rstrip("/") for name in tf.io.gfile.listdir(path))


def read_text(path: str) -> str:
    """A text file's content."""
    if is_object(path):
        return objects.read(path).decode()
    with tf.io.gfile.GFile(path) as handle:
        text: str = handle.read()
    return text


def read_start(path: str, length: int) -> bytes:
    """The first bytes of a file."""
    if is_object(path):
        return objects.read(path, length)
    with tf.io.gfile.GFile(path, "rb") as handle:
        data: bytes = handle.read(length)
    return data


def matching(pattern: str) -> list[str]:
    """The files that fit a path or a glob, sorted."""
    if is_object(pattern):
        return [pattern] if objects.exists(pattern) else sorted(_matching_objects(pattern))
    if tf.io.gfile.exists(pattern):
        return [pattern]
    return sorted(tf.io.gfile.glob(pattern))


def _matching_objects(pattern: str) -> Iterator[str]:
    fixed, *rest = re.split(r"[*?[]", pattern, maxsplit=1)
    folder = fixed.rpartition("/")[0]
    if not rest:
        return
    parts = pattern.split("/")
    for file in objects.list_below(folder):
        names = file.url.split("/")
        if len(names) == len(parts) and all(map(fnmatch.fnmatchcase, names, parts)):
            yield file.url
