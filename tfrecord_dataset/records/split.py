"""One split of a dataset."""

import dataclasses
import functools
from collections.abc import Callable

from tfrecord_dataset.errors import DatasetDamagedError
from tfrecord_dataset.records.index import RecordIndex, read_index
from tfrecord_dataset.records.shard_files import ShardFiles
from tfrecord_dataset.records.streams import windows


def _not_replaced() -> None:
    """Files without metadata are no build's."""


def _no_rows(shard: int) -> bytes | None:
    """Files without metadata have no rows."""
    del shard
    return None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Split:
    """One split's shards.

    Attributes:
        name: "train", "val", ….
        shards: Its files.
        num_records: None without metadata; then `counted` tells.
        num_bytes: Bytes of all shards, None without metadata.
        sha256: Of each shard, by metadata.json; empty without it.
        read_rows: Returns the content of index/<shard>.parquet, a row a record; None without it.
        check: Raises DatasetChangedError if another build took the dataset's place.
    """

    name: str
    shards: ShardFiles = dataclasses.field(repr=False, compare=False)
    num_records: int | None = None
    num_bytes: int | None = None
    sha256: tuple[str, ...] = ()
    read_rows: Callable[[int], bytes | None] = dataclasses.field(
        default=_no_rows, repr=False, compare=False
    )
    check: Callable[[], None] = dataclasses.field(default=_not_replaced, repr=False, compare=False)

    @property
    def files(self) -> tuple[str, ...]:
        """Paths or URLs of the shards, in order."""
        return self.shards.files.names

    @property
    def compression(self) -> str:
        """Of the shards: "" or "GZIP"."""
        return self.shards.compression

    def index(self) -> RecordIndex:
        """Where each record is; of bare files the frames are walked once.

        Raises:
            DatasetDamagedError: The shards are not what metadata.json or their .idx files state.
            DatasetChangedError: They were replaced.
        """
        return self._index

    @functools.cached_property
    def _index(self) -> RecordIndex:
        try:
            return read_index(self.shards, self.num_records)
        except DatasetDamagedError:
            self.check()
            raise

    @functools.cached_property
    def counted(self) -> int:
        """The number of records; of files without metadata they are counted, once.

        Raises:
            DatasetDamagedError: A file is damaged, or ends too early.
            DatasetChangedError: One is another file by now.
        """
        if self.num_records is not None:
            return self.num_records
        if not self.compression:
            return self._index.num_records
        return _count_packed(self.shards)


def _count_packed(shards: ShardFiles) -> int:
    """The records of gzip files, which are read completely."""
    return sum(
        len(window)
        for number in range(len(shards))
        for window in windows(shards.files, number, shards.compression)
    )
