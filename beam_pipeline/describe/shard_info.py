"""Shards and other files before the commit."""

import dataclasses
from collections.abc import Mapping
from typing import Self

from beam_pipeline.files.hashed import HashedFile
from tfrecord_dataset.format.metadata import FileEntry, ShardEntry


@dataclasses.dataclass(frozen=True, slots=True)
class TemporaryFile:
    """A finished file before the commit.

    Attributes:
        path: Its path or URL.
        num_bytes: Size on disk.
        sha256: Hex digest.
        version: The store's version of it; "" if it is local or unknown.
    """

    path: str
    num_bytes: int
    sha256: str
    version: str = ""

    @classmethod
    def of(cls, path: str, written: HashedFile) -> Self:
        """Describe a file from its hashing writer."""
        return cls(path, written.num_bytes, written.sha256)

    @property
    def entry(self) -> FileEntry:
        """Return its entry of metadata.json."""
        return FileEntry(self.num_bytes, self.sha256)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ShardInfo(ShardEntry):
    """A written shard.

    Attributes:
        temporary: Its files before the commit, by final path in the dataset's directory.
        sample: The first record as text, for the first shard of the first split; else "".
    """

    split: str
    shard: int
    temporary: Mapping[str, TemporaryFile]
    sample: str = ""
