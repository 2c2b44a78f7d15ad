"""Receipts: what each finished part says of itself, by which a build that was cut off goes on.

A receipt is written once the part's files are on disk. It is sealed with a checksum of its own, and
states of each file its path below `shards_dir`, its size and its SHA-256.
"""

import contextlib
import dataclasses
import logging
import os
from collections.abc import Collection, Iterator, Mapping

from beam_pipeline.config import BuildConfig
from beam_pipeline.describe.shard_info import TemporaryFile
from beam_pipeline.errors import (
    ConfigError,
    DatasetDamagedError,
    RecordError,
)
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef
from beam_pipeline.running.parallel import map_threads
from beam_pipeline.write.rejects import FAILED_REJECTS_FILE
from beam_pipeline.write.working_directory import (
    restore_dataset,
    scratch_dir,
    shards_dir,
    working_dir,
    working_root,
)
from tfrecord_dataset.inner_paths import inner_path
from tfrecord_dataset.sealed_json import sealed, unsealed
from tfrecord_dataset.store.at_once import at_once

_LOG = logging.getLogger(__name__)
_READS_AT_ONCE = 64
_MAX_BYTES = 1 << 20


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """A finished part of a build.

    Attributes:
        digest: Hex digest of all that decided what the part holds.
        num_bytes: Of its records with their framing, before compression.
        files: Its files, by their paths in the dataset's directory.
    """

    digest: str
    num_bytes: int
    files: Mapping[str, TemporaryFile]


def receipt_path(config: BuildConfig, part: str) -> str:
    """Where the receipt of a part lies."""
    return storage.join(_folder(config), f"{part}.json")


def _folder(config: BuildConfig) -> str:
    return storage.join(working_dir(config), "receipts")


def write_receipt(config: BuildConfig, part: str, receipt: Receipt) -> None:
    """Writes the receipt of a part, whose files are on disk before it."""
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
    """What an earlier attempt finished, if it is the very same and whole; its files are read again.

    What is not whole is named in a warning.

    Args:
        config: The build's.
        part: The part's name.
        digest: Of all that decides what the part is to hold.
        files: The paths of its files in the dataset's directory.
    """
    path = receipt_path(config, part)
    try:
        receipt = _read(config, path)
        if receipt is None or receipt.digest != digest:
            return None
        if receipt.files.keys() != set(files):
            raise ValueError(f"{path} is of {sorted(receipt.files)}, not of {sorted(files)}")
        at_once(_check, receipt.files.values(), len(files))
    except (OSError, RecordError, ValueError) as error:
        _LOG.warning("%s of an interrupted build is not whole and written again: %s", part, error)
        return None
    return receipt


def _check(file: TemporaryFile) -> None:
    """Raises ValueError where a file is not what its receipt states."""
    if storage.sha256_of(file.path) != file.sha256:
        raise ValueError(f"{file.path} does not have the SHA-256 that it was written with")


def _read(config: BuildConfig, path: str) -> Receipt | None:
    """The receipt at `path`, with paths as they can be opened; None where there is no file.

    Raises:
        ValueError: It is no receipt, for instance because it was cut off or changed.
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
    """The path of a file below a folder; what leads out is a ValueError."""
    try:
        path = storage.join(folder, inner_path(stated, "a path in its receipt"))
    except DatasetDamagedError as error:
        raise ValueError(str(error)) from error
    whole = os.path.join(os.path.realpath(folder), stated)
    if not storage.is_remote(folder) and os.path.realpath(path) != whole:
        raise ValueError(f"{path} is a link, which no build makes")
    return path


def drop_unfinished(config: BuildConfig) -> None:
    """Deletes what a failed build leaves, but for what the next one takes.

    That are finished parts. What cannot be deleted stays: why the build failed says more.
    """
    with contextlib.suppress(OSError, ConfigError):
        _drop_unfinished(config)


def _drop_unfinished(config: BuildConfig) -> None:
    folder = working_dir(config)
    storage.delete([scratch_dir(config)])
    restore_dataset(config)
    kept = set(_finished_files(config))
    if kept:
        files = storage.list_files(folder)
        storage.delete_all(each.path for each in files if each.path not in kept)
        return
    storage.delete([folder])
    if storage.is_remote(folder):
        own = {os.path.basename(working_root(config)), FAILED_REJECTS_FILE}
        if own.issuperset(storage.list_dir(config.dataset_dir)):  # no shard needs the claim
            storage.delete([working_root(config)])
    else:
        os.rmdir(working_root(config))  # unless it holds something else
        os.rmdir(os.path.dirname(config.dataset_dir))  # the output itself is the user's


def _finished_files(config: BuildConfig) -> Iterator[str]:
    """The receipts of finished parts, and the files that they name."""
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
