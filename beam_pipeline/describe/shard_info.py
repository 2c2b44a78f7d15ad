"""What a shard is: as metadata.json lists it, and as it says itself until the commit."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, NamedTuple, Self


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


class TemporaryFile(NamedTuple):
    """A file of a shard before the commit.

    Attributes:
        path: Where it lies.
        num_bytes: Its size on disk.
    """

    path: str
    num_bytes: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ShardInfo(ShardEntry):
    """What a written shard says of itself.

    Attributes:
        split: The shard's split.
        shard: Its number in the split.
        records_digest: Hex digest of all that decided its bytes; a resumed build compares it.
        temporary: Its files until the commit, the shard and its index, by final path in the
            dataset's directory.
    """

    split: str
    shard: int
    records_digest: str
    temporary: Mapping[str, TemporaryFile]

    def to_receipt(self) -> str:
        """The receipt's text: JSON."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True)

    @classmethod
    def from_receipt(cls, text: str) -> Self:
        """The shard info in a text of `to_receipt`.

        Raises:
            ValueError, TypeError: `text` is no receipt, for instance because its writer was killed.
        """
        info = cls(**json.loads(text))
        temporary = {final: TemporaryFile(*file) for final, file in dict(info.temporary).items()}
        return dataclasses.replace(info, temporary=temporary)
