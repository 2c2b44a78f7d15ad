"""One split of a dataset."""

import dataclasses

from trainer.records.index import RecordIndex, read_index
from trainer.records.shard_files import ShardFiles
from trainer.store.fetching import Fetcher


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """One split's shards.

    Attributes:
        name: "train", "val", ….
        files: Paths of the shards, in order; of remote ones where their copies lie, or will.
        compression: "" or "GZIP".
        fetcher: Copies remote shards to this machine; None for others.
        num_records: None without metadata; then `Dataset.num_records` counts.
        num_bytes: Bytes of all shards, None without metadata.
        sha256: Of each shard, by metadata.json; empty without it.
    """

    name: str
    files: tuple[str, ...]
    compression: str = ""
    num_records: int | None = None
    num_bytes: int | None = None
    sha256: tuple[str, ...] = ()
    fetcher: Fetcher | None = dataclasses.field(default=None, repr=False, compare=False)

    @property
    def shards(self) -> ShardFiles:
        """The files as the reader opens them."""
        return ShardFiles(self.files, self.compression, self.fetcher)

    def index(self) -> RecordIndex:
        """Where each record is.

        Raises:
            DatasetDamagedError: The shards are not what metadata.json or their .idx files state.
        """
        return read_index(self.shards, self.num_records)
