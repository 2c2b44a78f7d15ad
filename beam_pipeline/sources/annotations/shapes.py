"""Collect the shapes drawn on an image into the columns of `Objects`.

Also parse the numbers, corners and members of annotations. All functions raise RecordError
"malformed annotation" for invalid values.
"""

import io
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from PIL import Image as Pixels

from beam_pipeline.errors import RecordError, naming
from beam_pipeline.kinds.boxes import check_number
from beam_pipeline.kinds.masks import mask_of
from beam_pipeline.kinds.object_columns import MOST_NAMES, check_points, in_order, mirrored
from beam_pipeline.outlines import Box, Ring
from beam_pipeline.records import Mask, Objects, Value, composed
from beam_pipeline.sources.rejects import malformed, not_kept
from tfrecord_dataset.delimited import bare_lines
from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.json_file import JsonError, parse_object

Label = str | None
Attribute = int | float | str
Attributes = Mapping[str, Attribute]
Point = tuple[float, float, float]
Parsed = tuple[dict[str, Value], Counter[str]]
"""The features of an image except the image itself, and notes of what is not kept."""
_T = TypeVar("_T")

NONE: Attributes = {}
# Notes to count.
OF_A_POINT = "object made of points in no group"
OF_A_GROUP = "object made of a group of points"
# Values of `points`: ungrouped points are one object each, or the landmarks of one object.
OBJECTS, LANDMARKS = "objects", "landmarks"
_ABSENT: Point = (0.0, 0.0, 0.0)
_LOOSE = object()  # the group of an image's landmarks
_MOST = 1e9  # pixels
_MOST_PIXELS = 1 << 27  # in a PNG


class Shapes:
    """The objects of one image: each has a box and optionally rings, a mask or points.

    Polygons become masks unless all are rotated boxes. A label is a class name, or None if shapes
    have no classes.

    Attributes:
        size: Size of the image, if stated.
        format: Box format, "xyxy" or "rel_xyxy"; rings and points have the same unit.
        are_landmarks: Whether ungrouped points are keypoints of the only other object or, if
            there is none, of one object without a class.
        point_names: Declared point names; other names follow, sorted.
        left: Names of members of the image that are not kept.
    """

    def __init__(
        self, size: ImageSize | None = None, format: str = "xyxy", points: str = OBJECTS
    ) -> None:
        self.size, self.format = size, format
        self.are_landmarks = points == LANDMARKS
        self.point_names: tuple[str, ...] = ()
        self.left: list[str] = []
        self._notes = Counter[str]()
        self._labels: list[Label] = []
        self._boxes: list[Box] = []
        self._attributes: list[Attributes] = []
        self._rings: list[tuple[Ring, ...]] = []
        self._rotated: list[Ring] = []
        self._masks: list[Mask | None] = []
        self._points: list[dict[str, Point]] = []
        self._owners: dict[object, dict[str, Point]] = {}
        self._grouped: list[tuple[str, Sequence[Point], object]] = []

    def box(
        self,
        label: Label,
        box: Sequence[Any],
        more: Attributes = NONE,
        degrees: float = 0.0,
        about: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        """Add a box (xmin, ymin, xmax, ymax), rotated clockwise by `degrees` about a point."""
        if degrees:
            self.turned_box(label, turned_corners(box, degrees, about), more)
        else:
            self._add(label, numbers(box, 4), more)

    def turned_box(self, label: Label, corners: Sequence[Any], more: Attributes = NONE) -> None:
        """Add a rotated box from x, y of its four corners."""
        ring = numbers(corners, 8)
        self._add(label, around([ring]), more, (ring,), ring)

    def polygon(
        self, label: Label, rings: Sequence[Sequence[Any]], more: Attributes = NONE
    ) -> None:
        """Add a polygon of rings; each ring is a flat list of x, y."""
        known = tuple(map(numbers, rings))
        for ring in known:
            if len(ring) < 6 or len(ring) % 2:
                raise malformed(f"a polygon of {len(ring)} numbers; x, y of 3 corners are fewest")
        self._add(label, around(known), more, known)

    def mask(self, label: Label, mask: Mask, box: Sequence[float], more: Attributes = NONE) -> None:
        """Add a mask and the box around it."""
        self._add(label, numbers(box, 4), more, mask=mask)

    def points(self, label: Label, named: Mapping[str, Point], more: Attributes = NONE) -> None:
        """Add an object of named points (x, y, visibility), with the box around them."""
        xmin, ymin, xmax, ymax = around([[each for point in named.values() for each in point[:2]]])
        height, width = map(number, self.size) if self.size else (_MOST, _MOST)
        xs, ys = _side(xmin, xmax, width), _side(ymin, ymax, height)
        self._add(label, (xs[0], ys[0], xs[1], ys[1]), more, points=named)

    def group(self, group: object) -> None:
        """Put the last shape in a group; the group's points go to its first shape."""
        self._owners.setdefault(group, self._points[-1])

    def loose_points(
        self,
        label: Label,
        corners: Sequence[float],
        group: object = None,
        more: Attributes = NONE,
        visibility: float = 2.0,
    ) -> None:
        """Add points, a flat list of x, y, named after their label: "tip", "tip 2", ….

        They belong to the shape of their group, in any order; without such a shape, all points of
        the group are one object without a class. If the group is None, these points are an object
        with the label, or landmarks.
        """
        name = "point" if label is None else _checked(label)
        pairs = zip(corners[::2], corners[1::2], strict=True)
        points = [(x, y, visibility) for x, y in pairs]
        group = _LOOSE if group is None and self.are_landmarks else group
        if group is not None:
            self._grouped.append((name, points, group))
        else:
            self._notes[OF_A_POINT] += 1
            self.points(label, _named({}, name, points), more)

    def _add(
        self,
        label: Label,
        box: Ring,
        more: Attributes,
        rings: tuple[Ring, ...] = (),
        rotated: Ring = (),
        mask: Mask | None = None,
        points: Mapping[str, Point] | None = None,
    ) -> None:
        if self._labels and (label is None) != (self._labels[0] is None):
            raise malformed(
                "some shapes have a class, others, as groups of points without a box, have none"
            )
        check_number(len(self) + 1)
        self._labels.append(None if label is None else _checked(label))
        xmin, ymin, xmax, ymax = box
        self._boxes.append((xmin, ymin, xmax, ymax))
        self._attributes.append(more)
        self._rings.append(rings)
        self._rotated.append(rotated)
        self._masks.append(mask)
        self._points.append({**(points or {})})

    def __len__(self) -> int:
        return len(self._boxes)

    def parsed(self) -> Parsed:
        """The objects as a feature, and notes of what is not kept."""
        return {"boxes": self.objects()}, not_kept(self.left) + self._notes

    def objects(self) -> Objects:
        """All objects; an attribute that an object lacks is -1, or "" for texts."""
        self._join_groups()
        names = in_order({name for points in self._points for name in points} - {*self.point_names})
        point_names = (*self.point_names, *names) if any(self._points) else ()
        check_points(len(self), point_names)
        shown = zip(self._masks, self._rings, self._rotated, strict=True)
        has_masks = any(mask or (rings and not rotated) for mask, rings, rotated in shown)
        return Objects(
            boxes=tuple(self._boxes),
            format=self.format,
            labels=tuple(filter(None, self._labels)),
            attributes=_columns(self._attributes),
            keypoints=tuple(_row(points, point_names) for points in self._points)
            if any(self._points)
            else (),
            keypoint_names=point_names,
            keypoint_flips=mirrored(point_names),
            polygons=tuple(self._rings) if any(self._rings) else (),
            rotated=tuple(self._rotated) if any(self._rotated) else (),
            masks=tuple(self._masks) if has_masks else (),
            image_size=self.size,
        )

    def _join_groups(self) -> None:
        groups: dict[object, dict[str, Point]] = {}
        if any(group is _LOOSE for _, _, group in self._grouped) and self._boxes:
            if len(self) > 1:
                raise malformed(
                    f"points in no group, and {len(self)} objects whose landmarks they may "
                    "be; group them with theirs, or leave points: landmarks out"
                )
            self.group(_LOOSE)
        for label, points, group in self._grouped:
            _named(self._owners.get(group, groups.setdefault(group, {})), label, points)
        self._grouped = []
        for group, named in groups.items():
            if named:
                self._notes[OF_A_GROUP] += group is not _LOOSE
                self.points(None, named)


def turned_corners(box: Sequence[float], degrees: float, about: tuple[float, float]) -> list[float]:
    """x, y in pixels of the corners of a box, rotated clockwise about a point."""
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


def sized(x: float, y: float, width: float, height: float) -> Box:
    """xmin, ymin, xmax, ymax of a box from its upper left corner and size."""
    return x, y, x + width, y + height


def around(rings: Sequence[Sequence[float]]) -> Box:
    """xmin, ymin, xmax, ymax of rings; each ring is a flat list of x, y."""
    xs = [x for ring in rings for x in ring[::2]]
    ys = [y for ring in rings for y in ring[1::2]]
    if not xs:
        raise malformed("a shape without corners")
    return min(xs), min(ys), max(xs), max(ys)


def drawn_mask(png: bytes, left: int, top: int, size: ImageSize | None) -> tuple[Mask, Box]:
    """Decode a PNG into a mask at a position in an image; return the PNG's box too."""
    try:
        with Pixels.open(io.BytesIO(png), formats=["PNG"]) as opened:
            size = checked_window(left, top, opened.width, opened.height, size)
            drawn = opened.getchannel("A") if "A" in opened.getbands() else opened.convert("L")
            box = (left, top, left + opened.width, top + opened.height)
            return mask_of(np.asarray(drawn), top, left, size), box
    except RecordError:
        raise
    except Exception as error:  # decoders raise many types
        raise malformed("a mask that is not a PNG") from error


def checked_window(
    left: int, top: int, width: int, height: int, size: ImageSize | None
) -> ImageSize:
    """Check a mask's window; return the size of an image that contains it."""
    if size is None:
        raise malformed("a mask of an image whose width and height are not stated")
    is_inside = 0 <= left <= left + width <= size.width and 0 <= top <= top + height <= size.height
    if not is_inside or width * height > _MOST_PIXELS:
        raise malformed(f"a mask of {width}x{height} at {left}, {top} in an image of {size}")
    return size


def number(value: Any, what: str = "a value") -> float:
    """Convert a value to a finite number of plausible size."""
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        result = math.nan
    if not abs(result) < _MOST:
        fault = "missing" if value is None else f"{value!r:.80}, not a number"
        raise malformed(f"{what} is {fault}")
    return result


def numbers(values: Sequence[Any], count: int | None = None) -> Ring:
    """Convert values to numbers; check their count unless it is None."""
    if not isinstance(values, list | tuple) or count not in (None, len(values)):
        raise malformed(f"{values!r:.80} are not {count or 'a list of'} numbers")
    return tuple(map(number, values))


def numbers_at(stated: Any, *names: str) -> list[float]:
    """Numbers of the named members of an object, or attributes of an XML element."""
    return [number(stated.get(name), name) for name in names]


def corners_of(points: Any) -> list[float]:
    """Flatten a list of [x, y]."""
    if not isinstance(points, list):
        raise malformed(f"the points {points!r:.80} are not a list of [x, y]")
    return [each for point in points for each in numbers(point, 2)]


def stated_size(width: Any, height: Any) -> ImageSize | None:
    """Size if both sides are whole numbers of pixels; else None."""
    try:
        size = ImageSize(int(height), int(width))
    except (TypeError, ValueError, OverflowError):
        return None
    return size if min(size) > 0 else None


def as_object(value: Any) -> dict[str, Any]:
    """The value if it is a JSON object; else an empty object."""
    return value if isinstance(value, dict) else {}


def members(stated: Any, **kinds: type) -> list[Any]:
    """Required members of a JSON object, by name and type; texts must not be empty."""
    values = [as_object(stated).get(name) for name in kinds]
    if not all(map(isinstance, values, kinds.values())) or "" in values:
        raise malformed(f"needs {' and '.join(kinds)}, has {stated!r:.80}")
    return values


def parse_json(data: bytes) -> dict[str, Any]:
    """The JSON object of a file."""
    try:
        return parse_object(data)
    except JsonError as error:
        raise malformed(str(error)) from error


def parse_lines(
    text: str, parse: Callable[[list[str]], _T], separator: str | None = None
) -> list[_T]:
    """Parse the fields of each line that is not blank; errors name the line."""
    parsed = []
    for place, line in enumerate(bare_lines(text), start=1):
        if fields := [field for field in line.split(separator) if field.strip()]:
            with naming(f"line {place}"):
                parsed.append(parse(fields))
    return parsed


def _columns(stated: Sequence[Attributes]) -> dict[str, tuple[Attribute, ...]]:
    columns: dict[str, tuple[Attribute, ...]] = {}
    for name in sorted({name for attributes in stated for name in attributes}):
        given = [attributes.get(name) for attributes in stated]
        absent = "" if any(isinstance(each, str) for each in given) else -1
        columns[name] = tuple(absent if each is None else each for each in given)
    return columns


def _checked(label: Any) -> str:
    if not isinstance(label, str) or not label.strip():
        raise malformed(f"the label {label!r:.80} is not text")
    return label.strip()


def _named(named: dict[str, Point], label: str, points: Sequence[Point]) -> dict[str, Point]:
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
    """Triples of an object's points by name; () if it has none."""
    return tuple(each for name in names if named for each in named.get(name, _ABSENT))


def _side(least: float, most: float, size: float) -> tuple[float, float]:
    """Range of a box around points along one axis: at least a pixel, within the image."""
    if least < most:
        return least, most
    start = min(max(least - 0.5, 0.0), size - 1.0) if 0 <= least <= size else least
    return start, start + 1
