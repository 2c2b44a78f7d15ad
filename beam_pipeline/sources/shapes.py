"""What tools draw on an image, gathered shape by shape into the columns of `Objects`."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from beam_pipeline.kinds.boxes import check_number
from beam_pipeline.records import Mask, Objects
from beam_pipeline.sources.malformed import malformed
from tfrecord_dataset.image_size import ImageSize

Ring = tuple[float, ...]
Box = tuple[float, float, float, float]
Label = str | None
Attribute = int | float | str
Attributes = Mapping[str, Attribute]

NONE: Attributes = {}
_MOST = 1e9  # pixels
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


class Shapes:
    """The objects of one image: each has a box, and perhaps rings or a mask.

    Polygons become masks where there are any but those of turned boxes. A label is a class's name,
    None where shapes have no classes.

    Attributes:
        size: Of the image, where it is stated.
        format: Of boxes: "xyxy" or "rel_xyxy"; rings and points are in the same unit.
        point_names: Of the points of each object that has some.
    """

    def __init__(self, size: ImageSize | None = None, format: str = "xyxy") -> None:
        self.size, self.format = size, format
        self.point_names: tuple[str, ...] = ()
        self._boxes: list[Box] = []
        self._labels: list[str | None] = []
        self._rings: list[tuple[Ring, ...]] = []
        self._rotated: list[Ring] = []
        self._masks: list[Mask | None] = []
        self._points: list[Ring] = []
        self._attributes: list[Attributes] = []
        self._are_segments = False

    def __len__(self) -> int:
        return len(self._boxes)

    def box(self, label: Label, box: Sequence[Any], more: Attributes = NONE) -> None:
        """Adds xmin, ymin, xmax, ymax."""
        self._add(label, _numbers(box, 4), (), None, more)

    def turned_box(self, label: Label, corners: Sequence[Any], more: Attributes = NONE) -> None:
        """Adds a box that is not upright, by x, y of its four corners."""
        ring = _numbers(corners, 8)
        self._add(label, _around([ring]), (ring,), None, more, ring)

    def polygon(
        self, label: Label, rings: Sequence[Sequence[Any]], more: Attributes = NONE
    ) -> None:
        """Adds what rings surround, each x, y of one corner after the other."""
        known = tuple(map(_numbers, rings))
        for ring in known:
            if len(ring) < 6 or len(ring) % 2:
                raise malformed(f"a polygon of {len(ring)} numbers; x, y of 3 corners are fewest")
        self._are_segments = True
        self._add(label, _around(known), known, None, more)

    def mask(self, label: Label, mask: Mask, box: Sequence[float], more: Attributes = NONE) -> None:
        """Adds pixels, and the box around them."""
        self._are_segments = True
        self._add(label, _numbers(box, 4), (), mask, more)

    def points(self, label: Label, triples: Sequence[Any], more: Attributes = NONE) -> bool:
        """Adds x, y, visibility of one point after the other, with the box around those there are.

        Returns:
            Whether there is one: a visibility that is not 0.
        """
        known = _numbers(triples)
        points = zip(known[::3], known[1::3], known[2::3], strict=True)
        there = [each for x, y, visibility in points if visibility for each in (x, y)]
        if there:
            self._add(label, _around([tuple(there)]), (), None, more)
            self._points[-1] = known
        return bool(there)

    def _add(
        self,
        label: Label,
        box: Ring,
        rings: tuple[Ring, ...],
        mask: Mask | None,
        more: Attributes,
        rotated: Ring = (),
    ) -> None:
        if label is not None and (not isinstance(label, str) or not label.strip()):
            raise malformed(f"the label {label!r:.80} is no text")
        if self._labels and (label is None) != (self._labels[0] is None):
            raise malformed("some shapes have a class, others none")
        check_number(len(self._boxes) + 1)
        xmin, ymin, xmax, ymax = box
        self._boxes.append((xmin, ymin, xmax, ymax))
        self._labels.append(label and label.strip())
        self._rings.append(rings)
        self._rotated.append(rotated)
        self._masks.append(mask)
        self._points.append(())
        self._attributes.append(more)

    def objects(self) -> Objects:
        """All of them; an attribute that some lack is -1 there, or "" among texts."""
        names = sorted({name for each in self._attributes for name in each})
        point_names = self.point_names if any(self._points) else ()
        return Objects(
            boxes=tuple(self._boxes),
            format=self.format,
            labels=tuple(each for each in self._labels if each),
            attributes={name: self._column(name) for name in names},
            keypoints=tuple(self._points) if any(self._points) else (),
            keypoint_names=point_names,
            keypoint_flips=mirrored(point_names),
            polygons=tuple(self._rings) if any(self._rings) else (),
            rotated=tuple(self._rotated) if any(self._rotated) else (),
            masks=tuple(self._masks) if self._are_segments else (),
            image_size=self.size,
        )

    def _column(self, name: str) -> tuple[Attribute, ...]:
        given = [each.get(name) for each in self._attributes]
        absent = "" if any(isinstance(each, str) for each in given) else -1
        return tuple(absent if each is None else each for each in given)


def turned_corners(box: Sequence[float], degrees: float, about: tuple[float, float]) -> list[float]:
    """x, y of the corners of an upright box, turned clockwise about a point, in pixels."""
    xmin, ymin, xmax, ymax = box
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    corners = []
    for x, y in ((xmin, ymin), (xmax, ymin), (xmax, ymax), (xmin, ymax)):
        across, down = x - about[0], y - about[1]
        corners += [
            about[0] + across * cosine - down * sine,
            about[1] + across * sine + down * cosine,
        ]
    return corners


def stated_size(width: Any, height: Any) -> ImageSize | None:
    """A size where both sides are whole numbers of pixels."""
    try:
        size = ImageSize(int(height), int(width))
    except (TypeError, ValueError, OverflowError):
        return None
    return size if min(size) > 0 else None


def number(value: Any, what: str) -> float:
    """A finite number of a sensible size.

    Raises:
        RecordError: "malformed annotation".
    """
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not abs(found) < _MOST:
        raise malformed(f"{what} is {value!r:.80}, not a number")
    return found


def _numbers(values: Sequence[Any], count: int | None = None) -> Ring:
    if not isinstance(values, list | tuple) or count not in (None, len(values)):
        raise malformed(f"{values!r:.80} are not the numbers of a shape")
    return tuple(number(each, "a coordinate") for each in values)


def _around(rings: Sequence[Ring]) -> Box:
    xs = [x for ring in rings for x in ring[::2]]
    ys = [y for ring in rings for y in ring[1::2]]
    if not xs:
        raise malformed("a polygon without corners")
    return min(xs), min(ys), max(xs), max(ys)
