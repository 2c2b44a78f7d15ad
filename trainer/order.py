"""Order of records as a pure function of (seed, pass over the data), in record numbers.

A record's number is its position in its split, in the order of the shards. A pass permutes *blocks*
of neighbouring records over the whole split, then the records of each *window*, several
consecutive blocks. A record can therefore be anywhere, while the reader still reads neighbours
together. The position of a run is the number of records used; skipped records are neither
computed nor read. TensorFlow's seeds have no influence.

For N records in blocks of B and windows of W, two records of one batch share a batch again in a
later pass 1 + (B - 1) N / W² times as often as by chance; `block_size` keeps that at 1.5. The
positions in two passes correlate by about √(B / N), which it keeps near 0.01.

Shards of a store are copied before they are read, so there a pass permutes the shards and reads
groups of them one after the other: then the above holds for the N records of a group.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

_SMALLEST_BLOCK, _LARGEST_BLOCK = 4, 64
_FEWEST_BLOCKS = 8192
# Minimum number of blocks in a window.
_FEWEST_IN_WINDOW = 16
# A window is read before its first record is used, at the same time as the next one.
_WINDOW_BYTES = (256 << 20, 512 << 20)
_LARGEST_WINDOW = 1 << 16
# All shards of a group are copied before its first record is used.
_GROUP_SHARDS, _GROUP_BYTES = 16, 4 << 30
_UINT64 = (1 << 64) - 1
# The stream of random numbers for the order of the shards, as if of a last group.
_OF_SHARDS = _UINT64


def group_size(shard_bytes: Sequence[int]) -> int:
    """Return the number of shards to copy and read together, for shards of these sizes.

    16; fewer if they could exceed 4 GiB, and more if they were smaller than a window.
    """
    mean = sum(shard_bytes) // max(1, len(shard_bytes))
    most = min(_GROUP_SHARDS, _GROUP_BYTES // max(1, *shard_bytes, 1))
    return max(1, most, -(-_WINDOW_BYTES[0] // max(1, mean)))


def num_groups(num_shards: int, group: int) -> int:
    """Count the groups, of equally many shards up to `group`; 0 for all in one."""
    return max(1, -(-num_shards // group)) if group else 1


def window_size(num_records: int, num_bytes: int) -> int:
    """Return the number of records per window, for records of this mean size.

    Up to 65,536 records and 256 MiB, or 512 MiB if blocks of 4 would not mix well otherwise.
    """
    mean_bytes = max(1, num_bytes // max(1, num_records))
    usual, most = (max(1, num_bytes // mean_bytes) for num_bytes in _WINDOW_BYTES)
    mixes = math.isqrt(2 * (_SMALLEST_BLOCK - 1) * num_records) + 1
    return min(max(usual, min(mixes, most)), _LARGEST_WINDOW)


def block_size(num_records: int, window: int) -> int:
    """Return the number of records per block, 4 to 64, the most that mix well.

    Fewer for small windows, or if one contains all records and blocks do not matter.
    """
    mixes = 1 + window * window // (2 * max(1, num_records))
    largest = min(mixes, num_records // _FEWEST_BLOCKS, _LARGEST_BLOCK)
    smallest = 1 if window >= num_records else min(_SMALLEST_BLOCK, window // _FEWEST_IN_WINDOW)
    return max(1, smallest, largest)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WorkerShare:
    """One worker's part of every global batch, as even as possible in an incomplete last one.

    Attributes:
        worker: Number of the worker, from 0.
        num_workers: Number of workers with equal parts.
        num_replicas: Replicas of each worker, which get its part in equal batches.
        batch_size: Records per global batch, a multiple of the number of all replicas.
        drop_remainder: Whether an incomplete last batch is left out.
    """

    worker: int = 0
    num_workers: int = 1
    num_replicas: int = 1
    batch_size: int = 1
    drop_remainder: bool = False

    @property
    def size(self) -> int:
        """Records per global batch for each replica of this worker."""
        return self.batch_size // (self.num_workers * self.num_replicas)

    def holds(self, positions: Any, total: int) -> Any:
        """Whether each position among the `total` records of a run is in this part."""
        rest = total % self.batch_size
        is_last = positions >= total - rest
        length = np.where(is_last, max(1, rest), self.batch_size)
        is_held = positions % self.batch_size * self.num_workers // length == self.worker
        return is_held & ~is_last if self.drop_remainder else is_held

    def num_held(self, total: int) -> int:
        """Count this part's records among all `total` records of a run."""
        rest = total % self.batch_size
        held_of_rest = int(self.holds(np.arange(rest), rest).sum())
        return total // self.batch_size * self.size * self.num_replicas + held_of_rest


class Order:
    """Order of a split's records, pass after pass; passes count from 0.

    Each pass permutes the shards and reads one group of them after the other; blocks and records
    are permuted within their group. A window belongs to one group.

    Args:
        shard_lengths: Records by shard.
        seed: Seed of the order; None for the order in the files.
        window: Records per window; at most these are read before the first record of a run.
        group: Shards per group; 0 for all.
    """

    def __init__(
        self, shard_lengths: Sequence[int], *, seed: int | None, window: int, group: int = 0
    ) -> None:
        self._lengths = lengths = np.asarray(shard_lengths, np.int64)
        self._firsts = np.cumsum(lengths) - lengths
        self.num_records = int(lengths.sum())
        self._seed = seed
        self._edges = edges_of(len(lengths), num_groups(len(lengths), group))
        groups = len(self._edges) - 1
        self._size = block_size(-(-self.num_records // groups), window)
        largest = int(np.sort(lengths)[-int(np.diff(self._edges).max()) :].sum())
        num_blocks = int(-(-lengths // self._size).sum())
        # The same in each group, so that windows have numbers whatever the order of the shards.
        self.windows_per_group = min(-(-largest // window), num_blocks)
        self.num_windows = groups * self.windows_per_group
        # Windows are read ahead, even into the next pass.
        self._shards_of = functools.lru_cache(2)(self._shuffled_shards)
        self._blocks_of = functools.lru_cache(2)(self._shuffled_blocks)

    def window(self, pass_number: int, number: int) -> tuple[int, Any]:
        """Return window `number` of a pass: its first position in the pass, and its records' keys.

        Returns:
            (position, int64 [records in the window, 2]); a key is (pass, record number).
        """
        group, place = divmod(number, self.windows_per_group)
        blocks = self._blocks_of(pass_number, group)
        chosen = blocks.order[blocks.edges[place] : blocks.edges[place + 1]].astype(np.int64)
        at = np.searchsorted(blocks.before, chosen, side="right") - 1
        shards = blocks.shards[at]
        begins = (chosen - blocks.before[at]) * self._size
        sizes = np.minimum(self._size, self._lengths[shards] - begins)
        ends = np.cumsum(sizes)
        starts = self._firsts[shards] + begins
        records = np.repeat(starts - (ends - sizes), sizes) + np.arange(sizes.sum())
        if self._seed is not None:
            order = permutation(len(records), self._seed, pass_number, place + 1, group)
            records = records[order]
        keys = np.stack([np.full_like(records, pass_number), records], -1)
        return int(blocks.positions[place]), keys

    def find(self, pass_number: int, position: int) -> int:
        """Return the number of the window that contains a position of a pass."""
        _, positions = self._shards_of(pass_number)
        group = int(np.searchsorted(positions, position, side="right")) - 1
        within = self._blocks_of(pass_number, group).positions
        place = int(np.searchsorted(within, position, side="right")) - 1
        return group * self.windows_per_group + place

    def shards(self, pass_number: int, number: int) -> Any:
        """Return the shards of the group of window `number` of a pass: int64 [n]."""
        order, _ = self._shards_of(pass_number)
        group = number // self.windows_per_group
        return order[self._edges[group] : self._edges[group + 1]]

    def _shuffled_shards(self, pass_number: int) -> tuple[Any, Any]:
        """Return the shards of a pass in order, and the position of each group."""
        order = np.arange(len(self._lengths))
        if self._seed is not None and len(self._edges) > 2:
            order = permutation(len(order), self._seed, pass_number, 0, _OF_SHARDS)
        ends = np.concatenate([[0], np.cumsum(self._lengths[order])])
        return order, ends[self._edges[:-1]]

    def _shuffled_blocks(self, pass_number: int, group: int) -> "_Blocks":
        order, positions = self._shards_of(pass_number)
        shards = order[self._edges[group] : self._edges[group + 1]]
        lengths = self._lengths[shards]
        ends = np.cumsum(-(-lengths // self._size))
        num_blocks = int(ends[-1]) if len(ends) else 0
        blocks = np.arange(num_blocks, dtype=np.uint32)
        if self._seed is not None:
            blocks = permutation(num_blocks, self._seed, pass_number, 0, group).astype(np.uint32)
        edges = edges_of(num_blocks, self.windows_per_group)
        missing = np.zeros(num_blocks, np.uint8)  # in the last block of a shard, to its full size
        missing[ends[lengths > 0] - 1] = (-lengths % self._size)[lengths > 0]
        short = [missing[blocks[slice(*each)]].sum() for each in itertools.pairwise(edges)]
        sizes = np.diff(edges) * self._size - np.array(short, np.int64)
        return _Blocks(
            shards=shards,
            before=np.concatenate([[0], ends]),
            order=blocks,
            edges=edges,
            positions=positions[group] + np.cumsum(sizes) - sizes,
        )


class _Blocks(NamedTuple):
    """Blocks of a group in one pass, cut into windows."""

    shards: Any  # int64 [shards]
    before: Any  # int64 [shards + 1]: number of each shard's first block, and their total
    order: Any  # uint32 [blocks]: blocks as permuted
    edges: Any  # int64 [windows + 1]: where each window begins in `order`
    positions: Any  # int64 [windows]: position of each window in the pass


def edges_of(count: int, parts: int) -> Any:
    """Cut a number of things into parts that differ by one at most: int64 [parts + 1]."""
    return np.arange(parts + 1) * count // max(1, parts)


def permutation(size: int, seed: int, key: int, stream: int, group: int = 0) -> Any:
    """Draw a permutation that is the same on every machine and with every release of NumPy.

    NumPy keeps raw random numbers stable, unlike `Generator.permutation`.
    """
    numbers = np.random.Philox(
        key=np.array([seed & _UINT64, key], np.uint64),
        counter=np.array([0, 0, group, stream], np.uint64),
    )
    return np.argsort(numbers.random_raw(size), kind="stable")
