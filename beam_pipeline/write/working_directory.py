"""The working directory: where a build writes until it commits."""

from beam_pipeline.config import BuildConfig
from beam_pipeline.files import storage

_PREFIX = ".building-"


def working_dir(config: BuildConfig) -> str:
    """A build's own; equal builds share it, so that one can resume."""
    return storage.join(config.dataset_dir, f"{_PREFIX}{config.fingerprint[:16]}")


def scratch_dir(config: BuildConfig) -> str:
    """Where a build unpacks compressed inputs."""
    return storage.join(working_dir(config), "unpacked")


def delete_working_dirs(config: BuildConfig) -> None:
    """Deletes those of all builds into the dataset's directory."""
    names = storage.list_dir(config.dataset_dir)
    storage.delete(
        storage.join(config.dataset_dir, name) for name in names if name.startswith(_PREFIX)
    )
