"""One build at a time writes a dataset's directory."""

import contextlib
import fcntl
import os
from collections.abc import Iterator

from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage


@contextlib.contextmanager
def exclusive(directory: str, lock: str) -> Iterator[None]:
    """Holds a dataset's directory against other writers on this machine, while this one runs.

    The lock goes with the process, however it ends; remote outputs have none.

    Args:
        directory: What is written.
        lock: The folder that is locked; made where it is missing. Whoever holds the lock may
            delete it.

    Raises:
        ConfigError: Another writer holds it.
    """
    storage.make_dirs(lock)
    if storage.is_remote(directory):
        yield
        return
    descriptor = _locked(directory, lock)
    try:
        yield
    finally:
        os.close(descriptor)


def _locked(directory: str, lock: str) -> int:
    while True:
        storage.make_dirs(lock)
        descriptor = os.open(lock, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(descriptor), os.stat(lock)):
                return descriptor
        except BlockingIOError as error:
            os.close(descriptor)
            raise ConfigError(
                f"another build is writing {directory}; wait for it, or choose another "
                "--name, --version or --output"
            ) from error
        except FileNotFoundError:  # who held it deleted it meanwhile
            pass
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
