"""Files by path, local or remote: every file that this package reads or writes.

Local paths go to the operating system; gs://, s3://, az:// and http(s):// to a store library that
reads exact ranges. Worker processes that read local files alone do not load it.
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
    """A path that a user gives, `~` and all, as workers with another working directory open it."""
    path = local_path(os.fspath(path))
    return path if is_remote(path) else os.path.abspath(os.path.expanduser(path))  # keeps links


def join(base: str, *parts: str) -> str:
    """`parts` below `base`; an absolute part stands alone, as with os.path.join."""
    for part in map(local_path, parts):
        if is_remote(part) or part.startswith("/"):
            base = part
        else:
            base = join_url(base, part) if is_remote(base) else os.path.join(base, part)
    return base if is_remote(base) else os.path.normpath(base)


def exists(path: str) -> bool:
    """Whether a file or local folder is there."""
    return files_of(path).exists(path)


def is_directory(path: str) -> bool:
    """Whether `path` is a local folder, or a remote prefix with anything below it."""
    return files_of(path).is_folder(path)


def list_files(root: str) -> Iterator[StoredFile]:
    """Every file below `root`, but hidden ones and what operating systems leave behind.

    Links to files and folders are followed; one that leads nowhere is a file that cannot be read,
    so that whoever reads it tells of it. The order is the file system's own.

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
    """What `list_files` yields, as the names of one folder's files, some hundreds at a time."""
    return files_of(root).list_names(root)


def scan_folder(path: str) -> Iterator[tuple[str, bool]]:
    """The names of what one folder holds, and which are folders; without what `list_files` omits.

    Streamed, in no order. None where there is no folder.
    """
    return _without_litter(files_of(path).scan_folder(path))


def _without_litter(entries: Iterator[tuple[str, bool]]) -> Iterator[tuple[str, bool]]:
    return ((name, is_folder) for name, is_folder in entries if not is_litter(name))


def list_folder(path: str) -> FolderNames:
    """The names of the folders and files of one level, sorted, but what `list_files` leaves out.

    None where there is no folder.
    """
    names = files_of(path).list_folder(path)
    return FolderNames(*(tuple(name for name in each if not is_litter(name)) for each in names))


def list_dir(path: str) -> list[str]:
    """The names of what a folder holds, hidden ones too, sorted; none where there is no folder."""
    folders, files = files_of(path).list_folder(path)
    return sorted({*folders, *files})


def match_files(pattern: str) -> list[str]:
    """The paths of the files that fit `pattern`, sorted; hidden ones do not.

    `*`, `?` and `[abc]` stand for parts of one name, `**` for folders, as in a shell.
    """
    paths = files_of(pattern).match_files(pattern)
    return sorted(path for path in paths if not is_litter(path.rpartition("/")[2]))


def make_dirs(path: str) -> None:
    """Makes a folder and those above it, where they are missing."""
    files_of(path).make_folder(path)


def write_bytes(path: str, data: bytes, *, durable: bool = False, is_new: bool = False) -> None:
    """Writes a file whole; a reader sees all of it or, if it was new, nothing.

    Args:
        path: Where; missing folders are made.
        data: All of the file.
        durable: Whether it is to outlive a loss of power from when this returns. Remote files
            always do.
        is_new: As `writing` has it.
    """
    with writing(path, durable=durable, is_new=is_new) as handle:
        handle.write(data)


def writing(
    path: str, *, durable: bool = False, is_new: bool = False
) -> AbstractContextManager[Any]:
    """A new file, written piece by piece; it lies at `path` once all of it is written.

    Whatever fails before leaves nothing there.

    Args:
        path: Where; missing folders are made.
        durable: As in `write_bytes`.
        is_new: Whether an object that is there stays, unless it has the same content: then a
            FileExistsError is raised at the end. Local files are replaced all the same.
    """
    return files_of(path).writing(path, durable, is_new)


def put_new(file: str, url: str) -> None:
    """Makes an object of a local file, as `writing` does with `is_new`."""
    from beam_pipeline.files.remote_handles import put_file
    from tfrecord_dataset.store import requests

    with open(file, "rb") as handle:
        put_file(handle, url, requests.put_new)


def sync(paths: Iterable[str]) -> None:
    """Waits until files of one store that were written outlive a loss of power."""
    if paths := list(paths):
        files_of(paths[0]).sync(paths)


def delete(paths: Iterable[str]) -> None:
    """Deletes files and folders with all they hold; those that are not there stay so."""
    for path in paths:
        files_of(path).delete(path)


def delete_all(paths: Iterable[str]) -> None:
    """Deletes files of one store, many at once; those that are not there stay so.

    Raises:
        OSError: The first that failed; the others were tried, too.
    """
    if paths := list(paths):
        files_of(paths[0]).delete_all(paths)


def size(path: str) -> int | None:
    """The bytes of a file, or None where there is none."""
    return sizes([path])[0]


def sizes(paths: Iterable[str]) -> list[int | None]:
    """The bytes of each file of one store, or None where there is none; many are asked at once."""
    paths = list(paths)
    return files_of(paths[0]).sizes(paths) if paths else []


def resolved(path: str) -> str:
    """The path of a file in an archive that says where it lies there; any other path as it is."""
    return ARCHIVES.resolved(path) if ":" in path and inside(path) else path


def is_deflated(path: str) -> bool:
    """Whether a file lies compressed in an archive, so that its ranges cost all before them.

    Raises:
        RecordError: "missing file", or the archive cannot be read.
    """
    return ARCHIVES.is_deflated(path) if ":" in path and inside(path) else False
