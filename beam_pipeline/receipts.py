"""Where a build works until it commits, and the receipts by which one that was cut off goes on."""

import contextlib
import dataclasses
import json
from typing import Self

from beam_pipeline import storage
from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import RecordError


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ShardInfo:
    """What a written shard says of itself: its receipt.

    Attributes:
        split: The shard's split.
        shard: Its number in the split.
        file: Its final file name.
        num_records: Records in it.
        num_bytes: Bytes of the records before compression, with their framing.
        sha256: Hex digest of the file as it lies on disk.
        contents: Hex digest of all that decided its bytes; a resumed build compares it.
        temporary: Where its files lie until the commit, by final path in the data set.
    """

    split: str
    shard: int
    file: str
    num_records: int
    num_bytes: int
    sha256: str
    contents: str
    temporary: dict[str, str]

    def to_json(self) -> str:
        """The receipt's text."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The receipt of `to_json`.

        Raises:
            ValueError, TypeError: `text` is none, for instance because its writer was killed.
        """
        return cls(**json.loads(text))


def working_dir(config: BuildConfig) -> str:
    """Where a build writes until it commits; equal builds share it, so that one can resume."""
    return storage.join(config.dataset_dir, f".building-{config.fingerprint[:16]}")


def scratch_dir(config: BuildConfig) -> str:
    """Where a build unpacks compressed inputs; it goes with the working directory."""
    return storage.join(working_dir(config), "unpacked")


def receipt_path(config: BuildConfig, split: str, shard: int) -> str:
    """Where the receipt of a finished shard lies."""
    return storage.join(working_dir(config), "receipts", f"{split}-{shard:05d}.json")


def finished_shard(receipt: str, contents: str) -> ShardInfo | None:
    """The shard that an earlier attempt finished, if it is the very same."""
    try:
        info = ShardInfo.from_json(storage.read_text(receipt))
    except (RecordError, ValueError, TypeError):
        return None
    same = info.contents == contents and all(map(storage.exists, info.temporary.values()))
    return info if same else None


def finished_files(config: BuildConfig) -> set[str]:
    """The receipts of finished shards, and the files that they tell of."""
    folder = storage.join(working_dir(config), "receipts")
    paths = [storage.join(folder, name) for name in storage.list_dir(folder)]
    files = set(paths)
    for path in paths:
        with contextlib.suppress(RecordError, ValueError, TypeError):
            files.update(ShardInfo.from_json(storage.read_text(path)).temporary.values())
    return files
