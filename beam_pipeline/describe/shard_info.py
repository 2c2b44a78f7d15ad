"""What a written shard says of itself."""

import dataclasses
import json
from typing import Self


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
