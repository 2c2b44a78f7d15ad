"""A share of a split that is kept out of training: the records whose hashes are the lowest."""

import hashlib
import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfrecord_dataset.format.frames import FOOTER_BYTES
from tfrecord_dataset.records.index import RecordIndex
from tfrecord_dataset.records.split import Split
from trainer.errors import ConfigError


def draw(identities: Sequence[bytes], share: float) -> Any:
    """The numbers of the records to hold out, ascending, int64 [n]: as near to `share` as can be.

    Equal identities stay together. The choice depends on nothing but the identities, and a record
    keeps its side, but for a few at the edge, when others are added.

    Args:
        identities: Of the records, by number: a group, or a digest of the content.
        share: Of the records, between 0 and 1.

    Raises:
        ConfigError: All records are one group.
    """
    distinct, group = np.unique(np.array(identities, object), return_inverse=True)
    if len(distinct) < 2:
        raise ConfigError(
            "--validation-share cannot divide the train split, whose records are one group; name "
            "another split by --validation-split, or none"
        )
    hashes = [hashlib.blake2b(each, digest_size=8).digest() for each in distinct.tolist()]
    order = np.argsort(np.array(hashes, object), kind="stable")
    sizes = np.cumsum(np.bincount(group)[order])[:-1]  # one group is left to train on
    count = 1 + int(np.argmin(np.abs(sizes - share * len(identities))))
    return np.flatnonzero(np.isin(group, order[:count])).astype(np.int64)


def identities(split: Split, group_by: str) -> list[bytes]:
    """What tells the records of a split apart, by their numbers.

    The group by which the dataset was split; else the digests of images and audio in the dataset's
    index; else the checksum of the record, which its frame states.

    Args:
        split: With all records.
        group_by: A column, or a level of the key, as `build --group-by` has it; "" for none.

    Raises:
        ConfigError: The index does not state the groups.
    """
    shards = range(len(split.files))
    rows = [_of_rows(split.read_rows(shard), group_by) for shard in shards]
    known = [each for each in rows if each is not None]
    if len(known) == len(rows):
        return [each for some in known for each in some]
    if group_by:
        raise ConfigError(
            f"--validation-share: the dataset keeps groups of {group_by!r} together, which its "
            "index does not state; name another split by --validation-split, or none"
        )
    return [each for shard in shards for each in checksums(split.index(), shard)]


def _of_rows(data: bytes | None, group_by: str) -> list[bytes] | None:
    """The identities in the index of a shard; None if it states none."""
    if data is None:
        return None
    import pyarrow.parquet  # here: a dataset with a split to validate on needs none

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


def checksums(index: RecordIndex, shard: int) -> list[bytes]:
    """The checksums of a shard's records, which their frames state: few bytes are read."""
    with index.shards.plain.open(shard) as read:
        ends = index.bounds_of(shard)[1:].tolist()
        return [read(FOOTER_BYTES, end - FOOTER_BYTES) for end in ends]
