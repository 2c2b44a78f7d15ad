"""Order of records as a pure function of (seed, pass over the data), in record numbers.

A record's number is its position in its split, in the order of the shards. A pass permutes *blocks*
of neighbouring records over the whole split, then the records of each *window*, several
consecutive blocks. A record can therefore be anywhere, while the reader still reads neighbours
together. The position of a run is the number of records used; skipped records are neither
computed nor read. TensorFlow's seeds have no influence.

For N records in blocks of B and windows of W, two records of one batch share a batch again in a
later pass 1 + (B - 1) N / W² times as often as by chance; `block_size` keeps that at 1.5. The
positions in two passes correlate by about √(B / N), which it keeps near 0.01.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

_SMALLEST_BLOCK, _LARGEST_BLOCK = 4, 64
_FEWEST_BLOCKS = 8192
# Minimum number of blocks in a window.
_FEWEST_IN_WINDOW = 16
# A window is read before its first record is used, at the same time as the next one.
_WINDOW_BYTES = (256 << 20, 512 << 20)
_LARGEST_WINDOW = 1 << 16
_UINT64 = (1 << 64) - 1


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
class Share:
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

    Args:
        shard_lengths: Records by shard.
        seed: Seed of the order; None for the order in the files.
        window: Records per window; at most these are read before the first record of a run.
    """

    def __init__(self, shard_lengths: Sequence[int], *, seed: int | None, window: int) -> None:
        lengths = np.asarray(shard_lengths, np.int64)
        self.num_records = int(lengths.sum())
        self._seed = seed
        size = block_size(self.num_records, window)
        in_shard = -(-lengths // size)  # blocks per shard
        before = np.cumsum(in_shard) - in_shard
        place = np.arange(in_shard.sum()) - np.repeat(before, in_shard)
        self._starts = np.repeat(np.cumsum(lengths) - lengths, in_shard) + place * size
        self._sizes = np.minimum(size, np.repeat(lengths, in_shard) - place * size)
        self.num_windows = min(-(-self.num_records // window), len(self._starts))
        self._edges = (
            np.arange(self.num_windows + 1) * len(self._starts) // max(1, self.num_windows)
        )
        self._passes: dict[int, tuple[Any, Any]] = {}

    def window(self, pass_number: int, number: int) -> tuple[int, Any]:
        """Return window `number` of a pass: its first position in the pass, and its records' keys.

        Returns:
            (position, int64 [records in the window, 2]); a key is (pass, record number).
        """
        blocks, positions = self._pass(pass_number)
        chosen = blocks[self._edges[number] : self._edges[number + 1]]
        sizes = self._sizes[chosen]
        ends = np.cumsum(sizes)
        records = np.repeat(self._starts[chosen] - (ends - sizes), sizes) + np.arange(sizes.sum())
        if self._seed is not None:
            records = records[permutation(len(records), self._seed, pass_number, number + 1)]
        return int(positions[number]), np.stack([np.full_like(records, pass_number), records], -1)

    def find(self, pass_number: int, position: int) -> int:
        """Return the number of the window that contains a position of a pass."""
        _, positions = self._pass(pass_number)
        return int(np.searchsorted(positions, position, side="right")) - 1

    def _pass(self, number: int) -> tuple[Any, Any]:
        """Return the blocks of a pass in order, and the position of each window."""
        known = self._passes.get(number)
        if known is None:
            count = len(self._starts)
            blocks = (
                np.arange(count)
                if self._seed is None
                else permutation(count, self._seed, number, 0)
            )
            positions = np.concatenate([[0], np.cumsum(self._sizes[blocks])])[self._edges[:-1]]
            known = (blocks, positions)
            # Windows are read ahead, even into the next pass.
            self._passes = {**dict(list(self._passes.items())[-1:]), number: known}
        return known


def permutation(size: int, seed: int, key: int, stream: int) -> Any:
    """Draw a permutation that is the same on every machine and with every release of NumPy.

    NumPy keeps raw random numbers stable, unlike `Generator.permutation`.
    """
    numbers = np.random.Philox(
        key=np.array([seed & _UINT64, key], np.uint64),
        counter=np.array([0, 0, 0, stream], np.uint64),
    )
    return np.argsort(numbers.random_raw(size), kind="stable")
