"""Samples records of each split by seed, and finds records by the index."""

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow

from beam_pipeline.dataset.shards import read_frames
from beam_pipeline.describe.index import column
from beam_pipeline.files import storage
from tfrecord_dataset.errors import BeamTFRecordsError
from tfrecord_dataset.format.example import lists
from tfrecord_dataset.format.feature_keys import specs_to_read
from tfrecord_dataset.records.contents import Contents, Split
from tfrecord_dataset.records.reader import RecordReader
from tfrecord_dataset.values import numpy_values

# Neighbouring records, read together.
_BLOCK = 10
# Rows of the index to search.
_MOST_ROWS = 1_000_000
# Limits of a sample, of all splits.
_MOST_RECORDS, _MOST_BYTES = 1_000, 32 << 20
# Limits of the first records; those of a split end with the first one over its share.
_FIRST_RECORDS, _FIRST_BYTES = 60, 8 << 20


class Sampled(NamedTuple):
    """One record: values by feature, media still encoded, and lists by key as `show` has them."""

    split: str
    number: int
    values: Mapping[str, Any]
    example: Mapping[str, Sequence[Any]]


def sample(dataset: Contents, *, seed: int) -> list[Sampled]:
    """Sample records of all splits, more from larger splits, and fewer if records are large."""
    sizes = {split: dataset.num_records(split) for split in dataset.splits}
    total = sum(sizes.values())
    num_bytes = sum(split.num_bytes or 0 for split in dataset.splits.values())
    most = _MOST_RECORDS
    if num_bytes:
        most = min(most, max(60, _MOST_BYTES * total // num_bytes))
    sampled_records = []
    for split, size in sizes.items():
        share = min(size, max(min(20, most), most * size // max(1, total)))
        sampled_records += read(dataset, split, _blocks(size, share, seed))
    return sampled_records


def first_records(dataset: Contents) -> list[Sampled]:
    """Take the first records of all splits: a sample, since a build has shuffled them.

    Reads the start of each split's first shard once, also from compressed shards and on a store,
    without the index, however large the dataset is.
    """
    total = sum(dataset.num_records(split) for split in dataset.splits)
    sampled_records = []
    for name, split in dataset.splits.items():
        left = _FIRST_BYTES // len(dataset.splits)
        count = -(-_FIRST_RECORDS * dataset.num_records(name) // max(1, total))
        frames = itertools.islice(_frames(dataset.path, split), count)
        for number, frame in enumerate(frames):
            if left <= 0:
                break
            left -= len(frame)
            sampled_records.append(sampled(dataset, name, number, frame))
    return sampled_records


def _frames(directory: str, split: Split) -> Iterator[bytes]:
    for path in split.files:
        file = storage.join(directory, path.rpartition("/")[2])
        for frame in read_frames(file, bool(split.compression)):
            yield frame.payload


def _blocks(size: int, share: int, seed: int) -> list[int]:
    """Choose about this many numbers below `size`, in blocks of neighbours."""
    if share >= size:
        return list(range(size))
    blocks = -(-size // _BLOCK)
    chosen = np.random.default_rng(seed).choice(blocks, -(-share // _BLOCK), replace=False)
    numbers = (np.sort(chosen)[:, None] * _BLOCK + np.arange(_BLOCK)).reshape(-1)
    return [int(number) for number in numbers if number < size]


def read(dataset: Contents, split: str, numbers: Sequence[int]) -> list[Sampled]:
    """Read the records of these numbers."""
    if not numbers:
        return []
    reader = RecordReader(dataset.index(split))
    serialized = reader.read(np.array(numbers, np.int64))
    return [
        sampled(dataset, split, number, each)
        for number, each in zip(numbers, serialized, strict=True)
    ]


def sampled(dataset: Contents, split: str, number: int, serialized: bytes) -> Sampled:
    """Parse a record from its Example, without the keys of features that the page leaves out."""
    is_whole = len(dataset.facts.get("features", ())) <= len(dataset.features)
    shown = itertools.chain.from_iterable(map(specs_to_read, dataset.features.values()))
    example = lists(serialized, None if is_whole else shown)
    values: dict[str, Any] = {}
    for feature in dataset.features.values():
        values |= numpy_values(feature, example, specs_to_read(feature), decode=False)
    by_key = {key: list(some) for key, (_, some) in sorted(example.items())}
    return Sampled(split, number, values, by_key)


def of_keys(dataset: Contents, keys: Collection[str]) -> dict[str, Sampled]:
    """Find records by key in the index; empty without an index."""
    found: dict[str, Sampled] = {}
    for split in dataset.splits.values() if keys else ():
        rows = itertools.islice(_keys(split), _MOST_ROWS)
        wanted = {number: key for number, key in enumerate(rows) if key in keys}
        found |= zip(wanted.values(), read(dataset, split.name, list(wanted)), strict=True)
    return found


def _keys(split: Split) -> Iterator[str]:
    """Yield the keys in the index of a split's records."""
    for shard in range(len(split.files)):
        try:
            if (rows := split.read_rows(shard)) is not None:
                yield from column(rows, "key")
        except (BeamTFRecordsError, pyarrow.ArrowException, OSError):
            return  # verify reports damage
