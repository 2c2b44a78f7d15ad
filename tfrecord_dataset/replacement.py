"""A local folder takes another one's place, whole and at once."""

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
    """Puts the folder `new` at `place`; what was there lies at `new` afterwards, or is gone.

    All of the new folder is on disk before it has the place, and that it has the place before this
    returns. Where the file system exchanges two names, `place` always holds the one or the other.
    Where it does not (NFS, FUSE), there are two renames; cut off between them, `restore_folder`
    goes back.

    Raises:
        OSError: The one or the other has the place, or will once `restore_folder` was called.
    """
    durable.sync_tree(new)
    if os.path.isdir(place):
        os.chmod(new, os.stat(place).st_mode)
    try:
        os.rename(new, place)  # nothing is there, or an empty folder
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        if not exchange(new, place):
            os.rename(place, new + _ASIDE)
            os.rename(new, place)
    restore_folder(new, place)


def restore_folder(new: str, place: str) -> None:
    """Undoes a `replace_folder` that was cut off between its renames, or ends one cut off later.

    That `place` holds what it does is on disk afterwards: what it replaced may be deleted.
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
    """Exchanges two names in one step; False where the system or the file system cannot."""
    library = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(one), os.fsencode(other)
    if sys.platform == "darwin":
        return library.renamex_np(*names, ctypes.c_uint(_RENAME_SWAP)) == 0
    if not hasattr(library, "renameat2"):
        return False
    at, flags = ctypes.c_int(_AT_FDCWD), ctypes.c_uint(_RENAME_EXCHANGE)
    return bool(library.renameat2(at, names[0], at, names[1], flags) == 0)
