"""Make the record of an image from all that one of COCO's files says of it."""

import array
import contextlib
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.boxes import check_number
from beam_pipeline.kinds.masks import box_of, checked, mask_of_runs
from beam_pipeline.kinds.points import mirrored
from beam_pipeline.media.maps import IGNORED
from beam_pipeline.outlines import Outlines, packed_ring
from beam_pipeline.records import (
    ClassLabel,
    Consumed,
    Element,
    FileRef,
    Image,
    Map,
    Mask,
    Objects,
    Record,
    Rejected,
    Value,
    composed,
)
from beam_pipeline.running.pickling import crosses
from beam_pipeline.sources.annotations.coco.facts import FileFacts
from beam_pipeline.sources.annotations.coco.files import BOXES, CAPTIONS, CLASSES, PANOPTIC
from beam_pipeline.sources.annotations.shapes import stated_size
from beam_pipeline.sources.left_behind import not_kept
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.references import name_of
from beam_pipeline.sources.tables.lists import array_of
from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.shown_text import counted

# Of LVIS: the classes that an image does not have, and those of which it may have more.
ID_LISTS = ("neg_category_ids", "not_exhaustive_category_ids")
# What is counted.
BOX_OF_POLYGON = "box made from its polygon"
BOX_OF_MASK = "box made from its mask"
FEW_CORNERS = "polygon dropped: fewer than 3 corners"
NO_BOX = "box dropped: no bbox"

_SHOWN = 3
_FEWEST_NUMBERS = 6  # of a polygon: three corners
_LARGEST = 1e30
_MOST_PIXELS = 1 << 40
_LARGEST_ID = (1 << 24) - 1  # of a segment, as colours have it
_ID = re.compile(r"0|-?[1-9]\d{,18}")
_Ring = tuple[float, ...]
_Rings = tuple[bytes, tuple[int, ...]]  # of `packed`
_NO_RINGS: _Rings = (b"", ())
_Box = tuple[float, float, float, float]


@crosses
class ImageItem(NamedTuple):
    """An item of "images".

    Attributes:
        others: The names of what else it has.
        lists: Its lists of ids of categories, by the names of their features.
        fault: Why it cannot be used, although its annotations know it.
    """

    key: str
    path: str
    width: Any
    height: Any
    image_id: Any
    split: str | None
    others: tuple[str, ...]
    lists: tuple[tuple[str, tuple[int, ...]], ...]
    fault: RecordError | None


@crosses
class Annotation(NamedTuple):
    """An item of "annotations" that shows an object, or the class of an image, as it is stated."""

    annotation_id: Any
    category_id: Any
    bbox: Any
    area: Any
    is_crowd: Any
    keypoints: Any
    segmentation: Any
    others: tuple[str, ...]


@crosses
class Caption(NamedTuple):
    """A caption of an image."""

    file: str
    caption_id: Any
    text: Any


@crosses
class CaptionedImage(NamedTuple):
    """What a file of captions that is read with another file calls one of its images."""

    file: str
    name: str


@crosses
class MapItem(NamedTuple):
    """The map of an image's segments."""

    file: str
    name: Any
    segments: Any


def packed(segmentation: Any) -> Any:
    """Polygons as (float64 of all of them, the numbers of each); anything else as it is."""
    if type(segmentation) is list and {*map(type, segmentation)} == {list}:
        with contextlib.suppress(TypeError, OverflowError):
            coordinates = packed_ring(itertools.chain.from_iterable(segmentation))
            return coordinates, tuple(map(len, segmentation))
    return segmentation


def plain_id(value: Any) -> Any:
    """An id as a plain int where it is one: some tools write 17.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def elements_of(
    key: str,
    values: Sequence[Any],
    facts: Mapping[str, FileFacts],
    box_format: str = "xywh",
    *,
    keeps_ids: bool = True,
) -> Iterator[Element]:
    """The record of one image id, from all that one file states of it, or why there is none.

    Args:
        key: "<file>\\0<image id>".
        values: What the files say of the image, in order.
        facts: What files say once, by their names.
        box_format: One of `boxes.FORMATS`.
        keeps_ids: Whether ids are the records' own: no split has two files, whose ids may be equal.
    """
    file, _, image_id = key.partition("\0")
    own = facts[file]
    if own.is_damaged:
        return
    images = [value for value in values if isinstance(value, ImageItem)]
    others = [value for value in values if not isinstance(value, ImageItem)]
    source = f"{file}: image {image_id}"
    if not images:
        yield from _of_no_image(own, image_id, others)
    elif len(images) > 1:
        names = ", ".join(image.key for image in images[:_SHOWN])
        names += f", … ({len(images):,} images)" if images[_SHOWN:] else ""
        fault = malformed(f"id {image_id} is given to {names}")
        yield from (Rejected.of(source, fault) for _ in images)
    else:
        try:
            for caption in filter(_has_no_text, others):
                yield Rejected.of(
                    f"{caption.file}: annotation {caption.caption_id}", _no_text(caption)
                )
            yield _record(source, images[0], others, own, box_format, keeps_ids)
        except RecordError as error:
            yield Rejected.of(source, error)
            yield Consumed(paths=(images[0].path,))


def _has_no_text(value: Any) -> bool:
    return isinstance(value, Caption) and not isinstance(value.text, str)


def _no_text(caption: Caption) -> RecordError:
    return malformed(f"has no caption, but {str(caption.text)[:200]}")


def _of_no_image(facts: FileFacts, image_id: str, values: Sequence[Any]) -> Iterator[Rejected]:
    """What is said of an image that a file does not describe."""
    file, without = facts.file, facts.num_nameless
    unlike = f"; {file} has {counted(without, 'image')} without an id" if without else ""
    fault = malformed(
        f"belongs to image {image_id}" + (unlike or f", which {file} does not describe")
    )
    for value in values:
        match value:
            case Annotation():
                yield Rejected.of(f"{file}: annotation {value.annotation_id}", fault)
            case CaptionedImage() | MapItem():
                yield Rejected.of(f"{value.file}: image {image_id}", fault)
            case Caption() if not any(isinstance(each, CaptionedImage) for each in values):
                yield Rejected.of(f"{value.file}: annotation {value.caption_id}", fault)


def _record(
    source: str,
    image: ImageItem,
    values: Sequence[Any],
    facts: FileFacts,
    box_format: str,
    keeps_ids: bool,
) -> Record:
    """One image with all that is said of it.

    Raises:
        RecordError: An annotation cannot be used; the message names it.
    """
    if image.fault:
        raise image.fault
    features: dict[str, Value] = {"image": Image(file=FileRef(path=image.path))}
    notes = Counter[str]()
    annotations = [value for value in values if isinstance(value, Annotation)]
    match facts.shows:
        case "boxes":
            features[BOXES], notes = _Gathering(image, facts, box_format).objects(annotations)
        case "label":
            features[CLASSES] = _class_of(image, annotations, facts)
            notes = not_kept(name for each in annotations for name in each.others)
        case "segmentation":
            features[PANOPTIC], num_boxes = _map_of(values, facts)
            notes = not_kept(["bbox"] * num_boxes)
    if facts.shows == CAPTIONS or facts.captions:
        features[CAPTIONS] = _captions_of(image.path, values)
    lists = dict(image.lists)
    for name in ID_LISTS:
        if name in facts.id_lists:
            ids = lists.get(name, ())
            features[name] = array_of([*ids], (len(ids),), "int64")
    return Record(
        key=image.key,
        features=features,
        split=image.split,
        source=source,
        source_id=_source_id(image.image_id) if keeps_ids else "",
        notes=notes + not_kept(image.others) if image.others else notes,
    )


def _source_id(image_id: Any) -> str:
    """An id that is a number of 64 bits, as Model Garden's evaluation asks for; "" of any other."""
    text = str(image_id)
    return text if _ID.fullmatch(text) and -(2**63) <= int(text) < 2**63 else ""


class _Gathering:
    """Gathers the objects of an image, column by column.

    Args:
        image: The image.
        facts: Its file's.
        box_format: One of `boxes.FORMATS`.
    """

    def __init__(self, image: ImageItem, facts: FileFacts, box_format: str) -> None:
        self._image, self._facts, self._format = image, facts, box_format
        self._size = stated_size(image.width, image.height)
        self._notes = Counter[str]()
        self._boxes: list[_Box] = []
        self._labels: list[str] = []
        self._crowds: list[int] = []
        self._areas: list[float] = []
        self._keypoints: list[Sequence[float]] = []
        self._rings: list[_Rings] = []
        self._masks: list[Mask | None] = []
        self._left: list[str] = []

    def objects(self, annotations: Sequence[Annotation]) -> tuple[Objects, Counter[str]]:
        """The objects, and what is counted of them.

        Raises:
            RecordError: An annotation cannot be used.
        """
        check_number(len(annotations))
        for annotation in annotations:
            try:
                self._add(annotation)
            except RecordError as error:
                where = f"{self._image.key}: annotation {annotation.annotation_id}"
                raise RecordError(error.reason, f"{where}: {error.detail}") from None
        if annotations and not self._boxes:
            self._refuse_classes(annotations[0])
        if self._labels and len(self._labels) < len(self._boxes):
            raise malformed(f"{self._image.key}: some of its annotations have no category_id")
        has_rings, has_masks = any(lengths for _, lengths in self._rings), any(self._masks)
        names = self._point_names(annotations)
        objects = Objects(
            boxes=tuple(self._boxes),
            format=self._format,
            labels=tuple(self._labels),
            attributes={"is_crowd": tuple(self._crowds), "area": tuple(self._areas)},
            keypoints=self._rows_of_points(),
            keypoint_names=names,
            keypoint_flips=mirrored(names) if names else (),
            polygons=self._outlines() if has_rings else (),
            masks=tuple(self._masks) if has_rings or has_masks else (),
            image_size=self._size,
        )
        return objects, self._notes + not_kept(self._left) if self._left else self._notes

    def _add(self, annotation: Annotation) -> None:
        _, category_id, bbox, area, is_crowd, points, segmentation, others = annotation
        self._left += others
        rings, mask = self._segment(segmentation) if segmentation else (_NO_RINGS, None)
        if bbox is None or bbox == []:
            box = self._box_around(rings, mask)
            if box is None:
                self._notes[NO_BOX] += 1
                return
        elif _are_numbers(bbox) and len(bbox) == 4:
            box = (float(bbox[0]), float(bbox[1]), float(bbox[2]), float(bbox[3]))
        else:
            raise malformed(f"bbox {repr(bbox)[:200]} is not [x, y, width, height]")
        if category_id is not None:
            number = plain_id(category_id)
            name = self._facts.names.get(number) if isinstance(number, int) else None
            if name is None:
                raise malformed(f"category {repr(category_id)[:200]} is not declared")
            self._labels.append(name)
        if is_crowd not in (None, 0, 1):
            raise malformed(f"iscrowd {repr(is_crowd)[:200]} is not 0 or 1")
        if points and (not _are_numbers(points) or len(points) % 3):
            raise malformed(f"keypoints {repr(points)[:200]} are not triples of numbers")
        self._boxes.append(box)
        self._crowds.append(int(is_crowd or 0))
        self._areas.append(self._area(area, box))
        self._keypoints.append(points or ())
        self._rings.append(rings)
        self._masks.append(mask)

    def _segment(self, stated: Any) -> tuple[_Rings, Mask | None]:
        """The polygons or the mask that an annotation states."""
        if isinstance(stated, dict):
            return _NO_RINGS, _mask_of(stated)
        if not isinstance(stated, tuple):
            raise malformed(f"segmentation {repr(stated)[:200]} is not a list of polygons")
        coordinates, lengths = stated
        numbers = np.frombuffer(coordinates)
        if not (np.abs(numbers) < _LARGEST).all():
            raise malformed(f"segmentation {numbers.tolist()!r:.200} has a number beyond 1e30")
        if few := [length for length in lengths if length < _FEWEST_NUMBERS]:
            self._notes[FEW_CORNERS] += len(few)
            parts = np.split(numbers, np.cumsum(lengths)[:-1])
            coordinates = b"".join(part.tobytes() for part in parts if part.size >= _FEWEST_NUMBERS)
            lengths = tuple(length for length in lengths if length >= _FEWEST_NUMBERS)
        if odd := [length for length in lengths if length % 2]:
            raise malformed(f"a polygon has {odd[0]} numbers, not x and y of each corner")
        return (coordinates, lengths), None

    def _outlines(self) -> Outlines:
        lengths = [lengths for _, lengths in self._rings]
        return Outlines(
            b"".join(coordinates for coordinates, _ in self._rings),
            array.array("i", itertools.chain.from_iterable(lengths)).tobytes(),
            array.array("i", map(len, lengths)).tobytes(),
        )

    def _box_around(self, rings: _Rings, mask: Mask | None) -> _Box | None:
        """The box around a segment, as annotations of this file have it; None without one."""
        coordinates, lengths = rings
        if lengths:
            corners = np.frombuffer(coordinates).reshape(-1, 2)
            (x, y), (width, height) = corners.min(axis=0).tolist(), np.ptp(corners, axis=0).tolist()
            found: _Box | None = (x, y, width, height)
        else:
            found = mask and box_of(mask)
        if found is None:
            return None
        self._notes[BOX_OF_POLYGON if lengths else BOX_OF_MASK] += 1
        x, y, width, height = found
        if self._format.endswith("xyxy"):
            return x, y, x + width, y + height
        if self._format.endswith("center_xywh"):
            return x + width / 2, y + height / 2, width, height
        return found

    def _area(self, stated: Any, box: _Box) -> float:
        """In pixels²; the box's where none is stated."""
        if stated is not None:
            if not _is_number(stated):
                raise malformed(f"area {repr(stated)[:200]} is not a number")
            return float(stated)
        unit = self._size if self._format.startswith("rel_") else ImageSize(1, 1)
        if unit is None:
            raise malformed("neither an area nor the image's width and height are stated")
        width, height = box[2:]
        if self._format.endswith("xyxy"):
            width, height = width - box[0], height - box[1]
        return width * height * unit.width * unit.height

    def _rows_of_points(self) -> tuple[_Ring, ...]:
        """A row a box, with zeros (COCO's "not labelled") for boxes without any."""
        lengths = {len(points) for points in self._keypoints if points}
        if not lengths:
            return ()
        if len(lengths) > 1:
            raise malformed(
                f"{self._image.key}: its annotations have {sorted(lengths)} keypoint numbers"
            )
        absent = (0.0,) * lengths.pop()
        return tuple(tuple(map(float, points)) if points else absent for points in self._keypoints)

    def _point_names(self, annotations: Sequence[Annotation]) -> tuple[str, ...]:
        """The names of the points, if all categories of the file have the same."""
        known = self._facts.keypoints
        if not known or not any(self._keypoints):
            return ()
        found: tuple[str, ...] = ()
        for each in annotations:
            category = plain_id(each.category_id)
            names = known.get(category, ()) if isinstance(category, int) else ()
            if not names or not each.keypoints:
                continue
            if len({*known.values()}) > 1 or len(each.keypoints) != 3 * len(names):
                self._left.append("keypoint names")
            else:
                found = found or names
        return found

    def _refuse_classes(self, annotation: Annotation) -> None:
        """Raises RecordError where an annotation without a box states a class."""
        if annotation.category_id is not None:
            name = self._facts.names.get(plain_id(annotation.category_id))
            raise RecordError(
                "no box",
                f"its class {name!r} is stated without bbox or segmentation, as that of a whole "
                "image",
            )


def _mask_of(stated: Mapping[str, Any]) -> Mask:
    """The mask of run lengths (pycocotools/mask.py)."""
    size, counts = stated.get("size"), stated.get("counts")
    try:
        height, width = size if isinstance(size, list) else [0, 0]
        image = ImageSize(int(height), int(width))
        if min(image) < 1 or image.height * image.width > _MOST_PIXELS:
            raise ValueError
        if isinstance(counts, list):
            return mask_of_runs(image, [int(each) for each in counts])
        return checked((image, str(counts).encode()))
    except (TypeError, ValueError, OverflowError):
        raise malformed(f"segmentation {repr(stated)[:200]} has no size and counts") from None
    except RecordError as error:
        raise malformed(f"segmentation: {error.detail}") from None


def _is_number(value: Any) -> bool:
    """Whether it is a number that an image may have: finite, and not of hundreds of digits."""
    return isinstance(value, int | float) and abs(value) < _LARGEST


def _are_numbers(values: Any) -> bool:
    """Whether it is a list of such numbers."""
    try:  # texts and numbers do not compare
        return (
            type(values) is list
            and -_LARGEST < min(values, default=0) <= max(values, default=0) < _LARGEST
        )
    except TypeError:
        return False


def _class_of(image: ImageItem, annotations: Sequence[Annotation], facts: FileFacts) -> ClassLabel:
    """The class of a whole image, as iNaturalist and camera traps state it.

    Raises:
        RecordError: There is none, or several, or an annotation cannot be used.
    """
    if not annotations:
        raise RecordError("no annotation", "no annotation states its class, as those of others do")
    classes = set()
    for each in annotations:
        where = f"{image.key}: annotation {each.annotation_id}"
        if each.bbox or each.segmentation:
            raise malformed(f"{where} has a box, where the file's first states a class alone")
        name = facts.names.get(plain_id(each.category_id))
        if name is None:
            raise malformed(f"{where}: category {repr(each.category_id)[:200]} is not declared")
        classes.add(name)
    if len(classes) > 1:
        raise RecordError("several classes", f"it is of {' and '.join(sorted(classes)[:2])}")
    return ClassLabel(classes.pop())


def _captions_of(path: str, values: Sequence[Any]) -> tuple[str, ...]:
    """The captions of an image in the order of its file, without blank ones.

    Raises:
        RecordError: The files call the image by different names.
    """
    own = composed(name_of(path))
    for value in values:
        if isinstance(value, CaptionedImage):
            name = name_of(value.name.replace("\\", "/"))
            if composed(name) != own:
                raise malformed(
                    f"{value.file} calls it {name}, so its captions are of another image; leave "
                    "that file out by --ignore"
                )
    texts = (value.text for value in values if isinstance(value, Caption))
    return tuple(text for text in texts if isinstance(text, str) and text.strip())


def _map_of(values: Sequence[Any], facts: FileFacts) -> tuple[Map, int]:
    """The panoptic map of an image, and how many of its segments state a box, which is not kept.

    A pixel's id is R + 256 G + 65536 B; 0 is of no segment.

    Raises:
        RecordError: There is none, or several, or it cannot be used.
    """
    maps = [value for value in values if isinstance(value, MapItem)]
    if not maps:
        raise RecordError("no annotation", "has no map in the panoptic annotations")
    if len(maps) > 1:
        raise RecordError("two annotations", f"has {len(maps)} maps, where one is expected")
    _, name, segments = maps[0]
    if not isinstance(name, str) or not isinstance(segments, list):
        raise malformed(f"needs a file_name and segments_info, has {str(maps[0][1:])[:200]}")
    numbers = {each: number for number, each in enumerate(sorted(facts.names))}
    classes = {0: IGNORED}
    for segment in segments:
        stated = segment if isinstance(segment, dict) else {}
        own, category = plain_id(stated.get("id")), plain_id(stated.get("category_id"))
        if type(own) is not int or not 0 < own <= _LARGEST_ID or own in classes:
            raise malformed(f"segment {str(segment)[:200]} needs an id of its own, from 1 on")
        if type(category) is not int or category not in numbers:
            raise malformed(f"category {str(category)[:200]} is not declared")
        classes[own] = numbers[category]
    value = Map(
        file=FileRef(path=facts.map_path(name)),
        colors=b"".join(each.to_bytes(3, "little") for each in classes),
        classes=bytes(classes.values()),
        num_classes=len(facts.names),
    )
    return value, sum("bbox" in segment for segment in segments)
