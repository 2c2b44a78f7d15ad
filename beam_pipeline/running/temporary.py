"""Temporary folders that are deleted even if their process is killed."""

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
    """Make a new folder, deleted with its content at the end.

    Also deletes the folders of killed processes: a lock, which the system releases with its
    process, marks the ones in use.
    """
    _delete_unused()
    folder, lock = _make()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)
        _delete_unused()  # of worker processes that were still ending at the start


def _make() -> tuple[str, int]:
    while True:
        folder = tempfile.mkdtemp(prefix=_PREFIX)
        with contextlib.suppress(FileNotFoundError):  # deleted as unused before it was locked
            lock = os.open(folder, os.O_RDONLY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if os.path.exists(folder):
                return folder, lock
            os.close(lock)


def _delete_unused() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:  # another user's, or just deleted
            continue
        with contextlib.suppress(OSError):  # in use
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(lock).st_uid == os.geteuid():
                shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)
