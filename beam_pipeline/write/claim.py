"""The claim on a dataset's directory, so that one build writes it at a time.

On a local disk the claim is a lock, released with its process. On a store it is an object that
stays until the dataset is complete, so that a build with the same options can resume. The claim
only saves duplicate work; correctness does not depend on it. A build creates objects and never
replaces them (`storage.writing`, `is_new`), so a second build or a late worker changes nothing.
"""

import contextlib
import dataclasses
import json
import platform
import time
from collections.abc import Iterator

from beam_pipeline.config import BuildConfig
from beam_pipeline.dataset.opening import is_dataset
from beam_pipeline.errors import BeamTFRecordsError, ConfigError, DatasetExistsError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.running.locked_folders import locked
from beam_pipeline.write.working_directory import working_root
from tfrecord_dataset import json_file


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    fingerprint: str
    host: str
    started_at: str


def _path(config: BuildConfig) -> str:
    return storage.join(working_root(config), "claim.json")


@contextlib.contextmanager
def exclusive(config: BuildConfig) -> Iterator[None]:
    """Hold a dataset's directory against other builds; on a store also after this process.

    Raises:
        ConfigError: Another build holds it, or has finished a dataset there.
    """
    if storage.is_remote(config.dataset_dir):
        _take(config)
        yield
        return
    with locked(config.dataset_dir, lock=working_root(config)):
        yield


def _take(config: BuildConfig) -> None:
    storage.make_dirs(config.dataset_dir)  # checks that the bucket exists
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    claim = _Claim(fingerprint=config.fingerprint, host=platform.node(), started_at=now)
    text = json.dumps(dataclasses.asdict(claim))
    with contextlib.suppress(FileExistsError):
        storage.write_bytes(_path(config), text.encode(), is_new=True)
        # The dataset may have appeared since the check.
        if is_dataset(config.dataset_dir):
            storage.delete([working_root(config)])
            raise made_meanwhile(config)
        return
    held = _held(config)
    if held and held.fingerprint != config.fingerprint:
        raise ConfigError(
            f"a build with other options, started {held.started_at} on {held.host}, is writing "
            f"{config.dataset_dir}; wait for it, delete that folder if it no longer runs, or build "
            "another --version"
        )


def _held(config: BuildConfig) -> _Claim | None:
    """Return the existing claim; None if there is none, or it cannot be read."""
    try:
        stated = json_file.parse_object(storage.read_text(_path(config)))
        claim: _Claim = json_file.typed(stated, _Claim)
        return claim
    except (RecordError, ValueError):
        return None


def is_committed(config: BuildConfig) -> bool:
    """Whether a build with the same options made the dataset and was interrupted in cleanup."""
    directory = config.dataset_dir
    if not storage.is_remote(directory) or not is_dataset(directory):
        return False
    held = _held(config)
    return held is not None and held.fingerprint == config.fingerprint


def made_meanwhile(config: BuildConfig) -> DatasetExistsError:
    """Return the error for a dataset that appeared after this build began."""
    return DatasetExistsError(
        f"another build has written {config.dataset_dir} in the meantime; {ways_out(config)}"
    )


def ways_out(config: BuildConfig) -> str:
    """Return the remedy if a dataset already exists."""
    is_remote = storage.is_remote(config.dataset_dir)
    replace = "" if is_remote else "pass --overwrite to replace it, or "
    return f"{replace}choose another --version, --name or --output"


@contextlib.contextmanager
def others_named(config: BuildConfig) -> Iterator[None]:
    """Turn the error for an existing object in place of a new one into advice."""
    try:
        yield
    except FileExistsError as error:
        raise BeamTFRecordsError(
            f"{error.filename} is from another build, or from other input; delete "
            f"{config.dataset_dir} once no build runs, and run the same command again"
        ) from error
