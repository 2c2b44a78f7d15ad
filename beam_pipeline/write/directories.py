"""Directories that a build writes, and the check that they do not overlap with its input.

A local build writes its shards to a working directory until the commit; on a store that only has
receipts and unpacked archives.
"""

import hashlib
import os
import tempfile

from beam_pipeline.config import BuildConfig
from beam_pipeline.describe import metadata
from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from tfrecord_dataset.durable import restore_folder
from tfrecord_dataset.store.listing import fixed_folder, pattern_regex

_BUILDING = ".building"
# Files of a dataset's directory that builds write.
FOLDERS = ("", "index", "idx")
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


def check_apart(config: BuildConfig) -> None:
    """Raise ConfigError if a build would read its own output, or replace its input."""
    if not config.output:
        return
    written = [config.dataset_dir, working_root(config), job_dir(config)]
    for path in config.inputs:
        for place in written:
            if _holds(place, fixed_folder(path) if _is_pattern(path) else path):
                raise ConfigError(
                    f"the input {path} is in {place}, which the build replaces or deletes; choose "
                    "another --output, --name or --version"
                )
    for place in [*written, tempfile.gettempdir()]:
        if config.input and _reads(config.input, place):
            where = "--output or --name" if place in written else "TMPDIR"
            raise ConfigError(
                f"the build would read its own files, as {place} is in the input {config.input}; "
                f"choose another {where}"
            )


def check_is_folder(path: str, option: str = "--output") -> None:
    """Raise ConfigError if a local path cannot become a folder: it, or a parent, is none."""
    while not storage.is_remote(path) and not os.path.isdir(path):
        if os.path.lexists(path):
            linked = f"a link to {os.readlink(path)}, which is " if os.path.islink(path) else ""
            what = "a file" if os.path.exists(path) else "missing"
            raise ConfigError(f"{option}: {path} is {linked}{what}; give a folder")
        path = os.path.dirname(path) or "."


def _is_pattern(path: str) -> bool:
    return any(each in path for each in "*?[") and (
        storage.is_remote(path) or not os.path.lexists(path)
    )


def _reads(path: str, place: str) -> bool:
    """Whether files of a folder are part of an input."""
    if not _is_pattern(path):
        return _holds(path, place)
    fixed = fixed_folder(path)
    rest = path[len(fixed) :].rstrip("/")
    folders = rest if rest.endswith("**") else rest.rpartition("/")[0]
    fits = pattern_regex(_real(fixed) + folders)
    return any(fits.fullmatch(storage.join(_real(place), folder)) for folder in FOLDERS)


def _holds(folder: str, path: str) -> bool:
    """Whether `path` is `folder` or below it; both may be missing."""
    if storage.is_remote(folder) or storage.is_remote(path):
        return f"{path.rstrip('/')}/".startswith(f"{folder.rstrip('/')}/")
    path = _real(path)
    while not _is_same(path, folder):
        if path == os.path.dirname(path):
            return False
        path = os.path.dirname(path)
    return True


def _is_same(one: str, other: str) -> bool:
    """Compare by file identity, which sees through links, mounts and letter case."""
    try:
        return os.path.samefile(one, other)
    except OSError:  # one does not exist yet
        return _real(one) == _real(other)


def _real(path: str) -> str:
    return path if storage.is_remote(path) else os.path.realpath(path)
