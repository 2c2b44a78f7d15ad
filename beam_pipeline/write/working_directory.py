"""The working directory: where a build writes until it commits."""

import time
from contextlib import AbstractContextManager

from beam_pipeline.config import BuildConfig
from beam_pipeline.describe import provenance
from beam_pipeline.files import storage
from tfrecord_dataset.replacement import restore_folder

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


def spill_folder(config: BuildConfig) -> str | None:
    """Where a build on this machine holds what its memory need not; None for temporary files."""
    return None if storage.is_remote(config.dataset_dir) else working_root(config)


def job_dir(config: BuildConfig) -> str:
    """Where a launcher and the workers of its job on another runner tell each other of it."""
    return storage.join(config.output, config.name, f".job-{config.version}")


def commit_lease(config: BuildConfig, after: str = "") -> AbstractContextManager[bool]:
    """Holds the dataset's place on a store while it changes; local ones have a lock instead.

    `after` and what is yielded are as `storage.leased` has them.
    """
    return storage.leased(_lease(config), config.dataset_dir, after)


def shared_commit_lease(
    config: BuildConfig, owner: str, *, joins: bool
) -> AbstractContextManager[bool]:
    """As `commit_lease` on a store, by several workers of one job (`storage.lease_shared`)."""
    return storage.lease_shared(_lease(config), config.dataset_dir, owner, joins=joins)


def _lease(config: BuildConfig) -> str:
    return storage.join(config.output, config.name, f".commit-{config.version}")


def dataset_mark(config: BuildConfig) -> str:
    """What tells the dataset that is there from others, made at other times; "" for none."""
    path = storage.join(config.dataset_dir, provenance.FILE)
    return storage.sha256_of(path) if storage.exists(path) else ""


def new_dataset_dir(config: BuildConfig) -> str:
    """Where a commit makes the dataset before it takes its place."""
    return storage.join(working_dir(config), _NEW_DATASET)


def restore_dataset(config: BuildConfig) -> None:
    """Puts an older dataset back that a commit was cut off over.

    Afterwards the dataset that is there stays through a power cut, whatever is deleted below the
    working directories: one that it replaced may lie there.
    """
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
        restore_dataset(config)
        storage.delete([root])
        return
    own = working_dir(config)
    others = (storage.join(root, name) for name in storage.list_dir(root))
    abandoned_before = time.time() - _ABANDONED_S
    storage.delete(
        each for each in others if each == own or storage.newest_change(each) < abandoned_before
    )
