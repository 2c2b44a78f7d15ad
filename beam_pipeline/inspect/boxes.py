"""Bounding boxes: from what an annotation states to fractions of the upright image.

Which frame an annotation speaks of:

- It states an image size that the upright image has, or none, or it is in fractions: the
  upright image, which is what annotation tools show.
- It states the size that only the file has, before the EXIF orientation: the boxes are turned
  together with the image. (An orientation that keeps the size, or a square image, cannot be
  told from an upright one.)
- It states another size, with boxes in pixels: "size mismatch".

Which unit it speaks in is not guessed: boxes in pixels whose numbers are all 1 or less, and boxes
in fractions with a number beyond 2, are refused.

An image that is resized needs no other boxes, since fractions stay what they are; its stated
areas are scaled.
"""

import math
import struct
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from beam_pipeline.errors import RecordError
from beam_pipeline.records import Boxes

FORMATS = ("xyxy", "xywh", "center_xywh", "rel_xyxy", "rel_xywh", "rel_center_xywh")
POLICIES = ("clip", "drop", "error")
Policy = Literal["clip", "drop", "error"]

# What is counted.
CLIPPED = "box clipped"
DROPPED_OUTSIDE = "box dropped: outside"
DROPPED_NO_AREA = "box dropped: no area"
# Reasons of `Rejected`.
SIZE_MISMATCH = "size mismatch"
IN_FRACTIONS = "boxes in fractions"
IN_PIXELS = "boxes in pixels"
IMPOSSIBLE_BOX = "impossible box"
BOX_OUTSIDE = "box outside image"
BOX_WITHOUT_AREA = "box without area"
MALFORMED = "malformed annotation"

# As a fraction of the image: less is the rounding of whoever wrote the annotation.
_TOLERANCE = 1e-6
_FARTHEST = 1e9
# A box may reach out of its image, but a number beyond this is no fraction of anything.
MAX_FRACTION = 2.0
# Of one image: many times what the most crowded ones have, and 100 MB of memory.
MAX_BOXES = 100_000
_FLOAT32 = struct.Struct("4f")

_Box = tuple[float, float, float, float]


def normalise(
    boxes: Boxes,
    *,
    source_size: tuple[int, int],
    orientation: int = 1,
    policy: Policy = "clip",
    scale: tuple[float, float] = (1.0, 1.0),
    stated: bool = False,
) -> tuple[Boxes, Counter[str]]:
    """Turns boxes into "rel_xyxy" of the upright image, and drops those that cannot be used.

    Coordinates are rounded to float32, so that storing them loses nothing, with
    0 ≤ min < max ≤ 1. Keypoints are turned and scaled like the boxes but never clipped; (0, 0, 0)
    stays, as it means that there is none. The attribute "area" is kept as stated, times `scale`,
    also where a box is clipped: it may be a segment's.

    Args:
        boxes: As the annotation states them.
        source_size: (width, height) in pixels as in the file, before the orientation.
        orientation: EXIF's, 1 to 8.
        policy: What becomes of a box that reaches out of the image (by more than a millionth):
            "clip" cuts it off, and drops it when nothing is left; "drop" drops it; "error" raises.
            A box without area is dropped too, or raises with "error".
        scale: Pixels as stored per pixel of the upright image, across and down.
        stated: Whether a user states the format, so that a box may be the first pixel alone.

    Returns:
        The boxes that are left, with their labels, attributes and keypoints, and how many
        were `CLIPPED`, `DROPPED_OUTSIDE` and `DROPPED_NO_AREA`.

    Raises:
        RecordError: "size mismatch"; "boxes in fractions", "boxes in pixels": not what the format
            says; "impossible box": not finite or inverted, or a keypoint
            not finite, under any policy;
            "box outside image" and "box without area": under "error"; "malformed annotation":
            numbers of labels, attributes or keypoints that differ from that of the boxes.
    """
    counts: Counter[str] = Counter()
    _check_lengths(boxes)
    if not boxes.coordinates:
        return Boxes(coordinates=(), format="rel_xyxy", attributes=boxes.attributes), counts
    _check_unit(boxes, stated)
    relative = boxes.format.startswith("rel_")
    if min(source_size) < 1:
        raise RecordError(MALFORMED, f"an image of {source_size[0]}x{source_size[1]} pixels")
    turned = _frame_orientation(boxes, source_size, orientation)
    frame = source_size if turned != 1 or orientation < 5 else (source_size[1], source_size[0])
    unit = (1, 1) if relative else frame
    kept: list[int] = []
    coordinates: list[_Box] = []
    for index, row in enumerate(boxes.coordinates):
        box = _turn_box(_to_relative(row, boxes, unit), turned)
        usable = _apply_policy(box, policy, counts, row, boxes)
        if usable is not None:
            kept.append(index)
            coordinates.append(usable)
    everything = len(kept) == len(boxes.coordinates)
    attributes = {
        name: tuple(values) if everything else tuple(values[index] for index in kept)
        for name, values in boxes.attributes.items()
    }
    if scale != (1.0, 1.0) and "area" in attributes:
        attributes["area"] = tuple(float(area) * scale[0] * scale[1] for area in attributes["area"])
    labels = boxes.labels
    if labels and not everything:
        labels = tuple(labels[index] for index in kept)
    keypoints = boxes.keypoints
    if keypoints:
        keypoints = tuple(_turn_keypoints(keypoints[index], unit, turned) for index in kept)
    normalised = Boxes(
        coordinates=tuple(coordinates),
        format="rel_xyxy",
        labels=labels,
        attributes=attributes,
        keypoints=keypoints,
    )
    return normalised, counts


def check_number(number: int) -> None:
    """Raises RecordError where an image has more boxes than any has; before they are made."""
    if number > MAX_BOXES:
        raise RecordError(MALFORMED, f"more than {MAX_BOXES:,} boxes of one image")


def _check_lengths(boxes: Boxes) -> None:
    number = len(boxes.coordinates)
    if boxes.format not in FORMATS:
        raise RecordError(
            MALFORMED, f"box format {boxes.format!r}; give one of {', '.join(FORMATS)}"
        )
    if boxes.labels and len(boxes.labels) != number:
        raise RecordError(MALFORMED, f"{number} boxes but {len(boxes.labels)} labels")
    if boxes.keypoints and len(boxes.keypoints) != number:
        raise RecordError(MALFORMED, f"{number} boxes but {len(boxes.keypoints)} sets of keypoints")
    if any(len(triples) % 3 for triples in boxes.keypoints):
        raise RecordError(MALFORMED, "keypoints that are not triples of x, y and visibility")
    for name, values in boxes.attributes.items():
        if len(values) != number:
            raise RecordError(MALFORMED, f"{number} boxes but {len(values)} values of {name!r}")


def _check_unit(boxes: Boxes, stated: bool) -> None:
    """Raises RecordError where boxes are in fractions that should be in pixels, or the reverse."""
    relative = boxes.format.startswith("rel_")
    absolute = boxes.format.removeprefix("rel_")
    if relative:
        wrong = [row for row in boxes.coordinates if max(map(abs, row)) > MAX_FRACTION]
        if wrong:
            raise RecordError(
                IN_PIXELS,
                f"{_name(wrong[0], boxes)}, in fractions of the image, has a number beyond "
                f"{MAX_FRACTION:g}; if boxes are in pixels, pass --box-format {absolute}",
            )
        return
    solid = [row for row in boxes.coordinates if _has_area(row, absolute)]
    if not solid or any(abs(number) > 1 for row in solid for number in row):
        return
    in_whole_pixels = all(float(number).is_integer() for row in solid for number in row)
    if not (stated and in_whole_pixels):
        raise RecordError(
            IN_FRACTIONS,
            f"{_name(solid[0], boxes)}, in pixels, has no number beyond 1, nor has any other of "
            f"the image; if boxes are in fractions of the image, pass --box-format rel_{absolute}"
            + ("" if not in_whole_pixels else f"; if it is one pixel, --box-format {absolute}"),
        )


def _has_area(row: Sequence[float], absolute: str) -> bool:
    a, b, c, d = row
    return (c > a and d > b) if absolute == "xyxy" else (c > 0 and d > 0)


def _frame_orientation(boxes: Boxes, source_size: tuple[int, int], orientation: int) -> int:
    """The orientation by which the boxes are to be turned: 1 when they are upright already."""
    upright = source_size if orientation < 5 else (source_size[1], source_size[0])
    stated = boxes.image_size
    if stated is None or tuple(stated) == upright or boxes.format.startswith("rel_"):
        return 1
    if tuple(stated) == source_size:
        return orientation
    raise RecordError(
        SIZE_MISMATCH,
        f"the annotation is for an image of {stated[0]}x{stated[1]} pixels, but the file has "
        f"{source_size[0]}x{source_size[1]} (EXIF orientation {orientation}); correct the "
        "annotation's size, or restore the image that was annotated",
    )


def _to_relative(stated: Sequence[float], boxes: Boxes, unit: tuple[int, int]) -> _Box:
    """(xmin, ymin, xmax, ymax) in fractions of the frame that the annotation speaks of."""
    a, b, c, d = stated
    if boxes.format.endswith("xyxy"):
        xmin, ymin, xmax, ymax = a, b, c, d
    elif boxes.format.endswith("center_xywh"):
        xmin, ymin, xmax, ymax = a - c / 2, b - d / 2, a + c / 2, b + d / 2
    else:
        xmin, ymin, xmax, ymax = a, b, a + c, b + d
    if not math.isfinite(xmin + ymin + xmax + ymax) or xmax < xmin or ymax < ymin:
        raise RecordError(
            IMPOSSIBLE_BOX,
            f"{_name(stated, boxes)} is inverted or not finite; correct or remove it, or name the "
            "format of the boxes by --box-format",
        )
    width, height = unit
    return xmin / width, ymin / height, xmax / width, ymax / height


def _turn_point(x: float, y: float, orientation: int) -> tuple[float, float]:
    """Where a point of the stored image is once EXIF's orientation is applied, in fractions."""
    if orientation >= 5:
        x, y = y, x
    if orientation in (2, 3, 6, 7):
        x = 1 - x
    if orientation in (3, 4, 7, 8):
        y = 1 - y
    return x, y


def _turn_box(box: _Box, orientation: int) -> _Box:
    if orientation == 1:
        return box
    x1, y1 = _turn_point(box[0], box[1], orientation)
    x2, y2 = _turn_point(box[2], box[3], orientation)
    return min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)


def _turn_keypoints(
    triples: tuple[float, ...], unit: tuple[int, int], orientation: int
) -> tuple[float, ...]:
    turned: list[float] = []
    for x, y, visibility in zip(triples[::3], triples[1::3], triples[2::3], strict=True):
        if not abs(x) + abs(y) < _FARTHEST:  # nor is NaN
            raise RecordError(IMPOSSIBLE_BOX, f"a keypoint at ({x}, {y}); correct or remove it")
        if x or y or visibility:
            x, y = _turn_point(x / unit[0], y / unit[1], orientation)
        turned += (*struct.unpack("2f", struct.pack("2f", x, y)), visibility)
    return tuple(turned)


def _apply_policy(
    box: _Box, policy: Policy, counts: Counter[str], stated: Sequence[float], boxes: Boxes
) -> _Box | None:
    xmin, ymin, xmax, ymax = box
    outside = min(xmin, ymin) < -_TOLERANCE or max(xmax, ymax) > 1 + _TOLERANCE
    if outside and policy == "error":
        raise RecordError(
            BOX_OUTSIDE,
            f"{_name(stated, boxes)} reaches out of the image; correct it, or have such boxes "
            "clipped or dropped",
        )
    if outside and policy == "drop":
        counts[DROPPED_OUTSIDE] += 1
        return None
    usable: _Box = _FLOAT32.unpack(
        _FLOAT32.pack(
            min(max(xmin, 0.0), 1.0),
            min(max(ymin, 0.0), 1.0),
            min(max(xmax, 0.0), 1.0),
            min(max(ymax, 0.0), 1.0),
        )
    )
    if usable[0] < usable[2] and usable[1] < usable[3]:
        if outside:
            counts[CLIPPED] += 1
        return usable
    if policy == "error":
        raise RecordError(
            BOX_WITHOUT_AREA,
            f"{_name(stated, boxes)} has no area; remove it, or use another --box-policy",
        )
    counts[DROPPED_OUTSIDE if outside else DROPPED_NO_AREA] += 1
    return None


def _name(stated: Sequence[float], boxes: Boxes) -> str:
    index = next(i for i, row in enumerate(boxes.coordinates) if row is stated)
    label = f" ({boxes.labels[index]})" if boxes.labels else ""
    return f"box {index + 1}{label} {tuple(stated)} in {boxes.format}"
