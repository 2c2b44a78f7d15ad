"""COCO's JSON files: instances and person keypoints, streamed, never loaded whole.

Format: https://cocodataset.org/#format-data
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

import apache_beam as beam

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import Boxes, FileRef, Image, Record, Rejected
from beam_pipeline.sources.coco.files import find_coco_files
from beam_pipeline.sources.coco.stream import (
    MALFORMED,
    CocoAnnotation,
    CocoImage,
    malformed,
    read_coco,
)
from beam_pipeline.sources.gather import ReadAndGather


@dataclasses.dataclass
class ReadCoco(beam.PTransform):
    """The images of COCO JSON files, with their boxes.

    Yields a Record for every image that a file describes, with "boxes" in format "xywh"
    (none where it has no annotations), their attributes `is_crowd` (int) and `area` (float,
    pixels²; width times height where it is not stated) and keypoints where there are any;
    one DeclaredClasses a file; a bad Rejected for every image with an annotation that
    cannot be used, for every annotation of an unknown image, and for a file that is not
    JSON to its end, of which nothing is used.

    Attributes:
        path: A JSON file, or a folder that holds `annotations/instances_<split>.json` and
            the images in `<split>/`, `images/<split>/` or `images/`, or Roboflow's
            `<split>/_annotations.coco.json` with the images beside.
        image_root: The folder of the images, where it is another one.
    """

    path: str
    image_root: str | None = None

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection:
        files, left_aside = find_coco_files(self.path, self.image_root)
        num_bytes = sum(size or 0 for size in storage.sizes(file.path for file in files))
        return pipeline | ReadAndGather([*files, *left_aside], num_bytes, read_coco, joined)


def joined(key: str, values: list[CocoImage | CocoAnnotation]) -> Iterator[Record | Rejected]:
    """The record of one image id, from all that one file states of it.

    Args:
        key: "<file>\\0<image id>".
        values: The images of this id (one, if all is well), then their annotations.
    """
    file, _, image_id = key.partition("\0")
    images = [value for value in values if isinstance(value, CocoImage)]
    annotations = [value for value in values if isinstance(value, CocoAnnotation)]
    if not images:
        for annotation in annotations:
            yield malformed(
                f"{file}: annotation {annotation.annotation_id}",
                f"belongs to image {image_id}, which the file does not describe",
            )
    elif len(images) > 1:
        names = ", ".join(image.key for image in images)
        for image in images:
            yield malformed(image.source, f"id {image_id} is given to {names}")
    else:
        try:
            yield record_of(images[0], annotations)
        except RecordError as error:
            yield Rejected(source=images[0].source, reason=error.reason, detail=error.detail)


def record_of(image: CocoImage, annotations: list[CocoAnnotation]) -> Record:
    """One image with its boxes.

    Raises:
        RecordError: An annotation cannot be used; the message names it.
    """
    for annotation in annotations:
        if fault := _fault(annotation):
            raise RecordError(
                MALFORMED, f"{image.key}: annotation {annotation.annotation_id}: {fault}"
            )
    labels = tuple(a.category for a in annotations if a.category is not None)
    if labels and len(labels) < len(annotations):
        raise RecordError(MALFORMED, f"{image.key}: some of its annotations have no category_id")
    coordinates = tuple(_box(a.bbox) for a in annotations)
    boxes = Boxes(
        coordinates=coordinates,
        format="xywh",
        labels=labels,
        attributes={
            "is_crowd": tuple(int(a.is_crowd or 0) for a in annotations),
            "area": tuple(
                width * height if a.area is None else float(a.area)
                for a, (_, _, width, height) in zip(annotations, coordinates, strict=True)
            ),
        },
        keypoints=_keypoints(image, annotations),
        image_size=image.size,
    )
    return Record(
        key=image.key,
        features={"image": Image(file=FileRef(path=image.path)), "boxes": boxes},
        split=image.split,
        source=image.source,
        source_id=str(image.image_id),
    )


def _fault(annotation: CocoAnnotation) -> str:
    """Why an annotation cannot be used; empty if it can."""
    if annotation.category is None and annotation.category_id is not None:
        return f"category {annotation.category_id!r} is not declared"
    if not _are_numbers(annotation.bbox) or len(annotation.bbox) != 4:
        return f"bbox {annotation.bbox!r} is not [x, y, width, height]"
    if annotation.area is not None and not _is_number(annotation.area):
        return f"area {annotation.area!r} is not a number"
    if annotation.is_crowd not in (None, 0, 1):
        return f"iscrowd {annotation.is_crowd!r} is not 0 or 1"
    if annotation.keypoints and (
        not _are_numbers(annotation.keypoints) or len(annotation.keypoints) % 3
    ):
        return f"keypoints {annotation.keypoints!r} are not triples of numbers"
    return ""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _are_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(map(_is_number, values))


def _box(bbox: list[float]) -> tuple[float, float, float, float]:
    x, y, width, height = bbox
    return float(x), float(y), float(width), float(height)


def _keypoints(
    image: CocoImage, annotations: list[CocoAnnotation]
) -> tuple[tuple[float, ...], ...]:
    """A row a box, with zeros (COCO's "not labelled") for boxes without any."""
    lengths = {len(a.keypoints) for a in annotations if a.keypoints}
    if not lengths:
        return ()
    if len(lengths) > 1:
        raise RecordError(
            MALFORMED, f"{image.key}: its annotations have {sorted(lengths)} keypoint numbers"
        )
    (length,) = lengths
    return tuple(tuple(map(float, a.keypoints or [0.0] * length)) for a in annotations)
