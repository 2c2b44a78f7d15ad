"""The working directory: where a build keeps what it needs until it commits.

On this machine shards are written there; on a store only receipts and unpacked archives are.
"""

import hashlib

from beam_pipeline.config import BuildConfig
from beam_pipeline.describe import provenance
from beam_pipeline.files import storage
from tfrecord_dataset.replacement import restore_folder

_BUILDING = ".building"
_NEW_DATASET = "dataset"


def working_root(config: BuildConfig) -> str:
    """The working directories of all builds of a dataset: beside it, and on a store in it."""
    if storage.is_remote(config.output):
        return storage.join(config.dataset_dir, _BUILDING)
    return storage.join(config.output, config.name, f"{_BUILDING}-{config.version}")


def working_dir(config: BuildConfig) -> str:
    """A build's own; equal builds share it, so that one can resume."""
    return storage.join(working_root(config), config.fingerprint[:16])


def shards_dir(config: BuildConfig) -> str:
    """Where shards are written: on a store, where objects appear whole, to their final names."""
    return config.dataset_dir if storage.is_remote(config.output) else working_dir(config)


def scratch_dir(config: BuildConfig) -> str:
    """Where a build unpacks compressed inputs; looking at these decides some of its options."""
    name = hashlib.sha256(config.input.encode()).hexdigest()[:16]
    return storage.join(working_root(config), f"unpacked-{name}")


def spill_folder(config: BuildConfig) -> str | None:
    """Where a build on this machine holds what its memory need not; None for temporary files."""
    return None if storage.is_remote(config.dataset_dir) else working_root(config)


def job_dir(config: BuildConfig) -> str:
    """Where a launcher and the workers of its job on another runner tell each other of it."""
    return storage.join(config.output, config.name, f".job-{config.version}")


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
    """Deletes the working directories of a dataset that is committed; on a store the claim last."""
    restore_dataset(config)
    root = working_root(config)
    storage.delete([working_dir(config), root] if storage.is_remote(root) else [root])
