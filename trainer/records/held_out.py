"""Holds out a share of a split for validation: the records with the lowest hashes."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfrecord_dataset.records.contents import Split
from trainer.errors import ConfigError


def draw(identities: Sequence[bytes], share: float) -> Any:
    """Return the numbers of the records to hold out, ascending, int64 [n], close to `share`.

    Equal identities stay together. The choice depends only on the identities: if records are added,
    all others keep their side, except a few at the edge.

    Args:
        identities: Identities of the records by number: a group, or a digest of the content.
        share: Share of the records, between 0 and 1.

    Raises:
        ConfigError: All records are in one group.
    """
    distinct, group = np.unique(np.array(identities, object), return_inverse=True)
    if len(distinct) < 2:
        raise ConfigError(
            "--validation-share cannot divide the train split, as its records are one group; "
            "choose another split with --validation-split, or none"
        )
    hashes = [hashlib.blake2b(each, digest_size=8).digest() for each in distinct.tolist()]
    order = np.argsort(np.array(hashes, object), kind="stable")
    sizes = np.cumsum(np.bincount(group)[order])[:-1]  # leaves one group to train on
    count = 1 + int(np.argmin(np.abs(sizes - share * len(identities))))
    return np.flatnonzero(np.isin(group, order[:count])).astype(np.int64)


def identities(split: Split, group_by: str) -> list[bytes]:
    """Return the identities of a split's records, by record number.

    They are the groups by which the dataset was split, else the digests of images and audio in the
    index, else the checksums of the records.

    Args:
        split: A split with all of its records.
        group_by: Column, or level of the key, as in `build --group-by`; "" for none.

    Raises:
        ConfigError: The index has no groups.
    """
    if (known := split.row_identities(group_by)) is not None:
        return known
    if group_by:
        raise ConfigError(
            f"--validation-share: the dataset keeps groups of {group_by!r} together, but its index "
            "does not contain them; choose another split with --validation-split, or none"
        )
    index = split.index()
    return [checksum for shard in range(len(split.files)) for checksum in index.checksums(shard)]
