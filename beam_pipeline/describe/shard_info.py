"""What a written shard says of itself."""

import dataclasses
import json
from collections.abc import Mapping
from typing import NamedTuple, Self


class TemporaryFile(NamedTuple):
    """A file of a shard before the commit.

    Attributes:
        path: Where it lies.
        num_bytes: Its size on disk.
    """

    path: str
    num_bytes: int


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
        contents_digest: Hex digest of all that decided its bytes; a resumed build compares it.
        temporary: Its files until the commit, the shard and its index, by final path in the
            dataset.
    """

    split: str
    shard: int
    file: str
    num_records: int
    num_bytes: int
    sha256: str
    contents_digest: str
    temporary: Mapping[str, TemporaryFile]

    def to_json(self) -> str:
        """The receipt's text."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The receipt of `to_json`.

        Raises:
            ValueError, TypeError: `text` is none, for instance because its writer was killed.
        """
        info = cls(**json.loads(text))
        temporary = {final: TemporaryFile(*file) for final, file in dict(info.temporary).items()}
        return dataclasses.replace(info, temporary=temporary)
