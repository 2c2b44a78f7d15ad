"""Shards of a split: how to read the frames of their records.

Gzip files are unpacked into the user's cache once, for random access to their content.
"""

import contextlib
import dataclasses
import functools
import os
from collections.abc import Callable, Iterator, Sequence

from tfrecord_dataset import regular_files
from tfrecord_dataset.errors import BeamTFRecordsError
from tfrecord_dataset.records.streams import unpacked
from tfrecord_dataset.store import user_cache
from tfrecord_dataset.store.pinned_files import Files, ReadRange

_KIND = "unpacked"


class UnpackedFiles:
    """Uncompressed content of gzip files, as `store.pinned_files.Files`.

    Each process verifies a cached file's seal before the first use.
    """

    is_remote = False

    def __init__(self, packed: Files) -> None:
        self.names = packed.names
        self._packed = packed
        self._paths: dict[int, str] = {}  # of verified files

    def num_bytes(self, number: int) -> int:
        return user_cache.content_bytes(self._path(number))

    def identity(self, number: int) -> str:
        return self._packed.identity(number)

    @contextlib.contextmanager
    def open(self, number: int, wanted: int | None = None) -> Iterator[ReadRange]:
        path = self._path(number)
        try:
            size = user_cache.content_bytes(path)
            with regular_files.opened(path) as file:
                yield lambda num_bytes, offset: os.pread(
                    file.fileno(), max(0, min(num_bytes, size - offset)), offset
                )
        except OSError as error:
            raise BeamTFRecordsError(
                f"the unpacked {self.names[number]} cannot be read: {error.strerror}; delete {path}"
            ) from error

    def paths(self, numbers: Sequence[int]) -> list[str]:
        return [*map(self._path, numbers)]

    def renew(self, number: int) -> bool:
        self._paths.pop(number, None)
        return user_cache.find(_KIND, self.identity(number)) is None

    def _path(self, number: int) -> str:
        path = self._paths.get(number)
        if path is None or not os.path.exists(path):
            path = self._paths[number] = self._made(number)
        return path

    def _made(self, number: int) -> str:
        source = self.identity(number)
        if cached := user_cache.find(_KIND, source):
            return cached
        try:
            with user_cache.writing(_KIND, source) as handle:
                for data in unpacked(self._packed, number):
                    handle.write(data)
        except OSError as error:
            raise user_cache.explain(error) from error
        return str(user_cache.path_of(_KIND, source))


@dataclasses.dataclass(frozen=True)
class ShardFiles:
    """Shards of a split.

    Attributes:
        files: The stored files.
        compression: "" or "GZIP".
        read_index: Returns the content of a shard's .idx file; None if it is missing.
    """

    files: Files
    compression: str = ""
    read_index: Callable[[int], bytes | None] = lambda number: None

    @functools.cached_property
    def plain(self) -> Files:
        """Files with the frames of records as bytes; gzip is unpacked on first use."""
        return UnpackedFiles(self.files) if self.compression else self.files

    def __len__(self) -> int:
        return len(self.files.names)
