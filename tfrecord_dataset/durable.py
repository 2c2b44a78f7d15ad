"""Durable local files and folders: content is on disk before the name that commits it.

A new name is on disk once its folder is synced, and its content once the file is synced. To commit
by name, sync the files, then their folders, rename, then sync the parent folder. A lock gives one
process at a time access to a shared folder, and is released however that process ends.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import shutil
import sys
from collections.abc import Iterator
from typing import IO

_PARTIAL = ".partial"
_ASIDE = ".aside"
# Linux: fcntl.h, linux/fs.h; macOS: sys/stdio.h.
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_RENAME_SWAP = 2


def sync(path: str) -> None:
    """Wait until a file's content, or a folder's names, are on disk."""
    descriptor = os.open(path or ".", os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(root: str) -> None:
    """Wait until a folder's content is on disk: files first, then folders from the bottom up.

    Links are not followed.
    """
    for folder, _, names in os.walk(root, topdown=False):
        for name in names:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                sync(path)
        sync(folder)


@contextlib.contextmanager
def naming_full_disk(path: str) -> Iterator[None]:
    """Add the written file `path` to a full disk's error, which names no file."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            error.filename = error.filename or path
        raise


@contextlib.contextmanager
def replacing(path: str, partial: str = "", *, synced: bool = True) -> Iterator[IO[bytes]]:
    """Open a new file that gets the name `path` once all of it is on disk.

    After any interruption `path` is either the previous file or the complete new one.

    Args:
        path: Final name.
        partial: Temporary name in the same folder; the default suits a single writer.
        synced: Whether to wait for the disk, so that this holds after a power loss and not only
            after a kill.
    """
    partial = partial or f"{path}{_PARTIAL}"
    try:
        with naming_full_disk(path), open(partial, "w+b") as handle:
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
    """Write a file atomically, replacing an existing one."""
    with replacing(path) as handle:
        handle.write(data)


def rename(old: str, new: str) -> None:
    """Rename a file that is on disk, and wait until its new name is on disk."""
    os.replace(old, new)
    sync(os.path.dirname(new))


def make_folders(path: str) -> None:
    """Create a folder and its missing parents, and wait until their names are on disk."""
    missing = []
    while path and not os.path.exists(path):
        missing.append(path)
        path = os.path.dirname(path)
    for folder in reversed(missing):
        os.makedirs(folder, exist_ok=True)
        sync(os.path.dirname(folder))


@contextlib.contextmanager
def exclusive(folder: str, busy: Exception) -> Iterator[None]:
    """Lock a folder, made if missing, against other processes until the context exits.

    The holder of the lock may delete the folder.
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
        except FileNotFoundError:  # deleted by the previous holder
            pass
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def replace_folder(new: str, place: str) -> None:
    """Put the folder `new` at `place`; the previous folder is then at `new`, or deleted.

    The new folder's content is on disk before the exchange, and the exchange before this returns.
    If the file system can exchange two names, `place` is always one of the folders. If it cannot
    (NFS, FUSE), there are two renames, and `restore_folder` recovers from an interruption between
    them.

    Raises:
        OSError: `place` has one of the folders, at the latest after `restore_folder`.
    """
    sync_tree(new)
    if os.path.isdir(place):
        os.chmod(new, os.stat(place).st_mode)
    try:
        os.rename(new, place)  # missing, or an empty folder
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        if not exchange(new, place):
            os.rename(place, new + _ASIDE)
            os.rename(new, place)
    restore_folder(new, place)


def restore_folder(new: str, place: str) -> None:
    """Undo a `replace_folder` that was interrupted between its renames, or finish a later one.

    The state of `place` is on disk afterwards, so the folder that it replaced may be deleted.
    """
    if not os.path.lexists(place):
        with contextlib.suppress(FileNotFoundError):
            os.rename(new + _ASIDE, place)
    _sync_names(new, place)
    shutil.rmtree(new + _ASIDE, ignore_errors=True)


def _sync_names(*paths: str) -> None:
    for folder in {os.path.dirname(path) for path in paths}:
        if os.path.isdir(folder):
            sync(folder)


def exchange(one: str, other: str) -> bool:
    """Exchange two names atomically; False if the system or the file system cannot."""
    library = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(one), os.fsencode(other)
    if sys.platform == "darwin":
        return library.renamex_np(*names, ctypes.c_uint(_RENAME_SWAP)) == 0
    if not hasattr(library, "renameat2"):
        return False
    at, flags = ctypes.c_int(_AT_FDCWD), ctypes.c_uint(_RENAME_EXCHANGE)
    return bool(library.renameat2(at, names[0], at, names[1], flags) == 0)
