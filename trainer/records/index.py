"""The byte range of every record of a split, by the record's number."""

import concurrent.futures
import contextlib
import dataclasses
import os
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from trainer.errors import DatasetDamagedError
from trainer.records.shard_files import ShardFiles, cached_path, open_ranges, written_whole
from trainer.store import storage

# Around the payload: its length and the length's checksum before it, its checksum after it.
BEFORE_BYTES, AFTER_BYTES = 12, 4
# Walking fewer records takes no longer than opening a cached index.
_WORTH_CACHING = 10_000
_FILES_AT_ONCE = 16


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RecordIndex:
    """Where the records of a split are.

    Attributes:
        shards: The files; offsets are those in their plain bytes.
        first: int64 [shards + 1]: the number of each shard's first record, and that of all.
        bounds: int64 [records + shards]: shard by shard, where each record starts, and where
            the last one ends.
    """

    shards: ShardFiles
    first: Any
    bounds: Any

    @property
    def num_records(self) -> int:
        """Of all shards."""
        return int(self.first[-1])

    @property
    def num_bytes(self) -> int:
        """Of all shards, unpacked."""
        ends = self.first[1:] + np.arange(len(self.first) - 1)
        return int(self.bounds[ends].sum())

    @property
    def shard_lengths(self) -> Any:
        """Records by shard: int64 [shards]."""
        return np.diff(self.first)

    def locate(self, numbers: Any) -> tuple[Any, Any, Any]:
        """The shard, start and end in bytes of each record: three int64 [n]."""
        shards = np.searchsorted(self.first, numbers, side="right") - 1
        places = numbers + shards
        return shards, self.bounds[places], self.bounds[places + 1]

    def describe(self, number: int) -> str:
        """`record 17 of cells-train.tfrecord-00000-of-00008`, for messages."""
        (shard,), _, _ = self.locate(np.array([number]))
        return f"record {number - self.first[shard]} of {self.shards.source(shard)}"


def read_index(shards: ShardFiles, num_records: int | None = None) -> RecordIndex:
    """The index of a split's shards: from `idx/<shard>.idx`, else from the frames themselves.

    Args:
        shards: The files.
        num_records: What metadata.json states; None for bare files.

    Raises:
        DatasetDamagedError: A shard ends within a record, an .idx file is not that of its
            shard, or the number of records differs.
    """
    numbers = range(len(shards.files))
    listed = {} if shards.compression else _listed_indexes([*map(shards.source, numbers)])
    shards.expect([number for number in numbers if number not in listed])
    with concurrent.futures.ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
        stated = pool.map(
            lambda number: _stated_bounds(shards, number, listed[number]), sorted(listed)
        )
        found = dict(zip(sorted(listed), stated, strict=True))
    by_shard = [found[number] if number in found else bounds(shards, number) for number in numbers]
    lengths = np.array([len(each) - 1 for each in by_shard], np.int64)
    index = RecordIndex(
        shards=shards,
        first=np.concatenate([[0], np.cumsum(lengths)]),
        bounds=np.concatenate([np.zeros(0, np.int64), *by_shard]),
    )
    if num_records is not None and index.num_records != num_records:
        raise DatasetDamagedError(
            f"metadata.json states {num_records} records, but the shards hold "
            f"{index.num_records}; `python -m beam_pipeline verify` names the shards that changed"
        )
    return index


def bounds(shards: ShardFiles, number: int) -> Any:
    """Where each record of a shard starts, and where the last one ends: int64 [n + 1].

    Only the frames' headers are read, which takes microseconds per record; the result is kept
    in the user's cache folder until the file changes.

    Raises:
        DatasetDamagedError: The file ends within a record.
    """
    cached = cached_path("index", shards.identity(number), ".npy")
    if cached.exists():
        return np.load(cached)
    found = np.asarray(_walk(shards.plain_path(number), shards.source(number)), np.int64)
    if len(found) > _WORTH_CACHING:
        # A folder that cannot be written costs time only.
        with (
            contextlib.suppress(OSError),
            written_whole(cached) as partial,
            partial.open("wb") as file,
        ):
            np.save(file, found)
    return found


def _walk(path: str, name: str) -> list[int]:
    size = tf.io.gfile.stat(path).length
    found = [0]
    position = 0
    unpack = struct.Struct("<Q").unpack_from
    with open_ranges(path) as read:
        while position < size:
            header = read(BEFORE_BYTES, position)
            if len(header) == BEFORE_BYTES:
                position += BEFORE_BYTES + unpack(header)[0] + AFTER_BYTES
            if len(header) < BEFORE_BYTES or position > size:
                raise cut_off(name, len(found) - 1)
            found.append(position)
    return found


def cut_off(path: str, count: int) -> DatasetDamagedError:
    """The error for a file whose record `count` is not whole."""
    return DatasetDamagedError(
        f"{path} ends within its record {count}: it is truncated, or not a TFRecord file"
    )


def _listed_indexes(sources: Sequence[str]) -> dict[int, str]:
    """The .idx file by shard, where there is one."""
    folders = {os.path.dirname(source) for source in sources}
    present = {
        folder: storage.files(os.path.join(folder, "idx"))
        for folder in folders
        if not storage.lists_nothing(folder)
    }
    found = {}
    for number, source in enumerate(sources):
        folder, name = os.path.split(source)
        if f"{name}.idx" in present.get(folder, {}):
            found[number] = os.path.join(folder, "idx", f"{name}.idx")
    return found


def _stated_bounds(shards: ShardFiles, number: int, path: str) -> Any:
    """The bounds by an .idx file, "<offset> <size>" a line."""
    text = storage.read_text(path)
    try:
        rows = np.fromstring(text, np.int64, sep=" ").reshape(-1, 2)
    except (ValueError, DeprecationWarning) as error:
        raise DatasetDamagedError(
            f"{path} is not an index, an offset and a size a line ({error}); remove it, or build "
            "the dataset again"
        ) from error
    found = np.concatenate([[0], np.cumsum(rows[:, 1])])
    size = shards.num_bytes(number)
    if found[-1] != size or (rows[:, 0] != found[:-1]).any():
        raise DatasetDamagedError(
            f"{path} is not the index of {shards.source(number)}: by it the shard has "
            f"{found[-1]:,} bytes in a row, but it has {size:,}; run `python -m beam_pipeline "
            "verify`, or remove the .idx file"
        )
    return found
