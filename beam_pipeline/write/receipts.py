"""Receipts of finished parts, from which an interrupted build resumes.

A receipt is written after the part's files are on disk. It is sealed with a checksum of its own,
and gives each file's path below `shards_dir`, size and SHA-256.
"""

import contextlib
import dataclasses
import logging
import os
from collections.abc import Collection, Iterator, Mapping

from beam_pipeline.config import BuildConfig
from beam_pipeline.dataset.opening import is_dataset
from beam_pipeline.describe.shard_info import TemporaryFile
from beam_pipeline.errors import (
    BeamTFRecordsError,
    ConfigError,
    DatasetDamagedError,
    RecordError,
)
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef
from beam_pipeline.running.parallel import map_threads
from beam_pipeline.write.claim import lost
from beam_pipeline.write.directories import (
    restore_dataset,
    scratch_dir,
    shards_dir,
    working_dir,
    working_root,
)
from beam_pipeline.write.rejects_file import FAILED_REJECTS_FILE
from tfrecord_dataset.inner_paths import inner_path
from tfrecord_dataset.json_file import sealed, unsealed
from tfrecord_dataset.store.threads import run_in_threads

_LOG = logging.getLogger(__name__)
_READS_AT_ONCE = 64
_MAX_BYTES = 1 << 20


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """A finished part of a build.

    Attributes:
        digest: Hex digest of everything that determines the part's content.
        num_bytes: Size of its records with their framing, before compression.
        files: Its files by path in the dataset's directory.
    """

    digest: str
    num_bytes: int
    files: Mapping[str, TemporaryFile]


def receipt_path(config: BuildConfig, part: str) -> str:
    """Path of a part's receipt."""
    return storage.join(_folder(config), f"{part}.json")


def _folder(config: BuildConfig) -> str:
    return storage.join(working_dir(config), "receipts")


def write_receipt(config: BuildConfig, part: str, receipt: Receipt) -> None:
    """Write the receipt of a part whose files are on disk."""
    storage.sync([file.path for file in receipt.files.values()])
    start = len(shards_dir(config)) + 1
    files = {
        final: dataclasses.replace(file, path=file.path[start:])
        for final, file in receipt.files.items()
    }
    text = sealed(dataclasses.asdict(dataclasses.replace(receipt, files=files)))
    storage.write_bytes(receipt_path(config, part), text.encode(), durable=True)


def finished_part(
    config: BuildConfig, part: str, digest: str, files: Collection[str]
) -> Receipt | None:
    """Return a part that an earlier attempt finished, if it is identical and complete.

    Reads the `files` (paths in the dataset's directory) again, and logs a warning for an incomplete
    part.
    """
    path = receipt_path(config, part)
    try:
        receipt = _read(config, path)
        if receipt is None or receipt.digest != digest:
            return None
        if receipt.files.keys() != set(files):
            raise ValueError(f"{path} has {sorted(receipt.files)}, not {sorted(files)}")
        run_in_threads(_check, receipt.files.values(), len(files))
    except (OSError, RecordError, ValueError) as error:
        _LOG.warning("%s of an interrupted build is incomplete and written again: %s", part, error)
        return None
    return receipt


def _check(file: TemporaryFile) -> None:
    """Raise ValueError if a file differs from its receipt."""
    if storage.sha256_of(file.path) != file.sha256:
        raise ValueError(f"{file.path} does not have the SHA-256 of its receipt")


def _read(config: BuildConfig, path: str) -> Receipt | None:
    """Read the receipt at `path` and make its paths absolute; None if it is missing.

    Raises:
        ValueError: Not a receipt, for instance because it was cut off or changed.
        RecordError, OSError: It cannot be read.
    """
    try:
        data = storage.read_bytes(FileRef(path=path), _MAX_BYTES)
    except RecordError as error:
        if error.reason == "missing file":
            return None
        raise
    try:
        receipt = unsealed(data, Receipt)
    except ValueError as error:
        raise ValueError(f"its receipt {path}: {error}") from error
    files = {
        final: dataclasses.replace(file, path=_inner(shards_dir(config), file.path))
        for final, file in receipt.files.items()
    }
    return dataclasses.replace(receipt, files=files)


def _inner(folder: str, stated: str) -> str:
    """Return the path of a file below a folder; ValueError if it leads outside."""
    try:
        path = storage.join(folder, inner_path(stated, "a path in its receipt"))
    except DatasetDamagedError as error:
        raise ValueError(str(error)) from error
    whole = os.path.join(os.path.realpath(folder), stated)
    if not storage.is_remote(folder) and os.path.realpath(path) != whole:
        raise ValueError(f"{path} is a link, which builds never create")
    return path


def has_finished_parts(config: BuildConfig) -> bool:
    """Whether the next build with the same options finds parts that this one finished."""
    with contextlib.suppress(OSError, BeamTFRecordsError):  # the build's own error is more useful
        return bool(storage.list_dir(_folder(config)))
    return False


def drop_unfinished(config: BuildConfig, claim: str = "") -> None:
    """Delete what a failed build leaves, except the finished parts that the next one uses.

    Deletes nothing if another build has taken the folder since `claim` (`exclusive`), and its own
    receipts, too, if another has finished the dataset. Ignores failures to delete: the build's own
    error is more useful.
    """
    with contextlib.suppress(OSError, ConfigError):
        if not lost(config, claim):
            _drop_unfinished(config)
        elif is_dataset(config.dataset_dir):
            storage.delete([working_dir(config)])


def _drop_unfinished(config: BuildConfig) -> None:
    folder = working_dir(config)
    storage.delete([scratch_dir(config)])
    restore_dataset(config)
    kept = set(_finished_files(config))
    if kept:
        files = storage.list_files(folder)
        storage.delete_all(file.path for file in files if file.path not in kept)
        return
    storage.delete([folder])
    if storage.is_remote(folder):
        own = {os.path.basename(working_root(config)), FAILED_REJECTS_FILE}
        if own.issuperset(storage.list_dir(config.dataset_dir)):  # no shard needs the claim
            storage.delete([working_root(config)])
    else:
        os.rmdir(working_root(config))  # fails if it is not empty
        os.rmdir(os.path.dirname(config.dataset_dir))  # keeps the user's output folder


def _finished_files(config: BuildConfig) -> Iterator[str]:
    """The receipts of finished parts, and the files they name."""
    folder = _folder(config)
    paths = [storage.join(folder, name) for name in storage.list_dir(folder)]

    def read(path: str) -> Receipt | None:
        with contextlib.suppress(RecordError, ValueError):
            return _read(config, path)
        return None

    for path, receipt in zip(paths, map_threads(read, paths, _READS_AT_ONCE), strict=True):
        if receipt:
            yield path
            yield from (file.path for file in receipt.files.values())
