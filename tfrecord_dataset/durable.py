"""Local files that stay through a power cut: on disk before the name that makes them count.

A new name is on disk once its folder is synced; what it names, once that file is. So whoever
commits by a name syncs files first, then their folders, then renames, then syncs the folder above.
A folder that several write to is held by one process at a time, however that process ends.
"""

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from typing import IO

_PARTIAL = ".partial"


def sync(path: str) -> None:
    """Waits until a file's content, or a folder's names, are on disk."""
    descriptor = os.open(path or ".", os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(root: str) -> None:
    """Waits until all below a folder is on disk: each file, then the folders from the ground up.

    Links are not followed; what they lead to is somebody else's.
    """
    for folder, _, names in os.walk(root, topdown=False):
        for name in names:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                sync(path)
        sync(folder)


@contextlib.contextmanager
def naming_full_disk(path: str) -> Iterator[None]:
    """Has the error of a full disk, which names no file, name what was written: `path`."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            error.filename = error.filename or path
        raise


@contextlib.contextmanager
def replacing(path: str, partial: str = "", *, synced: bool = True) -> Iterator[IO[bytes]]:
    """A handle of a new file that takes the name `path` once all of it is on disk.

    Whatever ends it, `path` names what was there before or the new file whole.

    Args:
        path: Its name at last.
        partial: Its name until then, in the same folder; the default is for one writer at a time.
        synced: Whether that holds through a power cut, too, for which the disk has to be waited
            for; else only through a kill.
    """
    partial = partial or f"{path}{_PARTIAL}"
    try:
        with naming_full_disk(path), open(partial, "wb") as handle:
            yield handle
            if synced:
                handle.flush()
                os.fsync(handle.fileno())
        os.replace(partial, path)
        if synced:
            sync(os.path.dirname(path))
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.remove(partial)
        raise


def write(path: str, data: bytes) -> None:
    """Writes a file whole, in place of one that is there."""
    with replacing(path) as handle:
        handle.write(data)


def rename(old: str, new: str) -> None:
    """Gives what is on disk already another name, which is on disk afterwards."""
    os.replace(old, new)
    sync(os.path.dirname(new))


def make_folders(path: str) -> None:
    """Makes a folder and those above it, where they are missing; their names are on disk then."""
    missing = []
    while path and not os.path.exists(path):
        missing.append(path)
        path = os.path.dirname(path)
    for folder in reversed(missing):
        os.makedirs(folder, exist_ok=True)
        sync(os.path.dirname(folder))


@contextlib.contextmanager
def exclusive(folder: str, busy: Exception) -> Iterator[None]:
    """Holds a folder against other processes on this machine, while this one runs.

    Args:
        folder: What is locked; made where it is missing. Whoever holds the lock may delete it.
        busy: What is raised where another process holds it.
    """
    descriptor = _locked(folder, busy)
    try:
        yield
    finally:
        os.close(descriptor)


def _locked(folder: str, busy: Exception) -> int:
    while True:
        make_folders(folder)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(descriptor), os.stat(folder)):
                return descriptor
        except BlockingIOError as error:
            os.close(descriptor)
            raise busy from error
        except FileNotFoundError:  # who held it deleted it meanwhile
            pass
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
