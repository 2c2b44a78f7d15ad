"""Atomic replacement of a local folder."""

import contextlib
import ctypes
import errno
import os
import shutil
import sys

from tfrecord_dataset import durable

# Linux: fcntl.h, linux/fs.h; macOS: sys/stdio.h.
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_RENAME_SWAP = 2
_ASIDE = ".aside"


def replace_folder(new: str, place: str) -> None:
    """Put the folder `new` at `place`; the previous folder is then at `new`, or deleted.

    The new folder's content is on disk before the exchange, and the exchange before this returns.
    If the file system can exchange two names, `place` is always one of the folders. If it cannot
    (NFS, FUSE), there are two renames, and `restore_folder` recovers from an interruption between
    them.

    Raises:
        OSError: `place` has one of the folders, at the latest after `restore_folder`.
    """
    durable.sync_tree(new)
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
            durable.sync(folder)


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
