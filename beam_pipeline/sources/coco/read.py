"""COCO's JSON files: instances, keypoints, captions and panoptic maps, streamed, never whole.

Format: https://cocodataset.org/#format-data
"""

import dataclasses
import functools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import apache_beam as beam

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.boxes import check_number
from beam_pipeline.kinds.masks import box_of
from beam_pipeline.kinds.points import mirrored
from beam_pipeline.records import FileRef, Image, Objects, Record, Rejected, Value
from beam_pipeline.sources.coco.captions import CaptionedImage, CocoCaption, captions_of
from beam_pipeline.sources.coco.classes import class_of
from beam_pipeline.sources.coco.files import BOXES, CAPTIONS, CLASSES, PANOPTIC, find_coco_files
from beam_pipeline.sources.coco.panoptic import CocoMap, map_of
from beam_pipeline.sources.coco.segmentation import are_numbers, is_number, outline
from beam_pipeline.sources.coco.stream import CocoAnnotation, CocoImage, read_coco
from beam_pipeline.sources.columns.lists import array_of
from beam_pipeline.sources.gather import Gather, ReadFiles
from beam_pipeline.sources.ignored import NOTHING, Ignored
from beam_pipeline.sources.left_behind import not_kept
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.tree import Tree
from tfrecord_dataset.image_size import ImageSize

# What is counted.
BOX_OF_POLYGON = "box made from its polygon"
BOX_OF_MASK = "box made from its mask"
FEW_CORNERS = "polygon dropped: fewer than 3 corners"
NO_BOX = "box dropped: no bbox"
_SHOWN = 3

# What is said of an image, of all that its files have.
Stated = CocoImage | CocoAnnotation | CocoCaption | CaptionedImage | CocoMap


@dataclasses.dataclass
class ReadCoco(beam.PTransform):
    """The images of COCO JSON files, with their boxes, captions or panoptic maps.

    Yields a Record for every image that a file describes; of captions with "captions", of panoptic
    segmentation with the map "segmentation", of others with "boxes" in format "xywh"
    (none where it has no annotations), their attributes `is_crowd` (int) and `area` (float,
    pixels²; width times height where it is not stated), and keypoints, polygons and masks where
    there are any; a box that is not stated is that around its polygons or mask, or is left out and
    counted;
    one DeclaredClasses a file; a bad Rejected for every image with an annotation that
    cannot be used, for every annotation of an unknown image, and for a file that is not
    JSON to its end, of which nothing is used.

    Attributes:
        path: A JSON file, or a folder that holds `annotations/instances_<split>.json` and
            the images in `<split>/`, `images/<split>/` or `images/`, or Roboflow's
            `<split>/_annotations.coco.json` with the images beside.
        image_root: The folder of the images, where it is another one.
        box_format: One of `boxes.FORMATS`; "" is COCO's own, "xywh".
        allow_outside: Folders elsewhere whose images may be named, too.
        ignored: Annotation files that are left out.
    """

    path: str
    image_root: str | None = None
    box_format: str = ""
    allow_outside: Sequence[str] = ()
    ignored: Ignored = NOTHING

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection:
        tree = Tree(self.path.rstrip("/") or "/", self.ignored)
        files, left_aside = find_coco_files(self.path, self.image_root, tree, self.allow_outside)
        of_images = [file for file in files if not file.captions_of]
        join = functools.partial(
            joined,
            box_format=self.box_format or "xywh",
            keeps_ids=len({file.split for file in of_images}) == len(of_images),
        )
        return pipeline | ReadFiles(files, left_aside, read_coco) | Gather(join)


def joined(
    key: str,
    values: list[Stated],
    box_format: str = "xywh",
    *,
    keeps_ids: bool = True,
) -> Iterator[Record | Rejected]:
    """The record of one image id, from all that one file states of it.

    Args:
        key: "<file>\\0<image id>".
        values: The images of this id (one, if all is well), then their annotations.
        box_format: One of `boxes.FORMATS`.
        keeps_ids: Whether ids are the records' own: no split has two files, whose ids may be equal.
    """
    file, _, image_id = key.partition("\0")
    images = [value for value in values if isinstance(value, CocoImage)]
    others = [value for value in values if not isinstance(value, CocoImage)]
    if not images:
        yield from _of_no_image(file, image_id, others)
    elif len(images) > 1:
        names = ", ".join(image.key for image in images[:_SHOWN])
        names += f", … ({len(images):,} images)" if images[_SHOWN:] else ""
        fault = malformed(f"id {image_id} is given to {names}")
        yield from (Rejected.of(image.source, fault) for image in images)
    else:
        try:
            record = record_of(images[0], others, box_format)
            yield record if keeps_ids else dataclasses.replace(record, source_id="")
        except RecordError as error:
            yield Rejected.of(images[0].source, error)


def _of_no_image(file: str, image_id: str, values: Sequence[Stated]) -> Iterator[Rejected]:
    """What is said of an image that a file does not describe."""
    is_named = any(isinstance(value, CaptionedImage) for value in values)
    for value in values:
        if isinstance(value, CocoAnnotation):
            fault = malformed(f"belongs to image {image_id}, which the file does not describe")
            yield Rejected.of(f"{file}: annotation {value.annotation_id}", fault)
        elif not isinstance(value, CocoCaption) or not is_named:  # its image says it for all
            fault = malformed(f"belongs to image {image_id}, which {file} does not describe")
            yield Rejected.of(value.source, fault)


def record_of(image: CocoImage, values: Sequence[Stated], box_format: str = "xywh") -> Record:
    """One image with all that is said of it.

    Raises:
        RecordError: An annotation cannot be used; the message names it.
    """
    features: dict[str, Value] = {"image": Image(file=FileRef(path=image.path))}
    notes = not_kept(image.others)
    annotations = [value for value in values if isinstance(value, CocoAnnotation)]
    if BOXES in image.features:
        features[BOXES], of_boxes = _objects(image, annotations, box_format)
        notes = of_boxes + notes
    if CLASSES in image.features:
        features[CLASSES] = class_of(image, annotations)
        notes += not_kept(name for annotation in annotations for name in annotation.others)
    if PANOPTIC in image.features:
        maps = [each for each in values if isinstance(each, CocoMap)]
        features[PANOPTIC] = map_of(maps)
        notes += not_kept(["bbox"] * maps[0].num_boxes)
    if CAPTIONS in image.features:
        features[CAPTIONS] = captions_of(image.path, values)
    features |= {name: array_of([*ids], (len(ids),), "int64") for name, ids in image.lists}
    return Record(
        key=image.key,
        features=features,
        split=image.split,
        source=image.source,
        source_id=_source_id(image.image_id),
        notes=notes,
    )


def _objects(
    image: CocoImage, annotations: list[CocoAnnotation], box_format: str
) -> tuple[Objects, Counter[str]]:
    """The boxes of an image, and what is noted of them."""
    check_number(len(annotations))
    stated, notes = _with_boxes(annotations, box_format)
    for annotation in stated:
        if fault := _fault(annotation):
            raise malformed(f"{image.key}: annotation {annotation.annotation_id}: {fault}")
    labels = tuple(a.category for a in stated if a.category is not None)
    if labels and len(labels) < len(stated):
        raise malformed(f"{image.key}: some of its annotations have no category_id")
    coordinates = tuple(_box(a.bbox) for a in stated)
    unit = image.size if box_format.startswith("rel_") else ImageSize(1, 1)
    segments = [a.segmentation for a in stated]
    names = next((a.keypoint_names for a in stated if a.keypoint_names), ())
    objects = Objects(
        boxes=coordinates,
        format=box_format,
        labels=labels,
        attributes={
            "is_crowd": tuple(int(a.is_crowd or 0) for a in stated),
            "area": tuple(
                _area(box, box_format, unit) if a.area is None else float(a.area)
                for a, box in zip(stated, coordinates, strict=True)
            ),
        },
        keypoints=_keypoints(image, stated),
        keypoint_names=names,
        keypoint_flips=mirrored(names),
        polygons=tuple(a.rings for a in segments) if any(a.rings for a in segments) else (),
        masks=tuple(a.mask for a in segments) if any(a.rings or a.mask for a in segments) else (),
        image_size=image.size,
    )
    return objects, notes


def _with_boxes(
    annotations: list[CocoAnnotation], box_format: str
) -> tuple[list[CocoAnnotation], Counter[str]]:
    """The annotations that have a box, stated or around a segment, and what is noted of all."""
    notes = not_kept(name for annotation in annotations for name in annotation.others)
    if dropped := sum(annotation.segmentation.num_dropped for annotation in annotations):
        notes[FEW_CORNERS] = dropped
    stated = []
    for annotation in annotations:
        if fault := annotation.segmentation.fault:
            raise malformed(f"annotation {annotation.annotation_id}: {fault}")
        if annotation.bbox in (None, []):
            _, mask, _, _ = segmentation = annotation.segmentation
            around = outline(segmentation.rings) if segmentation.rings else mask and box_of(mask)
            if not around:
                notes[NO_BOX] += 1
                continue
            notes[BOX_OF_POLYGON if segmentation.rings else BOX_OF_MASK] += 1
            annotation = annotation._replace(bbox=_in_format([*around], box_format))
        stated.append(annotation)
    if annotations and not stated and annotations[0].category is not None:
        raise RecordError(
            "no box",
            f"its class {annotations[0].category!r} is stated without bbox or segmentation, as "
            "that of a whole image; where folders are the classes, pass --layout folders "
            "--path-pattern '{split}/{label}/{_}'",
        )
    return stated, notes


def _in_format(box: list[float], box_format: str) -> list[float]:
    """[x, y, width, height] as another format has it."""
    x, y, width, height = box
    if box_format.endswith("xyxy"):
        return [x, y, x + width, y + height]
    if box_format.endswith("center_xywh"):
        return [x + width / 2, y + height / 2, width, height]
    return box


def _area(box: tuple[float, float, float, float], box_format: str, unit: ImageSize | None) -> float:
    """In pixels².

    Raises:
        RecordError: It is in fractions, and the image's size is not stated.
    """
    if unit is None:
        raise malformed("neither an area nor the image's width and height are stated")
    width, height = box[2:]
    if box_format.endswith("xyxy"):
        width, height = width - box[0], height - box[1]
    return width * height * unit.width * unit.height


def _source_id(image_id: Any) -> str:
    """An id that is a number of 64 bits, as Model Garden's evaluation asks for; "" of any other."""
    text = str(image_id)
    return text if re.fullmatch(r"0|-?[1-9]\d{,18}", text) and -(2**63) <= int(text) < 2**63 else ""


def _fault(annotation: CocoAnnotation) -> str:
    """Why an annotation cannot be used; empty if it can."""
    if annotation.category is None and annotation.category_id is not None:
        return f"category {repr(annotation.category_id)[:200]} is not declared"
    if not are_numbers(annotation.bbox) or len(annotation.bbox) != 4:
        return f"bbox {repr(annotation.bbox)[:200]} is not [x, y, width, height]"
    if annotation.area is not None and not is_number(annotation.area):
        return f"area {repr(annotation.area)[:200]} is not a number"
    if annotation.is_crowd not in (None, 0, 1):
        return f"iscrowd {repr(annotation.is_crowd)[:200]} is not 0 or 1"
    if annotation.keypoints and (
        not are_numbers(annotation.keypoints) or len(annotation.keypoints) % 3
    ):
        return f"keypoints {repr(annotation.keypoints)[:200]} are not triples of numbers"
    return ""


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
        raise malformed(f"{image.key}: its annotations have {sorted(lengths)} keypoint numbers")
    (length,) = lengths
    return tuple(tuple(map(float, a.keypoints or [0.0] * length)) for a in annotations)
