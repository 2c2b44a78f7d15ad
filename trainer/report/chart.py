"""Line charts as coordinates of an SVG."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

Points = Sequence[tuple[float, float]]

WIDTH, HEIGHT = 300, 110
_MOST_POINTS = 300


def chart(
    title: str,
    lines: Mapping[str, Points],
    mark: float | None = None,
    bounds: tuple[float, float, float, float] | None = None,
) -> dict[str, Any]:
    """Prepare a chart for the template.

    Args:
        title: Title of the chart.
        lines: Points (x, y) by the line's name; points that are not finite are left out.
        mark: An x to mark with a vertical line.
        bounds: (least x, most x, least y, most y); None for those of the points.

    Returns:
        "title"; "lines", each with "name", "points" (the SVG's) and "dots"; "mark", or None; "x"
            and "y": labels of both axes' ends. No lines without points.
    """
    kept = {
        name: thinned([each for each in points if all(map(math.isfinite, each))])
        for name, points in lines.items()
    }
    kept = {name: points for name, points in kept.items() if points}
    every = [point for points in kept.values() for point in points]
    if not every:
        return {"title": title, "lines": [], "mark": None, "x": ("", ""), "y": ("", "")}
    left, right, low, high = bounds or (
        *(change(x for x, _ in every) for change in (min, max)),
        *(change(y for _, y in every) for change in (min, max)),
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
                        "text": f"{name}: {_number(each[1])} at {_number(each[0])}",
                    }
                    for each in (points if len(points) <= WIDTH // 10 else [])
                ],
            }
            for name, points in kept.items()
        ],
        "mark": None if mark is None else place(mark, low)[0],
        "x": (_number(left), _number(right)),
        "y": (_number(low), _number(high)),
    }


def _number(value: float) -> str:
    """Format with four digits, or all digits of a large whole part: 0.9894, 23,950."""
    return f"{value:,.0f}" if 10_000 <= abs(value) < 1e9 else f"{value:.4g}"


def thinned(points: Points, most: int = _MOST_POINTS) -> Points:
    """Reduce the points to a maximal number, by means of neighbours."""
    if len(points) <= most:
        return points
    ends = [round(place * len(points) / most) for place in range(most + 1)]
    return [
        (sum(x for x, _ in part) / len(part), sum(y for _, y in part) / len(part))
        for part in (points[start:end] for start, end in itertools.pairwise(ends))
    ]
