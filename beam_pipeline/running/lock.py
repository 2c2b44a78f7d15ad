"""One build at a time writes a dataset's directory."""

import contextlib
from collections.abc import Iterator

from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from tfrecord_dataset import durable


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
