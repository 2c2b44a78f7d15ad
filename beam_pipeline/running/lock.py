"""Lock of a dataset's directory: one build at a time writes it."""

import contextlib
from collections.abc import Iterator

from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from tfrecord_dataset import durable


@contextlib.contextmanager
def exclusive(directory: str, lock: str) -> Iterator[None]:
    """Lock a local directory against other writers on this machine, until this process ends.

    Args:
        directory: Folder of the dataset; a remote one is not locked.
        lock: The folder to lock, created if missing. The holder of the lock may delete it.

    Raises:
        ConfigError: Another writer has locked it.
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
