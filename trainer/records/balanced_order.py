"""Order with equally frequent classes, as a pure function of the position in the run.

Positions are grouped into *rounds* with one record per class. A round permutes the classes; a
class yields its records one after the other, permuted again after each *turn* through all. So the
record at a position needs no state, and a run's position is still the number of records used.
"""

from typing import Any

import numpy as np

from trainer.records.order import philox

# Permutations of few items are drawn together, up to this many items at once.
_ITEMS_AT_ONCE = 1024
# First numbers of the random streams; `order.Order` uses passes, from 0.
_ROUNDS, _TURNS = 1 << 62, 1 << 63


class BalancedOrder:
    """Order of a split's records, pass after pass, each as long as the split.

    Args:
        classes: int64 [records]: the class of each record.
        seed: Seed of the order.
        window: Records per window.
    """

    def __init__(self, classes: Any, *, seed: int, window: int) -> None:
        self.num_records = len(classes)
        self.num_windows = -(-self.num_records // window)
        self._seed = seed
        self._window = window
        by_class = np.argsort(classes, kind="stable")
        counts = np.unique(classes, return_counts=True)[1]
        self._records = np.split(by_class, np.cumsum(counts)[:-1])
        self._drawn: dict[int, tuple[int, Any]] = {}

    def window(self, pass_number: int, number: int) -> tuple[int, Any]:
        """Return window `number` of a pass: its first position in the pass, and its records' keys.

        Returns:
            (position, int64 [records in the window, 2]); a key is (turn of the record's class,
                record number), which is unique.
        """
        start = number * self._window
        stop = min(start + self._window, self.num_records)
        positions = pass_number * self.num_records + np.arange(start, stop)
        rounds, places = np.divmod(positions, len(self._records))
        classes = self._permuted(_ROUNDS, len(self._records), rounds, places)
        keys = np.empty((len(positions), 2), np.int64)
        for each in np.unique(classes):
            here, records = classes == each, self._records[each]
            turns, at = np.divmod(rounds[here], len(records))
            keys[here, 0] = turns
            keys[here, 1] = records[self._permuted(_TURNS + int(each), len(records), turns, at)]
        return start, keys

    def find(self, pass_number: int, position: int) -> int:
        """Return the number of the window with a position in a pass."""
        del pass_number
        return position // self._window

    def _permuted(self, stream: int, size: int, numbers: Any, places: Any) -> Any:
        """Return the items at some indices, int64 [n], of permutations by number, ascending [n]."""
        at_once = max(1, _ITEMS_AT_ONCE // size)
        parts = numbers // at_once
        found = np.empty(len(numbers), np.int64)
        for part in np.unique(parts):
            here = slice(np.searchsorted(parts, part), np.searchsorted(parts, part, "right"))
            number, drawn = self._drawn.get(stream, (-1, None))
            if number != part:
                raw = philox(self._seed, stream, int(part)).random_raw(at_once * size)
                drawn = np.argsort(raw.reshape(at_once, size), axis=1, kind="stable")
                self._drawn[stream] = (int(part), drawn)
            found[here] = drawn[numbers[here] % at_once, places[here]]
        return found
