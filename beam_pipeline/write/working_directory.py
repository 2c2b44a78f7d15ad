"""The working directory of a build, until its commit.

A local build writes its shards there; on a store it only has receipts and unpacked archives.
"""

import hashlib

from beam_pipeline.config import BuildConfig
from beam_pipeline.describe import metadata
from beam_pipeline.files import storage
from tfrecord_dataset.durable import restore_folder

_BUILDING = ".building"
_NEW_DATASET = "dataset"


def working_root(config: BuildConfig) -> str:
    """Parent of all builds' working directories: next to the dataset, on a store inside it."""
    if storage.is_remote(config.output):
        return storage.join(config.dataset_dir, _BUILDING)
    return storage.join(config.output, config.name, f"{_BUILDING}-{config.version}")


def working_dir(config: BuildConfig) -> str:
    """Working directory of a build; equal builds share it, so that one can resume."""
    return storage.join(working_root(config), config.fingerprint[:16])


def shards_dir(config: BuildConfig) -> str:
    """Folder of shards; on a store, which writes objects atomically, their final place."""
    return config.dataset_dir if storage.is_remote(config.output) else working_dir(config)


def scratch_dir(config: BuildConfig) -> str:
    """Folder of unpacked inputs; their content determines some options."""
    name = hashlib.sha256(config.input.encode()).hexdigest()[:16]
    return storage.join(working_root(config), f"unpacked-{name}")


def spill_folder(config: BuildConfig) -> str | None:
    """Folder in which a local build spills data; None for temporary files."""
    return None if storage.is_remote(config.dataset_dir) else working_root(config)


def job_dir(config: BuildConfig) -> str:
    """Folder for messages between a launcher and its job's workers on another runner."""
    return storage.join(config.output, config.name, f".job-{config.version}")


def dataset_mark(config: BuildConfig) -> str:
    """Identity of the existing dataset among builds; "" if there is none."""
    path = storage.join(config.dataset_dir, metadata.BUILD_FILE)
    return storage.sha256_of(path) if storage.exists(path) else ""


def new_dataset_dir(config: BuildConfig) -> str:
    """Folder in which a commit completes the dataset before it moves it into place."""
    return storage.join(working_dir(config), _NEW_DATASET)


def restore_dataset(config: BuildConfig) -> None:
    """Restore an older dataset after an interrupted commit.

    After that the dataset survives a power loss and any deletion below the working directories,
    which may contain the dataset that it replaced.
    """
    root = working_root(config)
    if not storage.is_remote(root):
        for name in storage.list_dir(root):
            restore_folder(storage.join(root, name, _NEW_DATASET), config.dataset_dir)


def delete_working_dirs(config: BuildConfig) -> None:
    """Delete the working directories of a committed dataset; on a store the claim last."""
    restore_dataset(config)
    root = working_root(config)
    storage.delete([working_dir(config), root] if storage.is_remote(root) else [root])
