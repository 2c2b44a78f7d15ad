"""Objects of an image: from what an annotation states to fractions of the upright image.

Boxes decide which objects are kept; of these every other column is placed (`kinds.columns`). In
which frame an annotation speaks, `kinds.frame` knows.

Which unit it speaks in is not guessed: boxes in pixels whose numbers are all 1 or less, and boxes
in fractions with a number beyond 2, are refused.
"""

import array
import itertools
import math
import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.columns import COLUMNS, taken
from beam_pipeline.kinds.frame import IMPOSSIBLE_BOX, MALFORMED, Box, Frame
from beam_pipeline.kinds.rules import Policy
from beam_pipeline.records import Objects

FORMATS = ("xyxy", "xywh", "center_xywh", "rel_xyxy", "rel_xywh", "rel_center_xywh")

# What is counted.
CLIPPED = "box clipped"
DROPPED_OUTSIDE = "box dropped: outside"
DROPPED_NO_AREA = "box dropped: no area"
# Reasons of `Rejected`.
IN_FRACTIONS = "boxes in fractions"
IN_PIXELS = "boxes in pixels"
BOX_OUTSIDE = "box outside image"
BOX_WITHOUT_AREA = "box without area"

# A box may reach out of its image, but a larger number is not a fraction.
MAX_FRACTION = 2.0
# Of one image: many times what the most crowded ones have, and 100 MB of memory.
MAX_BOXES = 100_000
# Of the image's sides: less is the rounding of whoever wrote the annotation.
_REMEDY = "and a table, COCO or VOC has them, set box_format to"
_TOLERANCE = 1e-6


def place(
    objects: Objects, frame: Frame, *, policy: Policy = "clip", stated: bool = False
) -> tuple[Objects, Counter[str]]:
    """Turns objects into "rel_xyxy" of the upright image, and drops those that cannot be used.

    Coordinates are rounded to float32, so that storing them loses nothing, with
    0 ≤ min < max ≤ 1.

    Args:
        objects: As the annotation states them.
        frame: The image's.
        policy: What becomes of a box that reaches out of the image (by more than a millionth):
            "clip" cuts it off, and drops it when nothing is left; "drop" drops it; "error" raises.
            A box without area is dropped too, or raises with "error".
        stated: Whether a user states the format, so that a box may be only the first pixel.

    Returns:
        The objects that are left, and how many were `CLIPPED`, `DROPPED_OUTSIDE` and
        `DROPPED_NO_AREA`.

    Raises:
        RecordError: "size mismatch"; "boxes in fractions", "boxes in pixels": not what the format
            says; "impossible box": not finite or inverted, or a keypoint
            not finite, under any policy;
            "box outside image" and "box without area": under "error"; "malformed annotation":
            numbers of labels, attributes or keypoints that differ from that of the boxes.
    """
    counts: Counter[str] = Counter()
    _check_lengths(objects)
    if not objects.boxes:
        return Objects(boxes=(), format="rel_xyxy", attributes=objects.attributes), counts
    _check_unit(objects, stated)
    if min(frame.size) < 1:
        raise RecordError(MALFORMED, f"an image of {frame.size} pixels")
    spoken = frame.of_annotation(objects.image_size, relative=objects.format.startswith("rel_"))
    sides = spoken.boxes(_corners(objects))
    least, most = -_TOLERANCE, 1 + _TOLERANCE
    outside = [a < least or b < least or c > most or d > most for a, b, c, d in sides]
    inside = _clipped(sides)
    usable = [box[0] < box[2] and box[1] < box[3] for box in inside]
    if policy == "error":
        _check_all_usable(outside, usable, objects)
    if policy == "drop":
        usable = [one and not other for one, other in zip(usable, outside, strict=True)]
    kept = [*itertools.compress(range(len(inside)), usable)]
    if len(kept) < len(inside) or any(outside):
        counts.update(map(_change, usable, outside))
        counts.pop("", None)
        inside = taken(inside, kept)
    placed: dict[str, Any] = {
        column.field: column.place(values, kept, spoken, frame)
        for column in COLUMNS
        if (values := getattr(objects, column.field))
    }
    return Objects(
        boxes=tuple(inside),
        format="rel_xyxy",
        keypoint_names=objects.keypoint_names,
        keypoint_flips=objects.keypoint_flips,
        image_size=frame.stored_size if kept else None,
        **placed,
    ), counts


def check_number(number: int) -> None:
    """Raises RecordError where an image has more boxes than any has; before they are made."""
    if number > MAX_BOXES:
        raise RecordError(MALFORMED, f"more than {MAX_BOXES:,} boxes of one image")


def _check_lengths(objects: Objects) -> None:
    number = len(objects.boxes)
    if objects.format not in FORMATS:
        raise RecordError(
            MALFORMED, f"box format {objects.format!r}; give one of {', '.join(FORMATS)}"
        )
    for column in COLUMNS:
        column.check_length(getattr(objects, column.field), number)


def _check_unit(objects: Objects, stated: bool) -> None:
    """Raises RecordError where boxes are in fractions that should be in pixels, or the reverse."""
    absolute = objects.format.removeprefix("rel_")
    if objects.format.startswith("rel_"):
        large = [max(map(abs, row)) > MAX_FRACTION for row in objects.boxes]
        if any(large):
            raise RecordError(
                IN_PIXELS,
                f"{_name(large, objects)}, in fractions of the image, has a number beyond "
                f"{MAX_FRACTION:g}; if boxes are in pixels, {_REMEDY} {absolute}",
            )
        return
    if absolute == "xyxy":
        solid = [c > a and d > b for a, b, c, d in objects.boxes]
    else:
        solid = [c > 0 and d > 0 for _, _, c, d in objects.boxes]
    rows = [*itertools.compress(objects.boxes, solid)]
    if not rows or any(abs(number) > 1 for row in rows for number in row):
        return
    in_whole_pixels = all(float(number).is_integer() for row in rows for number in row)
    if not (stated and in_whole_pixels):
        raise RecordError(
            IN_FRACTIONS,
            f"{_name(solid, objects)}, in pixels, has no number beyond 1, nor has any other of "
            f"the image; if boxes are in fractions of the image, {_REMEDY} rel_{absolute}"
            + ("" if not in_whole_pixels else f"; if it is one pixel, to {absolute}"),
        )


def _corners(objects: Objects) -> Sequence[Box]:
    """(xmin, ymin, xmax, ymax) of each box, in the unit of the annotation."""
    if objects.format.endswith("center_xywh"):
        boxes: Sequence[Box] = [
            (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
            for x, y, width, height in objects.boxes
        ]
    elif objects.format.endswith("xywh"):
        boxes = [(x, y, x + width, y + height) for x, y, width, height in objects.boxes]
    else:
        boxes = objects.boxes
    possible = [
        xmin <= xmax and ymin <= ymax and math.isfinite(xmin + ymin + xmax + ymax)
        for xmin, ymin, xmax, ymax in boxes
    ]
    if not all(possible):
        raise RecordError(
            IMPOSSIBLE_BOX,
            f"{_name(map(operator.not_, possible), objects)} is inverted or not finite; correct or "
            "remove it, or, of a table, COCO or VOC, set box_format to the format of the boxes",
        )
    return boxes


def _clipped(boxes: Sequence[Box]) -> Sequence[Box]:
    """What of boxes in fractions is in the image, in float32."""
    within = [
        side if 0.0 <= side <= 1.0 else min(max(side, 0.0), 1.0) for box in boxes for side in box
    ]
    sides = array.array("f", within)
    numbers = iter(sides.tolist())
    return [*zip(numbers, numbers, numbers, numbers, strict=True)]


def _check_all_usable(outside: Sequence[bool], usable: Sequence[bool], objects: Objects) -> None:
    if any(outside):
        raise RecordError(
            BOX_OUTSIDE,
            f"{_name(outside, objects)} reaches out of the image; correct it, or have such boxes "
            "clipped or dropped",
        )
    if not all(usable):
        raise RecordError(
            BOX_WITHOUT_AREA,
            f"{_name(map(operator.not_, usable), objects)} has no area; remove it, or use another "
            "box_policy",
        )


def _change(is_usable: bool, is_outside: bool) -> str:
    """What is counted of a box."""
    if is_usable:
        return CLIPPED if is_outside else ""
    return DROPPED_OUTSIDE if is_outside else DROPPED_NO_AREA


def _name(which: Iterable[bool], objects: Objects) -> str:
    """The first of some boxes, for messages."""
    index = next(itertools.compress(itertools.count(), which))
    label = f" ({objects.labels[index]})" if objects.labels else ""
    return f"box {index + 1}{label} {tuple(objects.boxes[index])} in {objects.format}"
