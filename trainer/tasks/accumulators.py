"""Metrics over a whole split, which are more than means over its records."""

from collections.abc import Mapping
from typing import Any, Protocol, Self

Arrays = Mapping[str, Any]


class Accumulator(Protocol):
    """A metric that sees every record once, batch after batch, on the host."""

    def update(self, target: Any, predictions: Arrays) -> None:
        """Adds a batch of records.

        Args:
            target: What the target's `host_step` returned: NumPy arrays, [b, …] each.
            predictions: What the target's `predict` returned, likewise.
        """

    def merge(self, other: Self) -> None:
        """Adds the records of another accumulator, which saw other records."""

    def result(self) -> dict[str, float]:
        """The metrics by name, over all records so far."""
