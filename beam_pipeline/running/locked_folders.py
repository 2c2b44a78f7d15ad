"""Folders locked by this process: temporary ones, and the dataset that a build writes.

The system releases a lock with its process, even a killed one.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from tfrecord_dataset import durable

_PREFIX = "beam-tfrecords-"


@contextlib.contextmanager
def temporary_folder() -> Iterator[str]:
    """Make a new folder, deleted with its content at the end.

    Also deletes the folders of killed processes, which have lost their lock.
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


@contextlib.contextmanager
def locked(directory: str, lock: str) -> Iterator[None]:
    """Lock a dataset for this process by a local folder; ConfigError if another has locked it.

    The folder `lock` is created if missing; its holder may delete it. A remote dataset is not
    locked.
    """
    if storage.is_remote(directory):
        storage.make_dirs(lock)
        yield
        return
    busy = ConfigError(
        f"another build is writing {directory}; wait for it, or choose another --name, --version "
        "or --output"
    )
    with durable.exclusive(lock, busy):
        yield
