"""Folders in the system's temporary directory that go, however their process ends."""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_PREFIX = "beam-tfrecords-"


@contextlib.contextmanager
def temporary_folder() -> Iterator[str]:
    """A new folder, which is deleted with all it holds.

    Whoever is killed cannot delete theirs: those are deleted here. A lock, which goes with its
    process, says which ones are in use.
    """
    _delete_unused()
    folder, lock = _make()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)
        _delete_unused()  # of worker processes that were still dying when this began


def _make() -> tuple[str, int]:
    """A new folder, and the lock on it."""
    while True:
        folder = tempfile.mkdtemp(prefix=_PREFIX)
        with contextlib.suppress(FileNotFoundError):  # deleted as unused before it was locked
            lock = os.open(folder, os.O_RDONLY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if os.path.exists(folder):
                return folder, lock
            os.close(lock)


def _delete_unused() -> None:
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        _delete_if_unused(left)


def _delete_if_unused(folder: Path) -> None:
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:  # another user's, or just deleted
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(lock).st_uid == os.geteuid():
            shutil.rmtree(folder, ignore_errors=True)
    except OSError:  # it is in use
        pass
    finally:
        os.close(lock)
