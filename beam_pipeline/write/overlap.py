"""Checks that a build's output does not overlap with its input, links resolved."""

import os
import tempfile

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from beam_pipeline.write.final_files import FOLDERS
from beam_pipeline.write.working_directory import job_dir, working_root
from tfrecord_dataset.store.listing import fixed_folder, pattern_regex


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
