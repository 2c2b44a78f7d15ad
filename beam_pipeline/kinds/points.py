"""Names of keypoints: their order, and their mirror images."""

import re
from collections.abc import Iterable, Sequence

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.frame import MALFORMED
from beam_pipeline.kinds.label import as_number

# Limit of names in a dataset, and of names times objects in an image.
MOST_NAMES = 1000
MOST_POINTS = 1_000_000

_DIGITS = re.compile("([0-9]+)")
_SIDE = re.compile(r"left|right|(?<![a-z])[lr](?![a-z])", re.IGNORECASE)
_OTHER = {"left": "right", "right": "left", "l": "r", "r": "l"}


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Sort names, with numbers by value: "tip 2" comes before "tip 10"."""
    return tuple(sorted(set(names), key=_parts))


def _parts(name: str) -> list[object]:
    return [as_number(each) if at % 2 else each for at, each in enumerate(_DIGITS.split(name))]


def check_points(num_objects: int, names: Sequence[str]) -> None:
    """Raise RecordError for an implausible number of points, before they are created."""
    if len(names) > MOST_NAMES or num_objects * len(names) > MOST_POINTS:
        raise RecordError(
            MALFORMED, f"{len(names):,} names of keypoints in {num_objects:,} objects, too many"
        )


def aligned(
    points: tuple[tuple[float, ...], ...], names: tuple[str, ...], order: tuple[str, ...]
) -> tuple[tuple[float, ...], ...]:
    """Reorder rows of triples from `names` to `order`; missing points are three zeros."""
    if names == order:
        return points
    if len({*names}) < len(names) or any(len(row) not in (0, 3 * len(names)) for row in points):
        raise RecordError(
            MALFORMED,
            f"keypoints {', '.join(names[:20])}, where other records name others: each object "
            "needs one point of each name",
        )
    check_points(len(points), order)
    place = {name: 3 * number for number, name in enumerate(names)}
    places = [place.get(name) for name in order]
    absent = (0.0, 0.0, 0.0)
    return tuple(
        tuple(
            each
            for at in (places if row else ())
            for each in (absent if at is None else row[at : at + 3])
        )
        for row in points
    )


def mirrored(names: Sequence[str]) -> tuple[int, ...]:
    """Return the index of each point's mirror image: that of right_eye for left_eye.

    Points without a side, or without a counterpart, keep their own index.
    """
    numbers = {name.lower(): number for number, name in enumerate(names)}
    others = (_SIDE.sub(lambda side: _OTHER[side[0].lower()], name.lower()) for name in names)
    flips = tuple(numbers.get(other, number) for number, other in enumerate(others))
    return flips if sorted(flips) == list(range(len(names))) else tuple(range(len(names)))
