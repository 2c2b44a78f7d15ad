"""Converts an image's objects from their annotation to fractions of the upright image.

Boxes determine which objects are kept; the other columns (`kinds.object_columns`) of these follow.
`kinds.frame` finds the frame of an annotation.

The unit is not guessed: boxes in pixels are refused if all numbers are 1 or less, and boxes in
fractions if a number exceeds 2.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.frame import IMPOSSIBLE_BOX, MALFORMED, Frame
from beam_pipeline.kinds.kind import BOX_POLICIES, BoxPolicy
from beam_pipeline.kinds.object_columns import COLUMNS, Placement
from beam_pipeline.outlines import Boxes
from beam_pipeline.records import Objects
from tfrecord_dataset.image_size import ImageSize

Placed = tuple[Objects, Counter[str]]
"""Objects as fractions, and what was changed and how often."""
_Numbers = npt.NDArray[np.float64]
_Which = npt.NDArray[np.bool_]

FORMATS = ("xyxy", "xywh", "center_xywh", "rel_xyxy", "rel_xywh", "rel_center_xywh")

# Notes.
CLIPPED = "box clipped"
DROPPED_OUTSIDE = "box dropped: outside"
DROPPED_NO_AREA = "box dropped: no area"
# Reasons of `Rejected`.
IN_FRACTIONS = "boxes in fractions"
IN_PIXELS = "boxes in pixels"
BOX_OUTSIDE = "box outside image"
BOX_WITHOUT_AREA = "box without area"

# A box may extend beyond its image, but larger numbers are not fractions.
MAX_FRACTION = 2.0
# Per image: far more than in the most crowded images, and 100 MB of memory.
MAX_BOXES = 100_000
_REMEDY = "and a table, COCO or VOC has them, set box_format to"
# In fractions of the image's sides; smaller excesses are rounding errors of the annotation.
_TOLERANCE = 1e-6


def place_column(
    column: Sequence[Objects],
    frames: Sequence[Frame],
    *,
    policy: str = "clip",
    stated: bool = False,
) -> list[Placed | RecordError]:
    """Convert objects to "rel_xyxy" of the upright image, and drop unusable ones.

    Coordinates are rounded to float32, so that storing them is lossless, with
    0 ≤ min < max ≤ 1. The boxes of all records are one array, as some NumPy calls take as long as
    ten boxes.

    Args:
        column: The objects of each record, as its annotation states them.
        frames: The frame of each record's image.
        policy: Treatment of a box that extends beyond the image (by more than a millionth), one
            of `BOX_POLICIES`. A box without area is dropped, too, or refused with "error".
        stated: Whether the user states the format, so that a box may be just the first pixel.

    Returns:
        For each record the kept objects, and the numbers of `CLIPPED`, `DROPPED_OUTSIDE` and
        `DROPPED_NO_AREA` ones; or the RecordError that refuses it.
    """
    results: dict[int, Placed | RecordError] = {}
    by_format: defaultdict[str, list[tuple[int, Boxes]]] = defaultdict(list)
    for at, objects in enumerate(column):
        try:
            _check_lengths(objects)
            if objects.boxes:
                by_format[objects.format].append((at, _boxes_of(objects)))
            else:
                none = Objects(boxes=(), format="rel_xyxy", attributes=objects.attributes)
                results[at] = none, Counter()
        except RecordError as error:
            results[at] = error
    for numbered in by_format.values():
        for some in _parts(numbered):
            places, boxes = zip(*some, strict=True)
            batch = _Boxes([column[at] for at in places], [frames[at] for at in places], boxes)
            results.update(zip(places, batch.placed(BOX_POLICIES[policy], stated), strict=True))
    return [results[at] for at in range(len(column))]


def check_number(number: int) -> None:
    """Raise RecordError for an implausible number of boxes, before they are created."""
    if number > MAX_BOXES:
        raise RecordError(MALFORMED, f"more than {MAX_BOXES:,} boxes of one image")


def _check_lengths(objects: Objects) -> None:
    number = len(objects.boxes)
    if objects.format not in FORMATS:
        raise RecordError(
            MALFORMED, f"box format {objects.format!r}; give one of {', '.join(FORMATS)}"
        )
    for column in COLUMNS:
        if values := getattr(objects, column.field):
            column.check_length(values, number)


def _boxes_of(objects: Objects) -> Boxes:
    try:
        return Boxes.of(objects.boxes)
    except (TypeError, ValueError, OverflowError) as error:
        raise RecordError(MALFORMED, f"boxes {objects.boxes!r:.80}, not of four numbers") from error


def _parts(numbered: Sequence[tuple[int, Boxes]]) -> Iterator[Sequence[tuple[int, Boxes]]]:
    """Yield runs of records with at most MAX_BOXES boxes in total, or a single larger record."""
    start = number = 0
    for at, (_, boxes) in enumerate(numbered):
        number += len(boxes)
        if number > MAX_BOXES and at > start:
            yield numbered[start:at]
            start, number = at, len(boxes)
    yield numbered[start:]


class _Boxes:
    """Boxes of several records in the same format, as one array."""

    def __init__(
        self, column: Sequence[Objects], frames: Sequence[Frame], boxes: Sequence[Boxes]
    ) -> None:
        self._column, self._frames = column, frames
        self._rows = np.frombuffer(b"".join([box.data for box in boxes])).reshape(-1, 4)
        self._counts = [*map(len, boxes)]
        self._starts = [0, *itertools.accumulate(self._counts)]
        self._record = np.repeat(np.arange(len(column)), self._counts)
        self._format = column[0].format
        self._errors: dict[int, RecordError] = {}

    def placed(self, policy: BoxPolicy, stated: bool) -> Iterator[Placed | RecordError]:
        """Yield the results of `place_column`."""
        if self._format.startswith("rel_"):
            self._check_fractions()
        else:
            self._check_pixels(stated)
        self._stated_frames = [*map(self._stated_frame, range(len(self._frames)))]
        with np.errstate(over="ignore", invalid="ignore"):
            sides = self._fractions(self._corners())
            outside = _any((sides < -_TOLERANCE) | (sides > 1 + _TOLERANCE))
        inside = _clipped(sides)
        usable = ~_any(~(inside[:, :2] < inside[:, 2:]))
        if policy.refuses:
            self._refuse(
                outside,
                BOX_OUTSIDE,
                " reaches out of the image; correct it, or have such boxes clipped or dropped",
            )
            self._refuse(
                ~usable, BOX_WITHOUT_AREA, " has no area; remove it, or use another box_policy"
            )
        if policy.least_inside:
            usable &= ~outside | (_shares_inside(sides) >= policy.least_inside)
        yield from self._results(inside.astype(np.float64), usable, outside)

    def _results(
        self, inside: _Numbers, usable: _Which, outside: _Which
    ) -> Iterator[Placed | RecordError]:
        changed = {*self._record[~usable | outside].tolist()}
        data, nothing = inside.tobytes(), Counter[str]()
        for at, (start, end) in enumerate(itertools.pairwise(self._starts)):
            kept: Sequence[int] = range(end - start)
            boxes, counts = data[32 * start : 32 * end], nothing
            if at in changed:
                notes = map(_change, usable[start:end], outside[start:end])
                counts = Counter(filter(None, notes))
                kept = np.flatnonzero(usable[start:end]).tolist()
                boxes = inside[start:end][kept].tobytes()
            try:
                yield self._errors.get(at) or (self._objects(at, Boxes(boxes), kept), counts)
            except RecordError as error:
                yield error

    def _objects(self, at: int, boxes: Boxes, kept: Sequence[int]) -> Objects:
        objects, frame = self._column[at], self._frames[at]
        placement = Placement(kept, self._stated_frames[at], frame)
        columns: dict[str, Any] = {
            column.field: column.place(values, placement)
            for column in COLUMNS
            if (values := getattr(objects, column.field))
        }
        return Objects(
            boxes=boxes,
            format="rel_xyxy",
            keypoint_names=objects.keypoint_names,
            keypoint_flips=objects.keypoint_flips,
            image_size=frame.stored_size if kept else None,
            **columns,
        )

    def _refuse(self, rows: _Which, reason: str, detail: str) -> None:
        """Refuse the records of some rows, naming the first row, unless they are refused."""
        for row in np.flatnonzero(rows).tolist():
            at = int(self._record[row])
            if at not in self._errors:
                box = _name(self._column[at], row - self._starts[at])
                self._errors[at] = RecordError(reason, f"{box}{detail}")

    def _check_fractions(self) -> None:
        """Refuse records whose boxes are in pixels."""
        self._refuse(
            _any(np.abs(self._rows) > MAX_FRACTION),
            IN_PIXELS,
            f", in fractions of the image, has a number beyond {MAX_FRACTION:g}; if boxes are in "
            f"pixels, {_REMEDY} {self._format.removeprefix('rel_')}",
        )

    def _check_pixels(self, stated: bool) -> None:
        """Refuse records whose boxes are in fractions."""
        rows, number = self._rows, len(self._column)
        solid = ~_any(~(rows[:, 2:] > (rows[:, :2] if self._format == "xyxy" else 0)))  # NaN is not
        large = solid & _any(np.abs(rows) > 1)
        has_solid, has_large = (
            np.bincount(self._record[some], minlength=number) > 0 for some in (solid, large)
        )
        small = has_solid & ~has_large
        if stated:
            parts = solid & _any(rows != np.trunc(rows))
            small &= np.bincount(self._record[parts], minlength=number) > 0
        one_pixel = "" if stated else f", or if it is one pixel, to {self._format}"
        detail = (
            ", in pixels, has no number beyond 1, nor has any other of the image; if boxes are in "
            f"fractions of the image, {_REMEDY} rel_{self._format}{one_pixel}"
        )
        self._refuse(solid & small[self._record], IN_FRACTIONS, detail)

    def _stated_frame(self, at: int) -> Frame:
        """Return the frame of a record's numbers."""
        frame, stated = self._frames[at], self._column[at].image_size
        try:
            if min(frame.size) < 1:
                raise RecordError(MALFORMED, f"an image of {frame.size} pixels")
            return frame.of_annotation(stated, relative=self._format.startswith("rel_"))
        except RecordError as error:
            self._errors.setdefault(at, error)
            return Frame(size=ImageSize(1, 1))

    def _corners(self) -> _Numbers:
        """Return (xmin, ymin, xmax, ymax) of each box, in the unit of the annotation."""
        first, second = self._rows[:, :2], self._rows[:, 2:]
        if self._format.endswith("center_xywh"):
            corners = np.hstack((first - second / 2, first + second / 2))
        elif self._format.endswith("xywh"):
            corners = np.hstack((first, first + second))
        else:
            corners = self._rows
        inverted = _any(corners[:, :2] > corners[:, 2:])
        self._refuse(
            inverted | _any(~np.isfinite(corners)),
            IMPOSSIBLE_BOX,
            " is inverted or not finite; correct or remove it, or, of a table, COCO or VOC, set "
            "box_format to the format of the boxes",
        )
        return corners

    def _fractions(self, corners: _Numbers) -> _Numbers:
        """Convert corners to fractions of the upright images."""
        sizes = np.array([each.size[::-1] * 2 for each in self._stated_frames], np.float64)
        sides = corners / np.repeat(sizes, self._counts, axis=0)
        for at, frame in enumerate(self._stated_frames):
            if frame.orientation != 1:
                rows = slice(self._starts[at], self._starts[at + 1])
                sides[rows] = frame.boxes(corners[rows])
        return sides


def _any(numbers: _Which) -> _Which:
    """Whether each row has a true value."""
    rows: _Which = np.logical_or.reduce(numbers, axis=1)
    return rows


def _clipped(boxes: _Numbers) -> npt.NDArray[np.float32]:
    """Clip boxes in fractions to the image."""
    within = boxes.copy()
    within[within < 0.0] = 0.0  # keeps -0.0
    within[within > 1.0] = 1.0
    return within.astype(np.float32)


def _shares_inside(boxes: _Numbers) -> npt.NDArray[np.float64]:
    """Return the share of each box's area, in fractions of the image, that is in the image."""
    inside = np.clip(boxes, 0.0, 1.0)
    whole, part = (np.prod(each[:, 2:] - each[:, :2], axis=1) for each in (boxes, inside))
    with np.errstate(divide="ignore", invalid="ignore"):
        shares: npt.NDArray[np.float64] = part / whole
    return shares


def _change(is_usable: bool, is_outside: bool) -> str:
    """Return the note for a box; "" for none."""
    if is_usable:
        return CLIPPED if is_outside else ""
    return DROPPED_OUTSIDE if is_outside else DROPPED_NO_AREA


def _name(objects: Objects, index: int) -> str:
    """Name a box in messages."""
    label = f" ({objects.labels[index]})" if objects.labels else ""
    return f"box {index + 1}{label} {tuple(objects.boxes[index])} in {objects.format}"
