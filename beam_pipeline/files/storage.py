"""Files by path, local or remote: every file that this package reads or writes.

Local paths go to the operating system; gs://, s3://, az:// and http(s):// to a store library that
reads exact ranges. Workers that read only local files do not load it.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from beam_pipeline.files.archive.paths import inside
from beam_pipeline.files.backends import ARCHIVES, files_of
from beam_pipeline.files.reading import Reader as Reader
from beam_pipeline.files.reading import ReadFile as ReadFile
from beam_pipeline.files.reading import decoded as decoded
from beam_pipeline.files.reading import decompressed as decompressed
from beam_pipeline.files.reading import opened as opened
from beam_pipeline.files.reading import read_bytes as read_bytes
from beam_pipeline.files.reading import read_start as read_start
from beam_pipeline.files.reading import read_text as read_text
from beam_pipeline.files.reading import sha256_of as sha256_of
from beam_pipeline.files.reading import version as version
from tfrecord_dataset.store.listing import NAMES_AT_ONCE as NAMES_AT_ONCE
from tfrecord_dataset.store.listing import FileNames as FileNames
from tfrecord_dataset.store.listing import FolderNames as FolderNames
from tfrecord_dataset.store.listing import StoredFile as StoredFile
from tfrecord_dataset.store.listing import is_litter
from tfrecord_dataset.store.urls import is_remote as is_remote
from tfrecord_dataset.store.urls import join_url, local_path


def absolute(path: str | os.PathLike[str]) -> str:
    """Make a user's path absolute and expand `~`, so that workers elsewhere can open it."""
    path = local_path(os.fspath(path))
    return path if is_remote(path) else os.path.abspath(os.path.expanduser(path))  # keeps links


def join(base: str, *parts: str) -> str:
    """Join `parts` to `base`; an absolute part replaces `base`, as in os.path.join."""
    for part in map(local_path, parts):
        if is_remote(part) or part.startswith("/"):
            base = part
        else:
            base = join_url(base, part) if is_remote(base) else os.path.join(base, part)
    return base if is_remote(base) else os.path.normpath(base)


def exists(path: str) -> bool:
    """Whether a file or local folder exists."""
    return files_of(path).exists(path)


def is_directory(path: str) -> bool:
    """Whether `path` is a local folder or a non-empty remote prefix."""
    return files_of(path).is_folder(path)


def list_files(root: str) -> Iterator[StoredFile]:
    """Yield every file below `root`, without hidden files and those of operating systems.

    Links are followed; a broken link is listed as a file, so that its reader reports it. The order
    is the file system's own.

    Raises:
        FileNotFoundError: `root` is not a local folder.
    """
    return _stored_files(root, files_of(root).list_names(root))


def _stored_files(root: str, parts: Iterable[FileNames]) -> Iterator[StoredFile]:
    top = root.rstrip("/")
    for folder, names in parts:
        prefix = f"{folder}/" if folder else ""
        for name in names:
            yield StoredFile(path=f"{top}/{prefix}{name}", relative=prefix + name)


def list_names(root: str) -> Iterator[FileNames]:
    """Yield the files of `list_files` as names per folder, some hundreds at a time."""
    return files_of(root).list_names(root)


def scan_folder(path: str) -> Iterator[tuple[str, bool]]:
    """Yield (name, whether it is a folder) of a folder's entries, filtered as in `list_files`.

    Streamed in no particular order; none if the folder is missing.
    """
    return _without_litter(files_of(path).scan_folder(path))


def _without_litter(entries: Iterator[tuple[str, bool]]) -> Iterator[tuple[str, bool]]:
    return ((name, is_folder) for name, is_folder in entries if not is_litter(name))


def list_folder(path: str) -> FolderNames:
    """Sorted names of the folders and files of one level, filtered as in `list_files`.

    Empty if the folder is missing.
    """
    names = files_of(path).list_folder(path)
    return FolderNames(*(tuple(name for name in each if not is_litter(name)) for each in names))


def list_dir(path: str) -> list[str]:
    """Sorted names of a folder's entries, hidden ones too; empty if the folder is missing."""
    folders, files = files_of(path).list_folder(path)
    return sorted({*folders, *files})


def match_files(pattern: str) -> list[str]:
    """Sorted paths of the files that match `pattern`; hidden files do not match.

    `*`, `?` and `[abc]` match within one name, `**` matches folders, as in a shell.
    """
    paths = files_of(pattern).match_files(pattern)
    return sorted(path for path in paths if not is_litter(path.rpartition("/")[2]))


def make_dirs(path: str) -> None:
    """Create a folder and its missing parents."""
    files_of(path).make_folder(path)


def write_bytes(path: str, data: bytes, *, durable: bool = False, is_new: bool = False) -> None:
    """Write a file atomically; readers see the complete file or the previous state.

    Args:
        path: Destination; missing folders are created.
        data: Content of the file.
        durable: Whether the file survives a power loss once this returns. Remote files always do.
        is_new: As in `writing`.
    """
    with writing(path, durable=durable, is_new=is_new) as handle:
        handle.write(data)


def writing(
    path: str, *, durable: bool = False, is_new: bool = False
) -> AbstractContextManager[Any]:
    """Open a new file for writing; it appears at `path` once it is complete.

    A failure before that leaves nothing at `path`.

    Args:
        path: Destination; missing folders are created.
        durable: As in `write_bytes`.
        is_new: Whether to keep an existing object: unless it has the same content,
            FileExistsError is raised at the end. Local files are always replaced.
    """
    return files_of(path).writing(path, durable, is_new)


def put_new(file: str, url: str) -> None:
    """Upload a local file, as `writing` does with `is_new`."""
    from beam_pipeline.files.remote_handles import put_file
    from tfrecord_dataset.store import requests

    with open(file, "rb") as handle:
        put_file(handle, url, requests.put_new)


def sync(paths: Iterable[str]) -> None:
    """Wait until written files of one store survive a power loss."""
    if paths := list(paths):
        files_of(paths[0]).sync(paths)


def delete(paths: Iterable[str]) -> None:
    """Delete files and folders with their content; missing ones are ignored."""
    for path in paths:
        files_of(path).delete(path)


def delete_all(paths: Iterable[str]) -> None:
    """Delete files of one store in parallel; missing ones are ignored.

    Raises:
        OSError: The first failure, after all were tried.
    """
    if paths := list(paths):
        files_of(paths[0]).delete_all(paths)


def size(path: str) -> int | None:
    """Size of a file in bytes; None if it is missing."""
    return sizes([path])[0]


def sizes(paths: Iterable[str]) -> list[int | None]:
    """Size of each file of one store, in parallel; None for a missing one."""
    paths = list(paths)
    return files_of(paths[0]).sizes(paths) if paths else []


def resolved(path: str) -> str:
    """Path of a file in an archive with its location; other paths are unchanged."""
    return ARCHIVES.resolved(path) if ":" in path and inside(path) else path


def is_deflated(path: str) -> bool:
    """Whether a file is compressed in its archive, so that a range costs all bytes before it.

    Raises:
        RecordError: "missing file", or the archive cannot be read.
    """
    return ARCHIVES.is_deflated(path) if ":" in path and inside(path) else False
