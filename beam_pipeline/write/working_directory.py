"""The working directory: where a build writes until it commits."""

import time

from beam_pipeline.config import BuildConfig
from beam_pipeline.files import storage
from beam_pipeline.files.replacement import restore_folder

_PREFIX = ".building-"
_NEW_DATASET = "dataset"
# Of a store, where no lock tells whether another build still runs.
_ABANDONED_S = 86_400


def working_root(config: BuildConfig) -> str:
    """The working directories of all builds of a dataset; it lies beside the dataset."""
    return storage.join(config.output, config.name, f"{_PREFIX}{config.version}")


def working_dir(config: BuildConfig) -> str:
    """A build's own; equal builds share it, so that one can resume."""
    return storage.join(working_root(config), config.fingerprint[:16])


def scratch_dir(config: BuildConfig) -> str:
    """Where a build unpacks compressed inputs."""
    return storage.join(working_dir(config), "unpacked")


def new_dataset_dir(config: BuildConfig) -> str:
    """Where a commit makes the dataset before it takes its place."""
    return storage.join(working_dir(config), _NEW_DATASET)


def restore_dataset(config: BuildConfig) -> None:
    """Puts an older dataset back that a commit was killed over."""
    root = working_root(config)
    if not storage.is_remote(root):
        for name in storage.list_dir(root):
            restore_folder(storage.join(root, name, _NEW_DATASET), config.dataset_dir)


def delete_working_dirs(config: BuildConfig) -> None:
    """Deletes the build's own, and those of other builds of the dataset that have ended.

    Of local outputs, the lock says that these have. On a store those go in which nothing has
    changed for a day.
    """
    root = working_root(config)
    if not storage.is_remote(root):
        storage.delete([root])
        return
    own = working_dir(config)
    others = (storage.join(root, name) for name in storage.list_dir(root))
    abandoned_before = time.time() - _ABANDONED_S
    storage.delete(
        each for each in others if each == own or storage.newest_change(each) < abandoned_before
    )
