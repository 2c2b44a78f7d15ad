"""A split of a dataset."""

import dataclasses
import functools
import io
from collections.abc import Callable

from tfrecord_dataset.errors import DatasetDamagedError
from tfrecord_dataset.records.index import RecordIndex, read_index
from tfrecord_dataset.records.shard_files import ShardFiles
from tfrecord_dataset.records.streams import windows


@dataclasses.dataclass(frozen=True, kw_only=True)
class Split:
    """Shards of a split.

    Attributes:
        name: "train", "val", ….
        shards: The shard files.
        num_records: Number of records; None without metadata, then see `counted`.
        num_bytes: Size of all shards; None without metadata.
        sha256: Hex digests of the shards from metadata.json; empty without it.
        read_rows: Returns index/<shard>.parquet, one row per record; None without it.
        check: Raises DatasetChangedError if another build has replaced the dataset.
    """

    name: str
    shards: ShardFiles = dataclasses.field(repr=False, compare=False)
    num_records: int | None = None
    num_bytes: int | None = None
    sha256: tuple[str, ...] = ()
    read_rows: Callable[[int], bytes | None] = dataclasses.field(
        default=lambda shard: None, repr=False, compare=False
    )
    check: Callable[[], None] = dataclasses.field(default=lambda: None, repr=False, compare=False)

    @property
    def files(self) -> tuple[str, ...]:
        """Paths or URLs of the shards in order."""
        return self.shards.files.names

    @property
    def compression(self) -> str:
        """Compression of the shards: "" or "GZIP"."""
        return self.shards.compression

    def index(self) -> RecordIndex:
        """Positions of the records; frames of bare files are scanned once.

        Raises:
            DatasetDamagedError: The shards do not match metadata.json or their .idx files.
            DatasetChangedError: The shards were replaced.
        """
        return self._index

    def row_identities(self, group_by: str) -> list[bytes] | None:
        """Return the identities of the records in the shards' index: groups, else digests.

        `group_by` is a column, or a level of the key; "" for digests of images and audio. None if
        a shard's index is missing, or does not contain them.
        """
        identities: list[bytes] = []
        for shard in range(len(self.files)):
            data = self.read_rows(shard)
            stored = None if data is None else _identities_of_rows(data, group_by)
            if stored is None:
                return None
            identities += stored
        return identities

    @functools.cached_property
    def _index(self) -> RecordIndex:
        try:
            return read_index(self.shards, self.num_records)
        except DatasetDamagedError:
            self.check()
            raise

    @functools.cached_property
    def counted(self) -> int:
        """Number of records; records of files without metadata are counted once.

        Raises:
            DatasetDamagedError: A file is damaged or truncated.
            DatasetChangedError: A file has changed.
        """
        if self.num_records is not None:
            return self.num_records
        if not self.compression:
            return self._index.num_records
        return _count_packed(self.shards)


def _identities_of_rows(data: bytes, group_by: str) -> list[bytes] | None:
    """Read the identities in the index of a shard; None if it does not contain them."""
    import pyarrow.parquet  # only needed to divide a split

    file = pyarrow.parquet.ParquetFile(io.BytesIO(data))
    digests = [name for name in file.schema_arrow.names if name.endswith("sha256")]
    columns = [name for name in file.schema_arrow.names if name == group_by] or digests
    if group_by.isdigit():
        keys = file.read(columns=["key"]).column(0).to_pylist()
        return [key.split("/")[int(group_by) - 1].encode() for key in keys]
    if not columns or (group_by and columns == digests):
        return None
    table = file.read(columns=["key", *columns]).select(["key", *columns])
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return [repr(stated if any(stated) else key).encode() for key, *stated in rows]


def _count_packed(shards: ShardFiles) -> int:
    """Count the records of gzip files by reading them completely."""
    return sum(
        len(window)
        for number in range(len(shards))
        for window in windows(shards.files, number, shards.compression)
    )
