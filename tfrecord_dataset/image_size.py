"""Image size with a fixed order of dimensions."""

import numbers
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, Self


class ImageSize(NamedTuple):
    """The size of an image in pixels: height first, as in array shapes.

    Texts have the width first, as is common: `640x480`.
    """

    height: int
    width: int

    def __str__(self) -> str:
        return f"{self.width}x{self.height}"

    def __reduce__(self) -> tuple[type, tuple[int, ...]]:
        """Pickle faster: it takes half the time, with every record."""
        return ImageSize, tuple(self)

    def turned(self, orientation: int) -> "ImageSize":
        """Return the size before or after an EXIF orientation is applied."""
        return self if orientation < 5 else ImageSize(self.width, self.height)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a side, `64`, or width and height, `640x480`.

        Raises:
            ValueError: The text is neither.
        """
        match = re.fullmatch(r"(\d+)(?:x(\d+))?", text.strip().lower())
        size = cls(int(match[2] or match[1]), int(match[1])) if match else cls(0, 0)
        if min(size) < 1:
            raise ValueError("cannot be read; give a side (64) or WIDTHxHEIGHT (640x480)")
        return size

    @classmethod
    def of(cls, value: Any) -> Self:
        """Make a size from a side, or from (height, width).

        Raises:
            ValueError: The value is neither.
        """
        is_pair = isinstance(value, Sequence) and not isinstance(value, str | bytes)
        sides = tuple(value) if is_pair else (value, value)
        are_whole = all(isinstance(side, numbers.Integral) for side in sides)
        if len(sides) != 2 or not are_whole or any(side is True or side < 1 for side in sides):
            raise ValueError("is not a size: give a side in pixels (64), or (height, width)")
        return cls(int(sides[0]), int(sides[1]))
