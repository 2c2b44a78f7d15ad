"""What shards and other files are: as metadata.json lists them, and until the commit."""

import dataclasses
import hashlib
from collections.abc import Mapping
from typing import Any, Self


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ShardEntry:
    """A shard as metadata.json lists it.

    Attributes:
        file: Its path in the dataset's directory.
        num_records: Records in it.
        num_bytes: Bytes of the records before compression, with their framing.
        sha256: Hex digest of the file as it lies on disk.
    """

    file: str
    num_records: int
    num_bytes: int
    sha256: str

    def to_json(self) -> dict[str, Any]:
        """The entry's object in metadata.json."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(ShardEntry)}


@dataclasses.dataclass(frozen=True, slots=True)
class FileEntry:
    """A file that is no shard, as metadata.json lists it.

    Attributes:
        num_bytes: Its size on disk.
        sha256: Hex digest of it.
    """

    num_bytes: int
    sha256: str

    @classmethod
    def of(cls, data: bytes) -> Self:
        """The entry of a file with these bytes."""
        return cls(len(data), hashlib.sha256(data).hexdigest())


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
    """

    split: str
    shard: int
    temporary: Mapping[str, TemporaryFile]
