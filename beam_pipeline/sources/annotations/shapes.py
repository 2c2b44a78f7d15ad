"""What tools draw on an image, gathered shape by shape into the columns of `Objects`."""

import contextlib
import io
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from PIL import Image as Pixels

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.boxes import check_number
from beam_pipeline.kinds.masks import mask_of
from beam_pipeline.kinds.points import MOST_NAMES, check_points, in_order, mirrored
from beam_pipeline.records import Mask, Objects, Value, composed
from beam_pipeline.sources.left_behind import not_kept
from beam_pipeline.sources.malformed import malformed
from tfrecord_dataset.image_size import ImageSize

Ring = tuple[float, ...]
Box = tuple[float, float, float, float]
Label = str | None
Attribute = int | float | str
Attributes = Mapping[str, Attribute]
Point = tuple[float, float, float]
Parsed = tuple[dict[str, Value], Counter[str]]
"""The features of an image except the image itself, and notes of what is not kept."""

NONE: Attributes = {}
# What is counted.
OF_A_POINT = "object made of points in no group"
OF_A_GROUP = "object made of a group of points"
# What `points` says: points in no group are an object each, or those of an image one object's.
OBJECTS, LANDMARKS = "objects", "landmarks"
_ABSENT: Point = (0.0, 0.0, 0.0)
_LOOSE = object()  # the group of an image's landmarks
_MOST = 1e9  # pixels
_MOST_PIXELS = 1 << 27  # of a PNG


class Shapes:
    """The objects of one image: each has a box, and perhaps rings or a mask.

    Polygons become masks where there are any but those of turned boxes. A label is a class's name,
    None where shapes have no classes.

    Attributes:
        size: Of the image, if it is stated.
        format: Of boxes: "xyxy" or "rel_xyxy"; rings and points are in the same unit.
        are_landmarks: Whether the points in no group are keypoints of the only other object or,
            without any, of one object without a class.
        point_names: Declared names of points; others follow, sorted.
        left: The names of what is said of the image and not kept.
        notes: What is counted of points, once `objects` are made.
    """

    def __init__(
        self, size: ImageSize | None = None, format: str = "xyxy", points: str = OBJECTS
    ) -> None:
        self.size, self.format = size, format
        self.are_landmarks = points == LANDMARKS
        self.point_names: tuple[str, ...] = ()
        self.left: list[str] = []
        self.notes = Counter[str]()
        self._boxes: list[Box] = []
        self._labels: list[str | None] = []
        self._rings: list[tuple[Ring, ...]] = []
        self._rotated: list[Ring] = []
        self._masks: list[Mask | None] = []
        self._points: list[dict[str, Point]] = []
        self._owners: dict[object, dict[str, Point]] = {}
        self._grouped: list[tuple[str, Sequence[Point], object]] = []
        self._attributes: list[Attributes] = []
        self._are_segments = False

    def box(
        self,
        label: Label,
        box: Sequence[Any],
        more: Attributes = NONE,
        degrees: float = 0.0,
        about: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        """Adds xmin, ymin, xmax, ymax, which may be turned clockwise about a point."""
        if degrees:
            self.turned_box(label, turned_corners(box, degrees, about), more)
            return
        self._add(label, _numbers(box, 4), (), None, more)

    def turned_box(self, label: Label, corners: Sequence[Any], more: Attributes = NONE) -> None:
        """Adds a box that is not upright, by x, y of its four corners."""
        ring = _numbers(corners, 8)
        self._add(label, around([ring]), (ring,), None, more, ring)

    def polygon(
        self, label: Label, rings: Sequence[Sequence[Any]], more: Attributes = NONE
    ) -> None:
        """Adds what rings surround, each x, y of one corner after the other."""
        known = tuple(map(_numbers, rings))
        for ring in known:
            if len(ring) < 6 or len(ring) % 2:
                raise malformed(f"a polygon of {len(ring)} numbers; x, y of 3 corners are fewest")
        self._are_segments = True
        self._add(label, around(known), known, None, more)

    def mask(self, label: Label, mask: Mask, box: Sequence[float], more: Attributes = NONE) -> None:
        """Adds pixels, and the box around them."""
        self._are_segments = True
        self._add(label, _numbers(box, 4), (), mask, more)

    def points(self, label: Label, named: Mapping[str, Point], more: Attributes = NONE) -> None:
        """Adds an object of points (x, y, visibility) by name, with the box around them."""
        xmin, ymin, xmax, ymax = around([[each for point in named.values() for each in point[:2]]])
        width, height = (self.size.width, self.size.height) if self.size else (_MOST, _MOST)
        xs, ys = _side(xmin, xmax, width), _side(ymin, ymax, height)
        self._add(label, (xs[0], ys[0], xs[1], ys[1]), (), None, more)
        self._points[-1].update(named)

    def group(self, group: object) -> None:
        """Says in which group the last shape is: of several the first has the group's points."""
        self._owners.setdefault(group, self._points[-1])

    def loose_points(
        self, label: Label, points: Sequence[Point], group: object, more: Attributes = NONE
    ) -> None:
        """Adds points that are called after their label: "tip", "tip 2", ….

        They are points of the shape of their group, wherever that comes; without such a shape all
        points of the group are an object without a class. Where the group is None, these points
        are an object of the label, or landmarks.
        """
        name = "point" if label is None else _checked(label)
        group = _LOOSE if group is None and self.are_landmarks else group
        if group is not None:
            self._grouped.append((name, points, group))
        else:
            self.notes[OF_A_POINT] += 1
            self.points(label, _named({}, name, points), more)

    def _add(
        self,
        label: Label,
        box: Ring,
        rings: tuple[Ring, ...],
        mask: Mask | None,
        more: Attributes,
        rotated: Ring = (),
    ) -> None:
        if self._labels and (label is None) != (self._labels[0] is None):
            raise malformed(
                "some shapes have a class, others, as groups of points without a box, have none"
            )
        check_number(len(self._boxes) + 1)
        xmin, ymin, xmax, ymax = box
        self._boxes.append((xmin, ymin, xmax, ymax))
        self._labels.append(None if label is None else _checked(label))
        self._rings.append(rings)
        self._rotated.append(rotated)
        self._masks.append(mask)
        self._points.append({})
        self._attributes.append(more)

    def __len__(self) -> int:
        return len(self._boxes)

    def parsed(self) -> Parsed:
        """The feature that all of them are, and the notes of what of the image is not kept."""
        return {"boxes": self.objects()}, not_kept(self.left) + self.notes

    def objects(self) -> Objects:
        """All of them; an attribute that some lack is -1 there, or "" among texts."""
        self._join_groups()
        names = sorted({name for attribute in self._attributes for name in attribute})
        others = {name for named in self._points for name in named}.difference(self.point_names)
        point_names = (*self.point_names, *in_order(others)) if any(self._points) else ()
        check_points(len(self._points), point_names)
        return Objects(
            boxes=tuple(self._boxes),
            format=self.format,
            labels=tuple(label for label in self._labels if label),
            attributes={name: self._column(name) for name in names},
            keypoints=tuple(_row(named, point_names) for named in self._points)
            if point_names
            else (),
            keypoint_names=point_names,
            keypoint_flips=mirrored(point_names),
            polygons=tuple(self._rings) if any(self._rings) else (),
            rotated=tuple(self._rotated) if any(self._rotated) else (),
            masks=tuple(self._masks) if self._are_segments else (),
            image_size=self.size,
        )

    def _join_groups(self) -> None:
        groups: dict[object, dict[str, Point]] = {}
        if any(group is _LOOSE for _, _, group in self._grouped) and self._points:
            if len(self._points) > 1:
                raise malformed(
                    f"points in no group, and {len(self._points)} objects whose landmarks they may "
                    "be; group them with theirs, or leave points: landmarks out"
                )
            self._owners[_LOOSE] = self._points[0]
        for label, points, group in self._grouped:
            _named(self._owners.get(group, groups.setdefault(group, {})), label, points)
        self._grouped = []
        for group, named in groups.items():
            if named:
                self.notes[OF_A_GROUP] += group is not _LOOSE
                self.points(None, named)

    def _column(self, name: str) -> tuple[Attribute, ...]:
        given = [attribute.get(name) for attribute in self._attributes]
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


def drawn_mask(png: bytes, left: int, top: int, size: ImageSize | None) -> tuple[Mask, Box]:
    """The mask that a PNG draws at a place of an image, and the box around the PNG.

    Raises:
        RecordError: "malformed annotation".
    """
    if size is None:
        raise malformed("a mask of an image whose width and height are not stated")
    try:
        with Pixels.open(io.BytesIO(png), formats=["PNG"]) as opened:
            right, bottom = left + opened.width, top + opened.height
            if min(left, top) < 0 or right > size.width or bottom > size.height:
                found = f"{opened.width}x{opened.height} at {left}, {top}"
                raise malformed(f"a mask of {found} in an image of {size}")
            if opened.width * opened.height > _MOST_PIXELS:
                raise malformed(f"a mask of over {_MOST_PIXELS:,} pixels")
            drawn = opened.getchannel("A") if "A" in opened.getbands() else opened.convert("L")
            return mask_of(np.asarray(drawn), top, left, size), (left, top, right, bottom)
    except RecordError:
        raise
    except Exception as error:  # decoders raise many kinds
        raise malformed(f"a mask that is not a PNG: {error}") from error


def corners_of(points: Any) -> list[float]:
    """x, y of one corner after the other, from a list of [x, y].

    Raises:
        RecordError: "malformed annotation".
    """
    if not isinstance(points, list) or not all(
        isinstance(point, list) and len(point) == 2 for point in points
    ):
        raise malformed(f"the points {points!r:.80} are not a list of [x, y]")
    return [number(each, "a point") for corner in points for each in corner]


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
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        result = math.nan
    if not abs(result) < _MOST:
        fault = "missing" if value is None else f"{value!r:.80}, not a number"
        raise malformed(f"{what} is {fault}")
    return result


@contextlib.contextmanager
def naming(where: str) -> Iterator[None]:
    """Name the object or the line of a file in the errors of what is read of it."""
    try:
        yield
    except RecordError as error:
        raise malformed(f"{where}: {error.detail}") from None


def _numbers(values: Sequence[Any], count: int | None = None) -> Ring:
    if not isinstance(values, list | tuple) or count not in (None, len(values)):
        raise malformed(f"{values!r:.80} are not the numbers of a shape")
    return tuple(number(value, "a coordinate") for value in values)


def _checked(label: Any) -> str:
    if not isinstance(label, str) or not label.strip():
        raise malformed(f"the label {label!r:.80} is not text")
    return label.strip()


def _named(named: dict[str, Point], label: str, points: Sequence[Point]) -> dict[str, Point]:
    """Adds points of a label to those of an object."""
    name = label = composed(label)
    number = 1
    for point in points:
        while name in named:
            number += 1
            name = f"{label} {number}"
        named[name] = point
        if number > MOST_NAMES:
            raise malformed(
                f"over {MOST_NAMES:,} points {label:.80} of one object; draw each by itself"
            )
    return named


def _row(named: Mapping[str, Point], names: Sequence[str]) -> Ring:
    """Triples of all points of an object; () of one without any."""
    return tuple(each for name in names if named for each in named.get(name, _ABSENT))


def _side(least: float, most: float, size: float) -> tuple[float, float]:
    """Of a box around points: at least a pixel, in the image where they are."""
    if least < most:
        return least, most
    start = min(max(least - 0.5, 0.0), size - 1.0) if 0 <= least <= size else least
    return start, start + 1


def around(rings: Sequence[Sequence[float]]) -> Box:
    """xmin, ymin, xmax, ymax of rings, each x, y of one corner after the other."""
    xs = [x for ring in rings for x in ring[::2]]
    ys = [y for ring in rings for y in ring[1::2]]
    if not xs:
        raise malformed("a shape without corners")
    return min(xs), min(ys), max(xs), max(ys)
