"""One YOLO label file: a line a box, in fractions of the image.

Source of the format: https://docs.ultralytics.com/datasets/ (detect, segment and pose).
"""

import contextlib
import math
from collections.abc import Collection, Iterable, Sequence

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.kinds.boxes import MAX_FRACTION, check_number
from beam_pipeline.records import Objects
from beam_pipeline.sources.annotations.shapes import around
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.paths import below
from beam_pipeline.sources.side_files.files import MAX_BYTES

# Most lines of keypoints have them in their box, some a bit outside.
_MOST = 0.8
_MARGIN = 0.1
_ORIENTED = 8  # numbers of four corners
_VISIBILITIES = (0.0, 1.0, 2.0)

Corners = tuple[float, float, float, float]


def parse_labels(
    text: str,
    *,
    names: dict[int, str] | None = None,
    keypoint_shape: tuple[int, int] | None = None,
    keypoint_names: tuple[str, ...] = (),
    keypoint_flips: tuple[int, ...] = (),
) -> Objects:
    """The boxes of one label file, and what of its lines is not kept.

    A line is `class center_x center_y width height`, then, where there is a `keypoint_shape`,
    x and y of each keypoint and, if it has 3 numbers, its visibility. A keypoint of 2 numbers
    counts as visible (2), and as not labelled (0) at 0, 0. A line of 7, 9, … numbers is
    `class x1 y1 x2 y2 …`: a polygon, and its box is the upright one around it. Where all polygons
    have four corners they are oriented boxes, which no mask is made of. Equal lines are kept.

    Args:
        text: The file's lines, perhaps none.
        names: The class names by number; None takes the number itself for the name.
        keypoint_names: Of the points of each box.
        keypoint_flips: Which point each is in a mirror.
        keypoint_shape: (keypoints, numbers a keypoint: 2 or 3).

    Returns:
        Boxes in "rel_center_xywh" as written, in "rel_xyxy" where there is a polygon.

    Raises:
        RecordError: "malformed annotation", with the line's number (from 1).
    """
    check_number(text.count("\n"))
    labels: list[str] = []
    centers: list[Corners] = []
    polygons: dict[int, tuple[float, ...]] = {}
    keypoints: list[tuple[float, ...]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not (fields := line.split()):
            continue
        try:
            labels.append(_class_name(fields[0], names))
            values = [_fraction(field) for field in fields[1:]]
            if keypoint_shape:
                keypoints.append(_keypoints(fields[5:], keypoint_shape))
                values = values[:4]
            elif len(values) >= 6 and len(values) % 2 == 0:
                polygons[len(centers)] = tuple(values)
                values = [0.0] * 4
            if len(values) != 4:
                raise ValueError(
                    f"{len(fields)} numbers; a box has 5 (class, centre x, centre y, width, "
                    "height), a polygon 7, 9, …; keypoints need kpt_shape in data.yaml"
                )
        except ValueError as error:
            raise malformed(f"line {number}: {error}") from None
        centers.append((values[0], values[1], values[2], values[3]))
    are_segments = any(len(ring) != _ORIENTED for ring in polygons.values())
    every = range(len(centers))
    return Objects(
        boxes=_corners(centers, polygons) if polygons else tuple(centers),
        format="rel_xyxy" if polygons else "rel_center_xywh",
        labels=tuple(labels),
        keypoints=tuple(keypoints),
        keypoint_names=keypoint_names if keypoints else (),
        keypoint_flips=keypoint_flips if keypoints else (),
        polygons=tuple((polygons[at],) if at in polygons else () for at in every)
        if polygons
        else (),
        rotated=tuple(polygons.get(at, ()) for at in every)
        if polygons and not are_segments
        else (),
        masks=(None,) * len(centers) if are_segments else (),
    )


def check_keypoints(root: str, labels: Sequence[str]) -> None:
    """Makes sure that the lines of some label files below `root` hold no keypoints.

    Raises:
        ConfigError: They may, and nothing says so.
    """
    texts = []
    for label in labels:
        with contextlib.suppress(RecordError):  # is told when the file is read
            texts.append(storage.read_text(below(root, label), MAX_BYTES))
    if shape := possible_keypoints(texts):
        count, size = shape
        raise ConfigError(
            f"the lines of {labels[0]} and other label files have {5 + count * size} "
            f"numbers, which may be a box with {count} keypoints or a polygon: say in data.yaml "
            f"kpt_shape: [{count}, {size}] for keypoints, kpt_shape: [] for polygons"
        )


def possible_keypoints(texts: Iterable[str]) -> tuple[int, int] | None:
    """The shape of keypoints, as in `kpt_shape`, that the lines of label files may well have.

    Without `kpt_shape` a line of a box and keypoints looks like one of a polygon. But all lines
    with keypoints have equally many numbers, and nearly all have them in their boxes.
    """
    lines = [line.split()[1:] for text in texts for line in text.splitlines() if line.strip()]
    lengths = set(map(len, lines))
    if len(lengths) != 1 or min(lengths) < 6:
        return None
    try:
        rows = [list(map(float, line)) for line in lines]
    except ValueError:
        return None  # is told when the file is read
    extra = min(lengths) - 4
    for size in (3, 2):
        if extra % size == 0:
            fitting = sum(_may_have_keypoints(row, size) for row in rows)
            if fitting >= _MOST * len(rows):
                return extra // size, size
    return None


def _may_have_keypoints(row: Sequence[float], size: int) -> bool:
    x, y, width, height = row[:4]
    in_image = (
        min(x - width / 2, y - height / 2) > -_MARGIN
        and max(x + width / 2, y + height / 2) < 1 + _MARGIN
    )
    points = [row[start : start + size] for start in range(4, len(row), size)]
    return in_image and all(
        (size == 2 or point[2] in _VISIBILITIES)
        and (
            (point[0], point[1]) == (0, 0)
            or (
                abs(point[0] - x) <= (0.5 + _MARGIN) * width
                and abs(point[1] - y) <= (0.5 + _MARGIN) * height
            )
        )
        for point in points
    )


def _class_name(field: str, names: dict[int, str] | None) -> str:
    index = _number(field)
    if index < 0 or index != int(index):
        raise ValueError(f"class {field!r} is not a number from 0")
    if names is None:
        return str(int(index))
    if int(index) not in names:
        raise ValueError(f"class {field} is not among the {_range(names)} that are named")
    return names[int(index)]


def _range(names: Collection[int]) -> str:
    return f"{len(names)} classes ({min(names)} to {max(names)})" if names else "0 classes"


def _number(field: str) -> float:
    try:
        value = float(field)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{field!r} is not a number")
    return value


def _fraction(field: str) -> float:
    value = _number(field)
    if abs(value) > MAX_FRACTION:
        raise ValueError(f"{field} is not a fraction of the image; is it in pixels?")
    return value


def _keypoints(fields: Sequence[str], shape: tuple[int, int]) -> tuple[float, ...]:
    count, size = shape
    if len(fields) != count * size:
        raise ValueError(
            f"{len(fields)} numbers after the box, where kpt_shape [{count}, {size}] "
            f"makes {count * size}"
        )
    values = [_number(field) for field in fields]
    if size == 3:
        return tuple(values)
    points = zip(values[::2], values[1::2], strict=True)
    return tuple(value for x, y in points for value in (x, y, 2.0 if (x, y) != (0, 0) else 0.0))


def _corners(
    centers: Sequence[Corners], polygons: dict[int, tuple[float, ...]]
) -> tuple[Corners, ...]:
    return tuple(
        around([polygons[at]])
        if at in polygons
        else (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
        for at, (x, y, width, height) in enumerate(centers)
    )
