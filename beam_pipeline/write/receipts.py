"""Receipts: what each finished shard says of itself, by which a build that was cut off goes on."""

import contextlib
import os
from collections.abc import Iterator

from beam_pipeline.config import BuildConfig
from beam_pipeline.describe.shard_info import ShardInfo
from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.running.parallel import map_threads
from beam_pipeline.write.working_directory import working_dir, working_root

_READS_AT_ONCE = 64


def receipt_path(config: BuildConfig, split: str, shard: int) -> str:
    """Where the receipt of a finished shard lies."""
    return storage.join(_folder(config), f"{split}-{shard:05d}.json")


def _folder(config: BuildConfig) -> str:
    return storage.join(working_dir(config), "receipts")


def finished_shard(receipt: str, records_digest: str) -> ShardInfo | None:
    """The shard that an earlier attempt finished, if it is the very same and whole.

    Args:
        receipt: The receipt's path.
        records_digest: Of what the shard is to hold.
    """
    info = _read(receipt)
    if info is None or info.records_digest != records_digest:
        return None
    files = info.temporary.values()
    whole = storage.sizes(file.path for file in files) == [file.num_bytes for file in files]
    return info if whole else None


def _read(receipt: str) -> ShardInfo | None:
    try:
        return ShardInfo.from_receipt(storage.read_text(receipt))
    except (RecordError, ValueError, TypeError):
        return None


def drop_unfinished(config: BuildConfig) -> None:
    """Deletes what a failed build leaves, but for finished shards, which the next one takes.

    What cannot be deleted stays: why the build failed says more.
    """
    with contextlib.suppress(OSError, ConfigError):
        _drop_unfinished(config)


def _drop_unfinished(config: BuildConfig) -> None:
    folder = working_dir(config)
    if finished := set(_finished_files(config)):
        files = storage.list_files(folder)
        storage.delete_all(each.path for each in files if each.path not in finished)
        return
    storage.delete([folder])
    if not storage.is_remote(folder):
        os.rmdir(working_root(config))  # unless it holds something else
        os.rmdir(os.path.dirname(config.dataset_dir))  # the output itself is the user's


def _finished_files(config: BuildConfig) -> Iterator[str]:
    """The receipts of finished shards, and the files that they name."""
    folder = _folder(config)
    receipts = [storage.join(folder, name) for name in storage.list_dir(folder)]
    for path, info in zip(receipts, map_threads(_read, receipts, _READS_AT_ONCE), strict=True):
        if info:
            yield path
            yield from (file.path for file in info.temporary.values())
