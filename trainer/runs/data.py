"""What must not change while a run goes on: its data, and the order of its records."""

import hashlib
import os
from typing import Any

from tfrecord_dataset.format.frames import FOOTER_BYTES
from tfrecord_dataset.records.index import RecordIndex
from tfrecord_dataset.store.urls import unsigned
from trainer.dataset import Dataset
from trainer.records.order import window_size
from trainer.runs.record import Order


def describe_data(dataset: Dataset, split: str) -> dict[str, Any]:
    """The identity of a split, for `config.check_same_data`."""
    chosen = dataset.split(split)
    index = dataset.index(split)
    digests = chosen.sha256 or [_digest(index, shard) for shard in range(len(chosen.files))]
    names = (os.path.basename(unsigned(file)) for file in chosen.files)
    return {
        "train split": split,
        "number of training records": index.num_records,
        "fingerprint": dataset.fingerprint,
        "shards": dict(zip(names, digests, strict=True)),
    }


def order_of(dataset: Dataset, split: str) -> Order:
    """What decides the order besides the seed."""
    index = dataset.index(split)
    return Order(window=window_size(index.num_records, index.num_bytes))


def _digest(index: RecordIndex, shard: int) -> str:
    """Of a bare file: the sha256 of its records' checksums, of which few bytes are read."""
    if index.shards.files.is_remote:
        return index.shards.files.identity(shard)
    ends = index.bounds_of(shard)[1:].tolist()
    if not ends:
        return ""
    digest = hashlib.sha256()
    with index.shards.plain.open(shard) as read:
        for end in ends:
            digest.update(read(FOOTER_BYTES, end - FOOTER_BYTES))
    return digest.hexdigest()
