"""A split's shards as files that can be read by offset: the one place that says where they are."""

import contextlib
import dataclasses
import gzip
import hashlib
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import tensorflow as tf

from trainer.errors import DatasetDamagedError
from trainer.store import objects
from trainer.store.cache import cache_folder
from trainer.store.fetching import Fetcher

_COPIED_BYTES = 1 << 20

# (bytes, offset) -> the bytes there; fewer at the end of the file.
ReadRange = Callable[[int, int], bytes]


@dataclasses.dataclass(frozen=True, slots=True)
class ShardFiles:
    """The shards of a split.

    Attributes:
        files: Paths, in order; of remote ones where their copies lie, or will.
        compression: "" or "GZIP".
        fetcher: Copies remote shards to this machine; None for others.
    """

    files: tuple[str, ...]
    compression: str = ""
    fetcher: Fetcher | None = None

    def source(self, number: int) -> str:
        """Where a shard comes from: a URL, or its path."""
        return self.fetcher.files[number].url if self.fetcher else self.files[number]

    def expect(self, numbers: list[int]) -> None:
        """Says which shards are needed next, in their order."""
        if self.fetcher and not self._exceeds_cache:
            self.fetcher.expect(numbers)

    def path(self, number: int) -> str:
        """The path of a shard on this machine, once it is there."""
        return self.fetcher.fetch(number) if self.fetcher else self.files[number]

    def num_bytes(self, number: int) -> int:
        """The size of a shard as it is stored."""
        if self.fetcher:
            return self.fetcher.files[number].num_bytes
        return int(tf.io.gfile.stat(self.files[number]).length)

    def identity(self, number: int) -> str:
        """What tells a shard, as it is now, from all others."""
        if self.fetcher:
            return self.fetcher.files[number].local_name
        file = self.files[number]
        status = tf.io.gfile.stat(file)
        return f"{os.path.abspath(file)}\n{status.length}\n{status.mtime_nsec}"

    def plain_path(self, number: int) -> str:
        """The path of a shard whose bytes are the frames of its records.

        Gzip cannot be read by offset, so such a shard is unpacked into the cache folder once.

        Raises:
            DatasetDamagedError: It cannot be unpacked.
        """
        if not self.compression:
            return self.path(number)
        unpacked = cached_path("unpacked", self.identity(number), ".tfrecord")
        if not unpacked.exists():
            with written_whole(unpacked) as partial:
                _unpack(self.path(number), partial, self.source(number))
        return str(unpacked)

    @contextlib.contextmanager
    def open(self, number: int, wanted: int) -> Iterator[ReadRange]:
        """A function that reads ranges of the plain bytes of a shard.

        Of a remote shard that is not here yet, ranges are read where it is, so that nobody waits
        for all of it; but where most of it is wanted, its copy is waited for.

        Args:
            number: Of the shard.
            wanted: The bytes that will be read.
        """
        if self.fetcher is None or self.compression:
            with open_ranges(self.plain_path(number)) as read:
                yield read
            return
        if 2 * wanted >= self.num_bytes(number):
            self.fetcher.fetch(number)
        url = self.source(number)
        with self.fetcher.opened(number) as copy:
            if copy is None:
                yield lambda num_bytes, offset: objects.read_range(url, offset, num_bytes)
            else:
                yield lambda num_bytes, offset: os.pread(copy, num_bytes, offset)

    @property
    def _exceeds_cache(self) -> bool:
        return self.fetcher is not None and not self.fetcher.holds_all


def cached_path(kind: str, identity: str, suffix: str) -> Path:
    """The path in the cache folder for what is made of a file with this identity."""
    name = hashlib.sha256(identity.encode()).hexdigest()[:32]
    return cache_folder() / kind / f"{name}{suffix}"


@contextlib.contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A temporary path in the same folder, which becomes `path` when the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".partial")
    os.close(handle)
    try:
        yield Path(name)
        os.replace(name, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def _unpack(file: str, target: Path, name: str) -> None:
    try:
        with (
            tf.io.gfile.GFile(file, "rb") as packed,
            gzip.GzipFile(fileobj=packed) as source,
            target.open("wb") as unpacked,
        ):
            shutil.copyfileobj(source, unpacked, _COPIED_BYTES)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DatasetDamagedError(
            f"{name} cannot be unpacked: {error}; it is truncated or damaged, copy it again"
        ) from error


@contextlib.contextmanager
def open_ranges(path: str) -> Iterator[ReadRange]:
    """A function that reads ranges of a local file, or of any that TensorFlow can open."""
    if not os.path.exists(path):
        with tf.io.gfile.GFile(path, "rb") as file:

            def read(num_bytes: int, offset: int) -> bytes:
                file.seek(offset)
                return bytes(file.read(num_bytes))

            yield read
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield lambda num_bytes, offset: os.pread(descriptor, num_bytes, offset)
    finally:
        os.close(descriptor)
