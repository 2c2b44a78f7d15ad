"""A split's shards: the one place that says how the frames of their records are read."""

import dataclasses
import functools
import os
from collections.abc import Callable

from tfrecord_dataset.records.unpacked_files import UnpackedFiles
from tfrecord_dataset.store.files import Files


def index_beside(name: str) -> str:
    """The path of the .idx file of a shard that no metadata.json lists."""
    folder, base = os.path.split(name)
    return os.path.join(folder, "idx", f"{base}.idx")


def no_index(number: int) -> bytes | None:
    """No shard has one beside it."""
    del number
    return None


@dataclasses.dataclass(frozen=True)
class ShardFiles:
    """The shards of a split.

    Attributes:
        files: As they are stored.
        compression: "" or "GZIP".
        read_index: The content of a shard's .idx file; None where there is none.
        index_names: Paths or URLs of the .idx files, for messages; empty where each would lie in a
            folder `idx` beside its shard.
    """

    files: Files
    compression: str = ""
    read_index: Callable[[int], bytes | None] = no_index
    index_names: tuple[str, ...] = ()

    @functools.cached_property
    def plain(self) -> Files:
        """Files whose bytes are the frames of records; gzip is unpacked when it is read."""
        return UnpackedFiles(self.files) if self.compression else self.files

    def index_name(self, number: int) -> str:
        """The path or URL of a shard's .idx file."""
        return (
            self.index_names[number] if self.index_names else index_beside(self.files.names[number])
        )

    def __len__(self) -> int:
        return len(self.files.names)
