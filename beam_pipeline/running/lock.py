"""One build at a time writes a dataset's directory."""

import contextlib
import fcntl
import os
from collections.abc import Iterator

from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage


@contextlib.contextmanager
def exclusive(directory: str) -> Iterator[None]:
    """Holds a dataset's directory against other writers on this machine, while this one runs.

    The lock is on the directory itself and goes with the process, however it ends; remote
    outputs have none.
    """
    storage.make_dirs(directory)
    if storage.is_remote(directory):
        yield
        return
    lock = os.open(directory, os.O_RDONLY)
    try:
        _take(lock, directory)
        yield
    finally:
        os.close(lock)


def _take(lock: int, directory: str) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ConfigError(
            f"another build is writing {directory}; wait for it, or choose another "
            "--name, --version or --output"
        ) from error
