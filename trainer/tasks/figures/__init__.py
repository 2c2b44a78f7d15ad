"""What a whole split tells of a model: metrics, figures for a report, records to look at."""

import abc
import dataclasses
import heapq
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Arrays = Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """What is drawn on an image.

    Attributes:
        boxes: Each with "label", its number; "text", shown beside it; and "box", its xmin, ymin,
            xmax, ymax in 0..1 of the image. The first is drawn on top.
        classes: Of the pixels, uint8 [height, width] of any size; or None.
    """

    boxes: Sequence[Mapping[str, Any]] = ()
    classes: Any = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A record to look at.

    Attributes:
        number: Of the record in its split, from 0.
        text: What it is, and what is predicted for it.
        overlays: What is drawn on its image, by what that shows; the image alone if there are none.
    """

    number: int
    text: str
    overlays: Mapping[str, Overlay] = dataclasses.field(default_factory=dict)


class Accumulator(abc.ABC):
    """A metric over a whole split that is more than a mean over its records, on the host.

    It sees every record once, batch after batch.

    Attributes:
        seen: Records so far, where their numbers matter.
    """

    seen: int = 0

    @abc.abstractmethod
    def update(self, target: Any, predictions: Arrays) -> None:
        """Adds a batch of records.

        Args:
            target: What the target's `host_step` returned: NumPy arrays, [b, …] each.
            predictions: What the target's `predict` returned, likewise.
        """

    def result(self) -> dict[str, float]:
        """The metrics by name, over all records so far; none where it is for the report alone."""
        return {}

    def figures(self) -> dict[str, Any]:
        """What the report's template draws, by the name of the section; after `result`."""
        return {}

    def examples(self) -> list[Example]:
        """Records to look at, the worst first."""
        return []


class Worst:
    """Keeps the records with the highest badness, of any number."""

    def __init__(self, most: int = 12) -> None:
        self._most = most
        self._kept: list[tuple[float, int, Any]] = []
        self._order = itertools.count()

    def takes(self, badness: float) -> bool:
        """Whether a record this bad would be kept."""
        return len(self._kept) < self._most or badness > self._kept[0][0]

    def add(self, badness: float, number: int, *facts: Any) -> None:
        """Takes a record of a number, with what is known of it, and lets the least bad go."""
        if self.takes(badness):
            entry = (badness, -next(self._order), (number, *facts))
            (heapq.heappush if len(self._kept) < self._most else heapq.heapreplace)(
                self._kept, entry
            )

    def __iter__(self) -> Iterator[Any]:
        """(number, *facts) of each, the worst first."""
        ordered = sorted(self._kept, reverse=True, key=lambda each: each[:2])
        return (record for _, _, record in ordered)
