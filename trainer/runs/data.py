"""What must not change while a run goes on: its data, and the order of its records."""

import hashlib
import os
from typing import Any

import numpy as np

from trainer.dataset import Dataset
from trainer.records.index import AFTER_BYTES, RecordIndex
from trainer.records.order import window_size


def describe_data(dataset: Dataset, split: str) -> dict[str, Any]:
    """The identity of a split, for `config.check_same_data`."""
    chosen = dataset.split(split)
    index = dataset.index(split)
    digests = chosen.sha256 or [_digest(index, shard) for shard in range(len(chosen.files))]
    names = [os.path.basename(index.shards.source(shard)) for shard in range(len(chosen.files))]
    return {
        "train split": split,
        "number of training records": index.num_records,
        "fingerprint": dataset.fingerprint,
        "shards": dict(zip(names, digests, strict=True)),
    }


def describe_order(dataset: Dataset, split: str) -> dict[str, Any]:
    """What decides the order besides the seed."""
    index = dataset.index(split)
    return {"window": window_size(index.num_records, index.num_bytes)}


def _digest(index: RecordIndex, shard: int) -> str:
    """Of a bare file: the sha256 of its records' checksums, of which few bytes are read."""
    if index.shards.fetcher is not None:
        return index.shards.identity(shard)
    first, after = int(index.first[shard]), int(index.first[shard + 1])
    ends = index.bounds[first + shard + 1 : after + shard + 1]
    if not len(ends):
        return ""
    content = np.memmap(index.shards.plain_path(shard), np.uint8, mode="r")
    checksums = content[ends[:, None] - AFTER_BYTES + np.arange(AFTER_BYTES)]
    return hashlib.sha256(checksums.tobytes()).hexdigest()
