"""What shards and other files are until the commit."""

import dataclasses
from collections.abc import Mapping
from typing import Self

from beam_pipeline.files.hashed import HashedFile
from tfrecord_dataset.format.metadata import FileEntry, ShardEntry


@dataclasses.dataclass(frozen=True, slots=True)
class TemporaryFile:
    """A finished file before the commit.

    Attributes:
        path: Where it lies.
        num_bytes: Its size on disk.
        sha256: Hex digest of it.
    """

    path: str
    num_bytes: int
    sha256: str

    @classmethod
    def of(cls, path: str, written: HashedFile) -> Self:
        """A file that was written so."""
        return cls(path, written.num_bytes, written.sha256)

    @property
    def entry(self) -> FileEntry:
        """As metadata.json lists it."""
        return FileEntry(self.num_bytes, self.sha256)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ShardInfo(ShardEntry):
    """What a written shard says of itself.

    Attributes:
        split: The shard's split.
        shard: Its number in the split.
        temporary: Its files until the commit, the shard and its index, by final path in the
            dataset's directory.
        sample: The first record as text, of the first shard of the first split; else "".
    """

    split: str
    shard: int
    temporary: Mapping[str, TemporaryFile]
    sample: str = ""
