"""Who may write a dataset: one build at a time.

On this machine a lock says so, which goes with its process. On a store a build leaves a claim, an
object that stays until the dataset is there, so that a build of the same options goes on with what
is finished. The claim spares two builds work, and no more rests on it: whatever a build writes to a
store it only makes, and never replaces (`storage.writing`, `is_new`). So a build that comes
second, or a worker that comes too late, changes nothing.
"""

import contextlib
import dataclasses
import json
import platform
import time
from collections.abc import Iterator

from beam_pipeline.config import BuildConfig
from beam_pipeline.describe import metadata
from beam_pipeline.errors import BeamTFRecordsError, ConfigError, DatasetExistsError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.running import lock
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
    """Holds a dataset's place against other builds; on a store also after this process.

    Raises:
        ConfigError: Another build holds it, or has made a dataset there.
    """
    if storage.is_remote(config.dataset_dir):
        _take(config)
        yield
        return
    with lock.exclusive(config.dataset_dir, lock=working_root(config)):
        yield


def _take(config: BuildConfig) -> None:
    storage.make_dirs(config.dataset_dir)  # looks whether the bucket is there
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    claim = _Claim(fingerprint=config.fingerprint, host=platform.node(), started_at=now)
    text = json.dumps(dataclasses.asdict(claim))
    with contextlib.suppress(FileExistsError):
        storage.write_bytes(_path(config), text.encode(), is_new=True)
        if storage.exists(storage.join(config.dataset_dir, metadata.FILE)):  # since it was looked
            storage.delete([working_root(config)])
            raise made_meanwhile(config)
        return
    held = _held(config)
    if held and held.fingerprint != config.fingerprint:
        raise ConfigError(
            f"a build of other options, begun {held.started_at} on {held.host}, writes "
            f"{config.dataset_dir}; wait for it, delete that folder if it no longer runs, or build "
            "another --version"
        )


def _held(config: BuildConfig) -> _Claim | None:
    """The claim that is there; None where there is none that can be read."""
    try:
        stated = json_file.parse_object(storage.read_text(_path(config)))
        claim: _Claim = json_file.typed(stated, _Claim)
        return claim
    except (RecordError, ValueError):
        return None


def is_committed(config: BuildConfig) -> bool:
    """Whether a build of the same options made the dataset, and was cut off as it tidied up."""
    if not storage.is_remote(config.dataset_dir):
        return False
    if not storage.exists(storage.join(config.dataset_dir, metadata.FILE)):
        return False
    held = _held(config)
    return held is not None and held.fingerprint == config.fingerprint


def made_meanwhile(config: BuildConfig) -> DatasetExistsError:
    """The error where a dataset is there that was not when this build began."""
    return DatasetExistsError(
        f"another build has made {config.dataset_dir} meanwhile; {ways_out(config)}"
    )


def ways_out(config: BuildConfig) -> str:
    """What to do where a dataset is there."""
    is_remote = storage.is_remote(config.dataset_dir)
    replace = "" if is_remote else "pass --overwrite to replace it, or "
    return f"{replace}choose another --version, --name or --output"


@contextlib.contextmanager
def others_named(config: BuildConfig) -> Iterator[None]:
    """Says what to do where another object is in the place of one that this build makes.

    Raises:
        BeamTFRecordsError: One is.
    """
    try:
        yield
    except FileExistsError as error:
        raise BeamTFRecordsError(
            f"{error.filename} is another build's, or of this build's input as it was; delete "
            f"{config.dataset_dir} once no build runs, and run the same command again"
        ) from error
