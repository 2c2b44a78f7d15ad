"""The objects of an image, as sources state them and as they are stored: one column a fact."""

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

from tfrecord_dataset.image_size import ImageSize


class Mask(NamedTuple):
    """The pixels of one object, as COCO's run lengths.

    Attributes:
        size: Of the image, all of which it covers.
        counts: Pixels outside, inside, outside, …, down each column from the left one on, in
            COCO's compressed form.
    """

    size: ImageSize
    counts: bytes


@dataclasses.dataclass(frozen=True, kw_only=True)
class Objects:
    """The n ≥ 0 objects of one image: columns of n values each, in one order.

    A source states what the annotation says; Inspect turns it into format "rel_xyxy",
    clipped, in the frame of the stored image (`kinds.boxes`).

    Attributes:
        boxes: Bounding boxes: n rows of four numbers, in `format`.
        format: One of `kinds.boxes.FORMATS` (Keras's names): "xyxy", "xywh", "center_xywh" in
            pixels, or the same with the prefix "rel_" in fractions of the image.
        labels: n class names; empty when the objects have no classes.
        attributes: More facts of each object, n values a name: "difficult", "is_crowd"
            (ints), "area" (float, pixels²), ….
        keypoints: n rows of (x, y, visibility) triples one after the other, x and y in
            the unit of `format`; empty when there are none.
        keypoint_names: Of the points of each object, in their order; empty where they have none.
        keypoint_flips: For each point the number of the one that it is in a mirror: of a left eye
            the right one's; empty where that is not known.
        polygons: n outlines of any number of rings each, a ring x, y of one corner after the other
            in the unit of `format`; empty when there are none. They are never clipped.
        rotated: n boxes that are not upright, x, y of their four corners in turn in the unit of
            `format`, () for one that is upright; empty when all are.
        masks: n masks, None for the pixels that the object's polygons surround; empty when no
            object has one.
        image_size: The size that the annotation states, if it does; once inspected, of the image
            as stored.
    """

    boxes: tuple[tuple[float, float, float, float], ...]
    format: str = "xyxy"
    labels: tuple[str, ...] = ()
    attributes: Mapping[str, tuple[int | float | str, ...]] = dataclasses.field(
        default_factory=dict
    )
    keypoints: tuple[tuple[float, ...], ...] = ()
    keypoint_names: tuple[str, ...] = ()
    keypoint_flips: tuple[int, ...] = ()
    polygons: tuple[tuple[tuple[float, ...], ...], ...] = ()
    rotated: tuple[tuple[float, ...], ...] = ()
    masks: tuple[Mask | None, ...] = ()
    image_size: ImageSize | None = None
