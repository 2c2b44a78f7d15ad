"""Where a build works until it commits, and the receipts by which one that was cut off goes on."""

import contextlib
import os

from beam_pipeline.config import BuildConfig
from beam_pipeline.describe.shard_info import ShardInfo
from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage


def working_dir(config: BuildConfig) -> str:
    """Where a build writes until it commits; equal builds share it, so that one can resume."""
    return storage.join(config.dataset_dir, f".building-{config.fingerprint[:16]}")


def scratch_dir(config: BuildConfig) -> str:
    """Where a build unpacks compressed inputs; it goes with the working directory."""
    return storage.join(working_dir(config), "unpacked")


def receipt_path(config: BuildConfig, split: str, shard: int) -> str:
    """Where the receipt of a finished shard lies."""
    return storage.join(working_dir(config), "receipts", f"{split}-{shard:05d}.json")


def finished_shard(receipt: str, contents_digest: str) -> ShardInfo | None:
    """The shard that an earlier attempt finished, if it is the very same."""
    try:
        info = ShardInfo.from_json(storage.read_text(receipt))
    except (RecordError, ValueError, TypeError):
        return None
    there = all(storage.exists(file.path) for file in info.temporary.values())
    return info if there and info.contents_digest == contents_digest else None


def finished_files(config: BuildConfig) -> set[str]:
    """The receipts of finished shards, and the files that they tell of."""
    folder = storage.join(working_dir(config), "receipts")
    paths = [storage.join(folder, name) for name in storage.list_dir(folder)]
    files = set(paths)
    for path in paths:
        with contextlib.suppress(RecordError, ValueError, TypeError):
            info = ShardInfo.from_json(storage.read_text(path))
            files.update(file.path for file in info.temporary.values())
    return files


def drop_unfinished(config: BuildConfig) -> None:
    """Deletes what a failed build leaves, but for finished shards, which the next one takes."""
    folder = working_dir(config)
    if finished := finished_files(config):
        unfinished = [each.path for each in storage.list_files(folder) if each.path not in finished]
        storage.delete(unfinished)
        return
    storage.delete([folder])
    if not storage.is_remote(folder):
        with contextlib.suppress(OSError):  # not empty: it holds something else
            os.rmdir(config.dataset_dir)
            os.rmdir(os.path.dirname(config.dataset_dir))  # the output itself is the user's
