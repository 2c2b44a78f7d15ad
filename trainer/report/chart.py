"""Line charts as coordinates of an SVG."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from tfrecord_dataset.shown_text import number_text

Points = Sequence[tuple[float, float]]

WIDTH, HEIGHT = 300, 110
_MOST_POINTS = 300
# Beyond these, axis arithmetic overflows or underflows.
_LARGEST, _SMALLEST_STEP = 1e300, 1e-300


def chart(
    title: str,
    lines: Mapping[str, Points],
    mark: float | None = None,
    bounds: tuple[float, float, float, float] | None = None,
    *,
    whole: bool = False,
) -> dict[str, Any]:
    """Prepare a chart for the template, without lines if there are no points.

    Args:
        title: Title of the chart.
        lines: Points (x, y) by line name; points beyond 1e300 or not finite are left out.
        mark: The x of a vertical line.
        bounds: (least x, most x, least y, most y); None for those of the points.
        whole: Whether x has whole numbers, such as epochs.
    """
    kept = {
        name: thinned([each for each in points if all(abs(value) <= _LARGEST for value in each)])
        for name, points in lines.items()
    }
    kept = {name: points for name, points in kept.items() if points}
    every = [point for points in kept.values() for point in points]
    if not every:
        return {"title": title, "lines": [], "mark": None, "x": (), "y": ()}
    left, right, low, high = bounds or (
        *(change(x for x, _ in every) for change in (min, max)),
        *_rounded(*(change(y for _, y in every) for change in (min, max))),
    )

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - left) / (right - left) if right > left else 0.5
        up = (y - low) / (high - low) if high > low else 0.5
        return round(WIDTH * across, 1), round(HEIGHT * (1 - up), 1)

    return {
        "title": title,
        "lines": [
            {
                "name": name,
                "points": " ".join(f"{x:g},{y:g}" for x, y in (place(*each) for each in points)),
                "dots": [
                    {
                        "at": place(*each),
                        "text": f"{name}: {number_text(each[1])} at {number_text(each[0])}",
                    }
                    for each in (points if len(points) <= WIDTH // 10 else [])
                ],
            }
            for name, points in kept.items()
        ],
        "mark": None if mark is None else place(mark, low)[0],
        "x": [(place(x, low)[0], number_text(x)) for x in ticks(left, right, whole=whole)],
        "y": [(place(left, y)[1], number_text(y)) for y in ticks(low, high)],
    }


def ticks(low: float, high: float, *, whole: bool = False) -> list[float]:
    """Return at most six round numbers in a range, equally spaced."""
    step = max(1.0, _step(low, high)) if whole else _step(low, high)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def _step(low: float, high: float) -> float:
    """Return the tick distance: 1, 2 or 5 times a power of ten, at least a fifth of the range."""
    least = max((high - low) / 5 or abs(high) / 5 or 1.0, _SMALLEST_STEP)
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * each for each in (1, 2, 5, 10) if power * each >= least * (1 - 1e-9))


def _rounded(low: float, high: float) -> tuple[float, float]:
    """Widen a range to end at ticks."""
    step = _step(low, high)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return (first - (first == last)) * step, last * step


def thinned(points: Points, most: int = _MOST_POINTS) -> Points:
    """Reduce points to at most `most` by averaging neighbours."""
    if len(points) <= most:
        return points
    ends = [round(place * len(points) / most) for place in range(most + 1)]
    return [
        (sum(x for x, _ in part) / len(part), sum(y for _, y in part) / len(part))
        for part in (points[start:end] for start, end in itertools.pairwise(ends))
    ]
