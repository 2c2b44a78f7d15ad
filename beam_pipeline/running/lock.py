"""Lock of a dataset's directory: one build at a time writes it."""

import contextlib
from collections.abc import Iterator

from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from tfrecord_dataset import durable


@contextlib.contextmanager
def exclusive(directory: str, lock: str) -> Iterator[None]:
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
