"""The claim on a dataset's directory, so that one build writes it at a time.

On a local disk the claim is a lock, released with its process. On a store it is an object that
stays until the dataset is complete, so that a build with the same options can resume. A build
creates objects and never replaces them (`storage.writing`, `is_new`), so builds that share a
folder cannot mix. A user may delete the folder while a build is suspended, and start another: no
two claims have the same version, so the first build notices that its own is gone (`check_held`).
"""

import contextlib
import dataclasses
import json
import platform
import time
import uuid
from collections.abc import Iterator

from beam_pipeline.config import BuildConfig
from beam_pipeline.dataset.opening import is_dataset
from beam_pipeline.describe import metadata
from beam_pipeline.errors import BeamTFRecordsError, ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.running.locked_folders import locked
from beam_pipeline.write.directories import working_root
from tfrecord_dataset import json_file


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    fingerprint: str
    host: str
    started_at: str
    build: str = ""


def _path(config: BuildConfig) -> str:
    return storage.join(working_root(config), "claim.json")


@contextlib.contextmanager
def exclusive(config: BuildConfig) -> Iterator[str]:
    """Hold a dataset's directory against other builds; on a store also after this process.

    Yields the version of the claim on a store, for `check_held`; "" for a local directory.

    Raises:
        ConfigError: Another build holds it.
        BeamTFRecordsError: Another build has finished a dataset there.
    """
    if storage.is_remote(config.dataset_dir):
        yield _take(config)
        return
    with locked(config.dataset_dir, lock=working_root(config)):
        yield ""


def _take(config: BuildConfig) -> str:
    storage.make_dirs(config.dataset_dir)  # checks that the bucket exists
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    claim = _Claim(
        fingerprint=config.fingerprint,
        host=platform.node(),
        started_at=now,
        build=uuid.uuid4().hex,
    )
    own = json.dumps(dataclasses.asdict(claim))
    version = ""
    while not version:  # another build may delete the claim that kept this one from being put
        with contextlib.suppress(FileExistsError):
            storage.write_bytes(_path(config), own.encode(), is_new=True)
            # The dataset may have appeared since the check.
            if is_dataset(config.dataset_dir):
                storage.delete([working_root(config)])
                raise made_meanwhile(config)
        version = _version(config)
    held = _held(config)
    if held and held.fingerprint != config.fingerprint:
        raise ConfigError(
            f"a build with other options, started {held.started_at} on {held.host}, is writing "
            f"{config.dataset_dir}; wait for it, build another --version, or delete that folder "
            "once its processes have ended"
        )
    return version


def _version(config: BuildConfig) -> str:
    """Return the version of the existing claim; "" if there is none."""
    try:
        return storage.version(_path(config))
    except RecordError as error:
        if error.reason != "missing file":
            raise
        return ""


def _held(config: BuildConfig) -> _Claim | None:
    """Return the existing claim; None if there is none, or it cannot be read."""
    try:
        stated = json_file.parse_object(storage.read_text(_path(config)))
        claim: _Claim = json_file.typed(stated, _Claim)
        return claim
    except (RecordError, ValueError):
        return None


def lost(config: BuildConfig, claim: str) -> BeamTFRecordsError | None:
    """Return the error for a build whose claim has been deleted since; None if it has not.

    Args:
        config: The build's options.
        claim: What `exclusive` yielded; "" is never lost.
    """
    if not claim or _version(config) == claim:
        return None
    if held := _held(config):
        return BeamTFRecordsError(
            f"{config.dataset_dir} was deleted while this build ran, and a build started "
            f"{held.started_at} on {held.host} has taken it; wait for that one, or build another "
            "--version"
        )
    if is_dataset(config.dataset_dir):
        return made_meanwhile(config)
    return BeamTFRecordsError(
        f"{config.dataset_dir} was deleted while this build ran; run the same command again"
    )


def check_held(config: BuildConfig, claim: str) -> None:
    """Raise the error of `lost`, if there is one."""
    if error := lost(config, claim):
        raise error


def is_committed(config: BuildConfig) -> bool:
    """Whether a build with the same options made the dataset and was interrupted in cleanup."""
    directory = config.dataset_dir
    if not storage.is_remote(directory) or not is_dataset(directory):
        return False
    held = _held(config)
    return held is not None and held.fingerprint == config.fingerprint and _is_of_one(config)


def _is_of_one(config: BuildConfig) -> bool:
    """Whether one build has written metadata.json and build.json, which states its hash."""
    paths = [
        storage.join(config.dataset_dir, name) for name in (metadata.FILE, metadata.BUILD_FILE)
    ]
    try:
        stated = json_file.parse_object(storage.read_text(paths[1]))
        return bool(stated["metadata_sha256"] == storage.sha256_of(paths[0]))
    except (RecordError, ValueError, KeyError):
        return False


def made_meanwhile(config: BuildConfig) -> BeamTFRecordsError:
    """Return the error for a dataset that appeared after this build began."""
    return BeamTFRecordsError(
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
