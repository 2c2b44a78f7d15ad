"""Local and remote files by path (gs://, s3://, az://, https://)."""

import glob
import os
from collections.abc import Sequence

from tfrecord_dataset import regular_files
from tfrecord_dataset.errors import ConfigError
from tfrecord_dataset.json_file import MAX_BYTES
from tfrecord_dataset.store import objects
from tfrecord_dataset.store.pinned_files import unreadable
from tfrecord_dataset.store.threads import run_in_threads
from tfrecord_dataset.store.urls import is_object as is_object
from tfrecord_dataset.store.urls import is_remote, local_path


def readable(path: str) -> str:
    """Normalise a user's path: a local path, or the URL of a store.

    Raises:
        ConfigError: The scheme is not supported.
    """
    path = os.path.expanduser(local_path(path))
    if is_remote(path) and not is_object(path):
        raise ConfigError(
            f"{path} cannot be read: datasets are local files, or on gs://, s3://, az:// and "
            "https://; copy the data to one of these"
        )
    return path


def exists(path: str) -> bool:
    """Whether a file, or a local folder, exists."""
    return objects.describe([path]) != [None] if is_object(path) else os.path.exists(path)


def missing(paths: Sequence[str]) -> list[str]:
    """Return the files that do not exist, in order."""
    there = run_in_threads(exists, paths, objects.REQUESTS_AT_ONCE)
    return [path for path, is_there in zip(paths, there, strict=True) if not is_there]


def is_folder(path: str) -> bool:
    """Whether a folder exists; always false on a web server."""
    if not is_object(path):
        return os.path.isdir(path)
    with objects.explained(path):
        return objects.is_folder(path)


def folders(path: str) -> list[str]:
    """Return the sorted names of a folder's subfolders."""
    if is_object(path):
        with objects.explained(path):
            return list(objects.list_folder(path).folders)
    try:
        return sorted(name for name in os.listdir(path) if os.path.isdir(os.path.join(path, name)))
    except OSError as error:
        raise unreadable(path, error) from error


def read(path: str) -> bytes | None:
    """Read a small file; None if it is missing.

    Raises:
        DatasetDamagedError: The file is not regular, or too large.
        BeamTFRecordsError: The file cannot be read.
    """
    try:
        return (
            objects.read_object(path)
            if is_object(path)
            else regular_files.read_bytes(path, MAX_BYTES)
        )
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(path, error) from error


def matching(pattern: str) -> list[str]:
    """Return the sorted files that match a path or a glob."""
    if exists(pattern):
        return [pattern]
    if not is_object(pattern):
        return sorted(
            path for path in glob.glob(pattern, recursive=True) if not os.path.isdir(path)
        )
    with objects.explained(pattern):
        return sorted(objects.match_files(pattern))
