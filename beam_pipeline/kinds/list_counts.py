"""What is counted of the lists of one key in existing Examples."""

import dataclasses
from typing import Self


@dataclasses.dataclass(slots=True, kw_only=True)
class ListCounts:
    """What is counted of the lists of one key in existing Examples.

    Attributes:
        lengths: (shortest, longest) in values; None without lists.
        fours: Whether all lengths are multiples of 4.
        characters: (fewest, most) of its texts; None without texts.
        has_classes: Whether some number may be a class.
    """

    lengths: tuple[int, int] | None = None
    fours: bool = True
    characters: tuple[int, int] | None = None
    has_classes: bool = False

    def add(self, length: int) -> None:
        """Adds a list of so many values."""
        if self.lengths != (length, length):
            self.lengths = _span(self.lengths, (length, length))
        self.fours &= length % 4 == 0

    def add_characters(self, number: int) -> None:
        """Adds a text."""
        self.characters = _span(self.characters, (number, number))

    def merge(self, other: Self) -> None:
        """Adds all of `other`."""
        self.lengths = _span(self.lengths, other.lengths)
        self.fours &= other.fours
        self.characters = _span(self.characters, other.characters)
        self.has_classes |= other.has_classes


def _span(one: tuple[int, int] | None, other: tuple[int, int] | None) -> tuple[int, int] | None:
    if one is None or other is None:
        return one or other
    return min(one[0], other[0]), max(one[1], other[1])
