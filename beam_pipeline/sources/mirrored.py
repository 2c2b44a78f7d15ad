"""Which point of a body is which in a mirror, as the names of points tell."""

import re
from collections.abc import Sequence

_SIDE = re.compile(r"left|right|(?<![a-z])[lr](?![a-z])", re.IGNORECASE)
_OTHER = {"left": "right", "right": "left", "l": "r", "r": "l"}


def mirrored(names: Sequence[str]) -> tuple[int, ...]:
    """For each point the number of the one that it is in a mirror: of left_eye, right_eye's.

    Points without a side, or whose other side has no name, stay what they are.
    """
    numbers = {name.lower(): number for number, name in enumerate(names)}
    others = (_SIDE.sub(lambda side: _OTHER[side[0].lower()], name.lower()) for name in names)
    flips = tuple(numbers.get(other, number) for number, other in enumerate(others))
    return flips if sorted(flips) == list(range(len(names))) else tuple(range(len(names)))
