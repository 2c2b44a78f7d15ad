"""A local folder that one process at a time holds, however that process ends."""

import contextlib
import fcntl
import os
from collections.abc import Iterator

from tfrecord_dataset import durable


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
        durable.make_folders(folder)
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
