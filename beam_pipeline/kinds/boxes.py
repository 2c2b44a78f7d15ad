"""Objects of an image: from what an annotation states to fractions of the upright image.

Boxes decide which objects are kept; of these every other column is placed (`kinds.columns`). In
which frame an annotation speaks, `kinds.frame` knows.

Which unit it speaks in is not guessed: boxes in pixels whose numbers are all 1 or less, and boxes
in fractions with a number beyond 2, are refused.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.column import IMPOSSIBLE_BOX, MALFORMED
from beam_pipeline.kinds.columns import COLUMNS
from beam_pipeline.kinds.frame import Box, Frame, clipped, is_outside
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

# A box may reach out of its image, but a number beyond this is no fraction of anything.
MAX_FRACTION = 2.0
# Of one image: many times what the most crowded ones have, and 100 MB of memory.
MAX_BOXES = 100_000


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
        stated: Whether a user states the format, so that a box may be the first pixel alone.

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
    kept: list[int] = []
    boxes: list[Box] = []
    for index, row in enumerate(objects.boxes):
        usable = _usable(spoken.box(*_corners(row, objects)), policy, counts, row, objects)
        if usable is not None:
            kept.append(index)
            boxes.append(usable)
    placed: dict[str, Any] = {
        column.field: column.place(values, kept, spoken, frame)
        for column in COLUMNS
        if (values := getattr(objects, column.field))
    }
    return Objects(
        boxes=tuple(boxes),
        format="rel_xyxy",
        keypoint_names=objects.keypoint_names,
        keypoint_flips=objects.keypoint_flips,
        image_size=frame.stored_size if boxes else None,
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
    relative = objects.format.startswith("rel_")
    absolute = objects.format.removeprefix("rel_")
    if relative:
        wrong = [row for row in objects.boxes if max(map(abs, row)) > MAX_FRACTION]
        if wrong:
            raise RecordError(
                IN_PIXELS,
                f"{_name(wrong[0], objects)}, in fractions of the image, has a number beyond "
                f"{MAX_FRACTION:g}; if boxes are in pixels, pass --box-format {absolute}",
            )
        return
    solid = [row for row in objects.boxes if _has_area(row, absolute)]
    if not solid or any(abs(number) > 1 for row in solid for number in row):
        return
    in_whole_pixels = all(float(number).is_integer() for row in solid for number in row)
    if not (stated and in_whole_pixels):
        raise RecordError(
            IN_FRACTIONS,
            f"{_name(solid[0], objects)}, in pixels, has no number beyond 1, nor has any other of "
            f"the image; if boxes are in fractions of the image, pass --box-format rel_{absolute}"
            + ("" if not in_whole_pixels else f"; if it is one pixel, --box-format {absolute}"),
        )


def _has_area(row: Sequence[float], absolute: str) -> bool:
    a, b, c, d = row
    return (c > a and d > b) if absolute == "xyxy" else (c > 0 and d > 0)


def _corners(stated: Sequence[float], objects: Objects) -> Box:
    """(xmin, ymin, xmax, ymax) in the unit of the annotation."""
    a, b, c, d = stated
    if objects.format.endswith("xyxy"):
        xmin, ymin, xmax, ymax = a, b, c, d
    elif objects.format.endswith("center_xywh"):
        xmin, ymin, xmax, ymax = a - c / 2, b - d / 2, a + c / 2, b + d / 2
    else:
        xmin, ymin, xmax, ymax = a, b, a + c, b + d
    if not math.isfinite(xmin + ymin + xmax + ymax) or xmax < xmin or ymax < ymin:
        raise RecordError(
            IMPOSSIBLE_BOX,
            f"{_name(stated, objects)} is inverted or not finite; correct or remove it, or name "
            "the format of the boxes by --box-format",
        )
    return xmin, ymin, xmax, ymax


def _usable(
    box: Box, policy: Policy, counts: Counter[str], stated: Sequence[float], objects: Objects
) -> Box | None:
    outside = is_outside(box)
    if outside and policy == "error":
        raise RecordError(
            BOX_OUTSIDE,
            f"{_name(stated, objects)} reaches out of the image; correct it, or have such boxes "
            "clipped or dropped",
        )
    usable = None if outside and policy == "drop" else clipped(box)
    if usable is not None:
        if outside:
            counts[CLIPPED] += 1
    elif policy == "error":
        raise RecordError(
            BOX_WITHOUT_AREA,
            f"{_name(stated, objects)} has no area; remove it, or use another --box-policy",
        )
    else:
        counts[DROPPED_OUTSIDE if outside else DROPPED_NO_AREA] += 1
    return usable


def _name(stated: Sequence[float], objects: Objects) -> str:
    index = next(i for i, row in enumerate(objects.boxes) if row is stated)
    label = f" ({objects.labels[index]})" if objects.labels else ""
    return f"box {index + 1}{label} {tuple(stated)} in {objects.format}"
