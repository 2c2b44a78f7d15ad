"""Choice of the records that a training holds out, by the hashes of what they are."""

from typing import Any

import numpy as np

from trainer.errors import ConfigError

# Hashes looked up at once, which fit the processor's cache, as do tables of so many bits.
_BLOCK, _MOST_BITS = 1 << 16, 22


def draw_held_out(identities: Any, share: float, fold: int = 0, rare: Any = None) -> Any:
    """Return the numbers of the records to hold out, ascending, int64 [n], close to `share`.

    Equal identities stay together. The choice depends only on the identities: if records are added,
    all others keep their side, except a few at the edge.

    Args:
        identities: Hash of each record's group or content, uint64 [records].
        share: Share of the records, between 0 and 1.
        fold: Which share by ascending hashes; all folds together have each record once.
        rare: Number of each record's rare class, int [records], -1 for none. Both sides get at
            least one identity of each that has two. None for no rare classes.

    Raises:
        ConfigError: All records are in one group, or there are fewer groups than folds.
    """
    edges = (share * (fold + 1), share * fold)
    chosen = _between(identities, edges) if rare is None else _of_rare(identities, rare, edges)
    if not chosen.any():
        raise ConfigError(
            f"--folds needs a group of records for each fold, and fold {fold + 1} has none; give "
            "fewer"
        )
    return np.flatnonzero(chosen).astype(np.int64)


def _of_rare(identities: Any, rare: Any, edges: tuple[float, float]) -> Any:
    """Return whether each record is between two shares of its class, bool [records].

    The records of no rare class are one class; an identity belongs to the rarest of its records.
    """
    rows = np.flatnonzero(rare >= 0)
    sizes = np.bincount(rare[rows])
    rows = rows[np.lexsort((rare[rows], sizes[rare[rows]]))]  # the rarest first
    known, places = np.unique(identities[rows], return_index=True)
    classes = rare[rows][places]
    order = np.argsort(classes, kind="stable")  # within a class by identity
    sizes = np.bincount(classes)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    most, least = (_edge(sizes[classes], share) for share in edges)
    is_held = (ranks < most) & (ranks >= least)

    rows, at = _lookup(known, identities)
    chosen, is_other = np.zeros(len(identities), bool), np.ones(len(identities), bool)
    chosen[rows] = is_held[at]
    is_other[rows] = False
    others = identities[is_other]
    if len(others) and others.min() < others.max():
        chosen[is_other] = _between(others, edges)
    return chosen


def _lookup(known: Any, identities: Any) -> tuple[Any, Any]:
    """Return the rows whose identity is in ascending `known`, and its place there: two int64 [n].

    A table of the last bits leaves few rows to search for.
    """
    bits = np.uint64((1 << min((16 * len(known) | _BLOCK).bit_length(), _MOST_BITS)) - 1)
    is_likely = np.zeros(int(bits) + 1, bool)
    is_likely[known & bits] = True
    rows = np.concatenate(
        [
            first + np.flatnonzero(is_likely[identities[first : first + _BLOCK] & bits])
            for first in range(0, len(identities), _BLOCK)
        ]
    )
    at = np.minimum(np.searchsorted(known, identities[rows]), len(known) - 1)
    is_known = known[at] == identities[rows]
    return rows[is_known], at[is_known]


def _between(identities: Any, edges: tuple[float, float]) -> Any:
    """Return whether each record is between two shares by ascending hashes, bool [records]."""
    most, least = (_first(identities, share) for share in edges)
    return most & ~least


def _edge(sizes: Any, share: float) -> Any:
    """Return the number of identities in a share of each size; both parts of two have one."""
    counts = np.round(share * sizes, 6)
    inner = np.clip(np.rint(counts), 1, sizes - 1)
    return np.where((counts > 0) & (counts < sizes), inner, np.where(counts > 0, sizes, 0))


def _first(identities: Any, share: float) -> Any:
    """Return whether each record is in the share with the least identities, bool [records]."""
    count = round(share * len(identities), 6)  # three thirds are all
    if not 0 < count < len(identities):
        return np.full(len(identities), count > 0)
    edge = np.partition(identities, int(count))[int(count)]
    parts = [identities < edge, identities <= edge]
    for part in sorted(parts, key=lambda part: abs(np.count_nonzero(part) - count)):
        if 0 < np.count_nonzero(part) < len(identities):
            return part
    raise ConfigError(
        "--validation-share cannot divide the train split, as its records are one group; "
        "choose another split with --validation-split, or none"
    )
