"""Polygons, rotated boxes and masks of objects: what surrounds each object, or its pixels."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.column import IMPOSSIBLE_BOX, MALFORMED, Column, taken
from beam_pipeline.kinds.frame import Frame
from beam_pipeline.kinds.kind import Stored
from beam_pipeline.kinds.masks import checked, mask_of_polygons, png_of, turned
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.records import Mask, Objects
from tfrecord_dataset.example import FeatureValue
from tfrecord_dataset.feature import Feature
from tfrecord_dataset.object_columns import ROTATED, ROTATED_PARTS

Ring = tuple[float, ...]

FEWEST_CORNERS = 3
# Of an image's sides: a corner may lie outside, but not so far that drawing it takes a while.
_FARTHEST = 10.0
# Of a corner's text, in 0..1: a hundredth of a pixel of an image of 10,000.
_DECIMALS = 6
# Of an angle: so little less than π/2 is -π/2.
_ROUNDING = 1e-6
# Of all masks of an image; each pixel takes about a nanosecond to be stored.
_MOST_PIXELS = 1 << 34


class Polygons(Column):
    """Outlines of any number of rings, which end where they began; never clipped."""

    field = "polygons"

    def check_length(self, values: Sequence[Any], number: int) -> None:
        if values and len(values) != number:
            raise RecordError(MALFORMED, f"{number} boxes but {len(values)} polygons")

    def check(self, name: str, values: Sequence[Sequence[Ring]]) -> tuple[tuple[Ring, ...], ...]:
        for rings in values:
            for ring in rings:
                if len(ring) < 2 * FEWEST_CORNERS or len(ring) % 2:
                    raise RecordError(
                        MALFORMED, f"a polygon of {len(ring)} numbers; x, y of 3 corners are fewest"
                    )
        return tuple(map(tuple, values))

    def place(
        self, values: Sequence[Sequence[Ring]], kept: Sequence[int], frame: Frame, image: Frame
    ) -> tuple[tuple[Ring, ...], ...]:
        return tuple(tuple(_placed(ring, frame) for ring in rings) for rings in taken(values, kept))

    def observe(self, objects: Objects, source: str, observed: Observed) -> None:
        if any(objects.polygons):
            observed.geometry |= {"polygon"}

    def complete(
        self, feature: Feature, observed: Observed, declared: tuple[str, ...]
    ) -> Mapping[str, Any]:
        """Of rotated boxes and masks, too."""
        return {"geometry": feature.geometry or tuple(sorted(observed.geometry))}

    def encode(
        self, feature: Feature, objects: Objects, stored: Stored
    ) -> Mapping[str, FeatureValue]:
        """A text an object: a JSON list of its rings, [] where it has none."""
        if "polygon" not in feature.geometry:
            return {}
        outlines = objects.polygons or ((),) * len(objects.boxes)
        return {"polygon": list(map(_text, outlines))}


class Rotated(Column):
    """Boxes that are not upright, by their four corners; never clipped."""

    field = "rotated"

    def check_length(self, values: Sequence[Any], number: int) -> None:
        if values and len(values) != number:
            raise RecordError(MALFORMED, f"{number} boxes but {len(values)} rotated ones")
        if wrong := [each for each in values if len(each) not in (0, 8)]:
            raise RecordError(
                MALFORMED, f"a rotated box of {len(wrong[0])} numbers, not x, y of four corners"
            )

    def place(
        self, values: Sequence[Ring], kept: Sequence[int], frame: Frame, image: Frame
    ) -> tuple[Ring, ...]:
        return tuple(each and _placed(each, frame) for each in taken(values, kept))

    def observe(self, objects: Objects, source: str, observed: Observed) -> None:
        if any(objects.rotated):
            observed.geometry |= {ROTATED}

    def encode(
        self, feature: Feature, objects: Objects, stored: Stored
    ) -> Mapping[str, FeatureValue]:
        """Five numbers an object, also of the upright ones."""
        if ROTATED not in feature.geometry:
            return {}
        if objects.boxes and objects.image_size is None:
            raise RecordError(MALFORMED, "rotated boxes of an image whose size is not known")
        rows = [_rotated(objects, index) for index in range(len(objects.boxes))]
        columns = zip(*rows, strict=True) if rows else [()] * len(ROTATED_PARTS)
        return {part: list(column) for part, column in zip(ROTATED_PARTS, columns, strict=True)}


class Masks(Column):
    """Pixels of the image, as run lengths or as those that the object's polygons surround.

    An image without masks has them, too, where others do: its polygons are filled.
    """

    field = "masks"

    def check_length(self, values: Sequence[Any], number: int) -> None:
        if values and len(values) != number:
            raise RecordError(MALFORMED, f"{number} boxes but {len(values)} masks")

    def check(self, name: str, values: Sequence[Any]) -> tuple[Mask | None, ...]:
        return tuple(None if each is None else checked(each) for each in values)

    def place(
        self, values: Sequence[Mask | None], kept: Sequence[int], frame: Frame, image: Frame
    ) -> tuple[Mask | None, ...]:
        height, width = image.stored_size
        if len(kept) * height * width > _MOST_PIXELS:
            raise RecordError(
                MALFORMED,
                f"{len(kept):,} masks of {width}x{height} pixels, too many to be stored; cut the "
                "image into parts, or pass --no-masks",
            )
        return tuple(
            each and turned(each, image.of_annotation(each.size, relative=False))
            for each in taken(values, kept)
        )

    def observe(self, objects: Objects, source: str, observed: Observed) -> None:
        if objects.masks:
            observed.geometry |= {"mask"}

    def encode(
        self, feature: Feature, objects: Objects, stored: Stored
    ) -> Mapping[str, FeatureValue]:
        """A PNG file an object, of the image's size, as Model Garden has it; zeros for no mask."""
        if "mask" not in feature.geometry:
            return {}
        if objects.boxes and objects.image_size is None:
            raise RecordError(MALFORMED, "masks of an image whose size is not known")
        return {"mask": [_png(objects, index) for index in range(len(objects.boxes))]}


def _rotated(objects: Objects, index: int) -> tuple[float, ...]:
    """cx, cy, w, h in fractions, and the angle of the longer side w, clockwise in -π/2..π/2.

    Of corners that are no exact rectangle in the stored image, opposite sides are averaged.
    """
    assert objects.image_size is not None
    xmin, ymin, xmax, ymax = objects.boxes[index]
    upright = (xmin, ymin, xmax, ymin, xmax, ymax, xmin, ymax)
    ring = (objects.rotated[index] if objects.rotated else ()) or upright
    image = np.array(objects.image_size[::-1], np.float64)
    corners = np.reshape(ring, (4, 2)) * image
    first, second = (corners[[1, 2]] - corners[[0, 3]], corners[[2, 3]] - corners[[1, 0]])
    long, short = sorted((first.mean(axis=0), second.mean(axis=0)), key=np.linalg.norm)[::-1]
    turn = (math.atan2(long[1], long[0]) + math.pi / 2) % math.pi
    angle = (turn if math.pi - turn > _ROUNDING else 0.0) - math.pi / 2
    sides = (np.linalg.norm(long), np.linalg.norm(short)) / image
    return (*(corners.mean(axis=0) / image).tolist(), *sides.tolist(), angle)


def _text(rings: Sequence[Ring]) -> bytes:
    rounded = [(np.round(ring, _DECIMALS) + 0.0).tolist() for ring in rings]
    return json.dumps(rounded, separators=(",", ":")).encode()


def _png(objects: Objects, index: int) -> bytes:
    assert objects.image_size is not None
    mask = objects.masks[index] if objects.masks else None
    rings = objects.polygons[index] if objects.polygons else ()
    return png_of(mask or mask_of_polygons(rings, objects.image_size))


def _placed(ring: Sequence[float], frame: Frame) -> Ring:
    try:
        x, y = np.array(ring, np.float64).reshape(-1, 2).T
    except (TypeError, ValueError) as error:
        raise RecordError(MALFORMED, f"a polygon of {ring!r:.80}, not of numbers") from error
    corners = np.stack(frame.point(x, y), axis=-1).ravel()
    if not np.abs(corners).max() <= _FARTHEST:  # nor is NaN
        raise RecordError(
            IMPOSSIBLE_BOX,
            f"a polygon {tuple(ring)!r:.80} with a corner ten images away; correct or remove it",
        )
    return tuple((corners + 0.0).tolist())  # no -0.0
