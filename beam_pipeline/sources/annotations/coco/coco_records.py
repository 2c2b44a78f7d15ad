"""Make the record of an image from its parts in COCO files."""

import contextlib
import glob
import itertools
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from beam_pipeline.errors import RecordError, naming
from beam_pipeline.kinds.boxes import check_number
from beam_pipeline.kinds.masks import box_of, checked, mask_of_runs
from beam_pipeline.kinds.object_columns import mirrored
from beam_pipeline.media.maps import IGNORED
from beam_pipeline.outlines import Box, Boxes, Outlines, Ring, Rings, packed_ring
from beam_pipeline.problems import files_to_ignore
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
from beam_pipeline.sources.annotations.coco.coco_files import BOXES, CAPTIONS, CLASSES, PANOPTIC
from beam_pipeline.sources.annotations.coco.coco_items import (
    ID_LISTS,
    NAME,
    FileFacts,
    ImageItem,
    Part,
    Row,
    Said,
    plain_id,
)
from beam_pipeline.sources.annotations.shapes import around, as_object, sized
from beam_pipeline.sources.paths import name_of
from beam_pipeline.sources.rejects import malformed, not_kept
from beam_pipeline.sources.tables.types import array_of
from tfrecord_dataset.image_size import ImageSize

# Notes to count.
BOX_OF_POLYGON = "box made from its polygon"
BOX_OF_MASK = "box made from its mask"
FEW_CORNERS = "polygon dropped: fewer than 3 corners"
NO_BOX = "box dropped: no bbox"

_SHOWN = 3
_FEWEST_NUMBERS = 6  # in a polygon: three corners
_LARGEST = 1e30
_MOST_PIXELS = 1 << 40
_LARGEST_ID = (1 << 24) - 1  # of a segment, encoded as a colour
_CROWDS = (None, 0, 1)


class Columns(NamedTuple):
    """The object annotations of one image, as a column per member.

    Attributes:
        others: Names of the members that no record keeps.
        rings: Coordinates and ring lengths of polygons, as in `Outlines`; b"" for none.
        segments: Segmentations other than polygons; None for none.
    """

    ids: Sequence[Any] = ()
    categories: Sequence[Any] = ()
    boxes: Sequence[Any] = ()
    areas: Sequence[Any] = ()
    crowds: Sequence[Any] = ()
    keypoints: Sequence[Any] = ()
    others: Sequence[tuple[str, ...]] = ()
    rings: Sequence[tuple[bytes, bytes]] = ()
    segments: Sequence[Any] = ()

    @property
    def polygons(self) -> Outlines:
        """The polygons of all annotations."""
        coordinates, lengths = zip(*self.rings, strict=True) if self.rings else ((), ())
        counts = array("i", [len(each) // 4 for each in lengths]).tobytes()
        return Outlines(b"".join(coordinates), b"".join(lengths), counts)


def elements_of(
    key: str, parts: Sequence[Part], facts: Mapping[str, FileFacts]
) -> Iterator[Element]:
    """Yield the record of an image id in one file, or the reason for its rejection.

    Args:
        key: "<file>\\0<image id>".
        parts: What its file and its captions file say of it, in their order.
        facts: File-level facts, by file name.
    """
    file, _, image_id = key.partition("\0")
    own = facts[file]
    if own.is_damaged:
        return
    images = [part for part in parts if isinstance(part, ImageItem)]
    said = [part for part in parts if isinstance(part, Said)]
    rows = [part for part in parts if type(part) is tuple]
    if not images:
        fault = malformed(f"belongs to image {image_id}, which {file} does not describe")
        named = [each for each in said if each.kind == NAME] or said
        sources = [f"{each.file}: {each.item}" for each in named]
        sources += (f"{file}: annotation {row[0]}" for row in rows)
        yield from (Rejected.of(each, fault) for each in sources)
        return
    for each in said:
        if each.kind == CAPTIONS and not isinstance(each.value, str):
            fault = malformed(f"has no caption, but {str(each.value)[:200]}")
            yield Rejected.of(f"{each.file}: {each.item}", fault)
    source, image = f"{file}: image {image_id}", images[0]
    try:
        if images[1:]:
            names = ", ".join(each.key for each in images[:_SHOWN])
            more = f", … ({len(images):,} images)" if images[_SHOWN:] else ""
            raise malformed(f"id {image_id} is given to {names}{more}")
        features, notes = _features(image, rows, said, own)
        yield Record(
            key=image.key,
            features=features,
            split=own.file.split,
            source=source,
            source_id=image.source_id,
            notes=notes,
        )
    except RecordError as error:
        yield from (Rejected.of(source, error) for _ in images)
        yield Consumed(paths=tuple(each.path for each in images))


def _features(
    image: ImageItem, rows: Sequence[Row], said: Sequence[Said], facts: FileFacts
) -> tuple[dict[str, Value], Counter[str]]:
    """Make the features of an image; return them and the counts of notes."""
    if image.fault:
        raise image.fault
    features: dict[str, Value] = {"image": Image(file=FileRef(path=image.path))}
    notes = Counter[str]()
    if facts.shows == BOXES:
        features[BOXES], notes = _Gathering(image, rows, facts).objects()
    elif facts.shows == CLASSES:
        gathering = _Gathering(image, rows, facts)
        features[CLASSES], notes = gathering.class_of_image(), not_kept(gathering.left)
    elif facts.shows == PANOPTIC:
        features[PANOPTIC], num_boxes = _map_of(said, facts)
        notes = not_kept(["bbox"] * num_boxes)
    if facts.shows == CAPTIONS or facts.file.captions:
        features[CAPTIONS] = _captions_of(image.path, said)
    for name in ID_LISTS:
        if name in facts.id_lists:
            ids = image.lists.get(name, ())
            features[name] = array_of([*ids], (len(ids),), "int64")
    return features, notes + image.notes if image.notes else notes


class _Gathering:
    """Collect the objects of an image, column by column."""

    def __init__(self, image: ImageItem, rows: Sequence[Row], facts: FileFacts) -> None:
        self._image, self._facts, self._format = image, facts, facts.file.box_format
        self._stated = Columns(*zip(*rows, strict=True))
        self.left = [*itertools.chain.from_iterable(self._stated.others)]
        self._notes = Counter[str]()

    def objects(self) -> tuple[Objects, Counter[str]]:
        """Return the objects and the counts of notes."""
        check_number(len(self._stated.ids))
        masks, polygons = self._masks(), self._polygons()
        boxes = self._boxes(masks, polygons)
        if not isinstance(boxes, Boxes) and None in boxes:
            kept = [at for at, box in enumerate(boxes) if box]
            if not kept:
                self._refuse_class()
            self._notes[NO_BOX] += len(boxes) - len(kept)
            self._stated = Columns._make([_taken(column, kept) for column in self._stated])
            boxes, masks, polygons = _taken(boxes, kept), _taken(masks, kept), polygons.taken(kept)
        has_rings = bool(polygons.coordinates)
        points = self._points()
        names = self._point_names(points) if points else ()
        self._check(self._stated.crowds, _CROWDS.__contains__, "iscrowd {} is not 0 or 1")
        crowds = tuple([int(each or 0) for each in self._stated.crowds])
        objects = Objects(
            boxes=Boxes.of(boxes),
            format=self._format,
            labels=self._labels(),
            attributes={"is_crowd": crowds, "area": self._areas(boxes)},
            keypoints=points,
            keypoint_names=names,
            keypoint_flips=mirrored(names) if names else (),
            polygons=polygons if has_rings else (),
            masks=tuple(masks) if has_rings or any(masks) else (),
            image_size=self._image.size,
        )
        return objects, self._notes + not_kept(self.left) if self.left else self._notes

    def class_of_image(self) -> ClassLabel:
        """The class of a whole image, as in iNaturalist and camera trap datasets."""
        stated = self._stated
        if not stated.ids:
            raise RecordError(
                "no annotation", "no annotation states its class, as those of others do"
            )
        if any(stated.boxes) or stated.polygons.coordinates or any(stated.segments):
            raise malformed("has a box, unlike the file's first annotation, which only has a class")
        classes = sorted({*self._labels()})
        if not classes:
            raise malformed("has no category_id")
        if len(classes) > 1:
            raise RecordError("several classes", f"it is of {' and '.join(classes[:2])}")
        return ClassLabel(classes[0])

    def _fault(self, at: int, detail: str) -> RecordError:
        return malformed(f"{self._image.key}: annotation {self._stated.ids[at]}: {detail}")

    def _check(self, values: Sequence[Any], fits: Callable[[Any], bool], detail: str) -> None:
        if not all(map(fits, values)):
            at = next(at for at, value in enumerate(values) if not fits(value))
            raise self._fault(at, detail.format(repr(values[at])[:200]))

    def _masks(self) -> Sequence[Mask | None]:
        masks: list[Mask | None] = [None] * len(self._stated.ids)
        for at, segment in enumerate(self._stated.segments):
            try:
                masks[at] = _mask_of(segment) if segment else None
            except RecordError as error:
                raise self._fault(at, error.detail) from None
        return masks

    def _polygons(self) -> Outlines:
        polygons = self._stated.polygons
        if not polygons.coordinates:
            return polygons
        lengths = polygons.ring_lengths
        if few := int((lengths < _FEWEST_NUMBERS).sum()):
            self._notes[FEW_CORNERS] += few
            polygons = Outlines.of(
                [[ring for ring in rings if len(ring) >= _FEWEST_NUMBERS] for rings in polygons]
            )
        if (polygons.ring_lengths % 2).any():
            self._check([*polygons], _are_even, "segmentation {} lacks a y")
        return polygons

    def _boxes(self, masks: Sequence[Mask | None], polygons: Outlines) -> Sequence[Any]:
        """The stated boxes, else boxes around segments; None for items with neither."""
        stated = self._stated.boxes
        with contextlib.suppress(TypeError):  # values without a length
            sides = [*itertools.chain.from_iterable(stated)]
            if {*map(len, stated)} <= {4} and _are_numbers(sides):
                return Boxes(packed_ring(sides))
        self._check(stated, _is_box, "bbox {} is not [x, y, width, height]")
        parts = zip(stated, polygons, masks, strict=True)
        return [box or self._box_around(rings, mask) for box, rings, mask in parts]

    def _box_around(self, rings: Rings, mask: Mask | None) -> Box | None:
        """The box around a segment, in the file's box format; None without a segment."""
        if rings:
            xmin, ymin, xmax, ymax = around(rings)
            box: Box | None = (xmin, ymin, xmax - xmin, ymax - ymin)
        else:
            box = mask and box_of(mask)
        if box is None:
            return None
        self._notes[BOX_OF_POLYGON if rings else BOX_OF_MASK] += 1
        x, y, width, height = box
        if self._format.endswith("xyxy"):
            return sized(*box)
        if self._format.endswith("center_xywh"):
            return x + width / 2, y + height / 2, width, height
        return box

    def _labels(self) -> tuple[str, ...]:
        names, stated = self._facts.names, self._stated.categories
        with contextlib.suppress(KeyError, TypeError):  # a list cannot be a key
            labels = tuple([names[each] for each in stated if each is not None])
            if labels and len(labels) < len(stated):
                raise malformed(f"{self._image.key}: some of its annotations have no category_id")
            return labels
        declared = [None, *names]
        self._check(stated, lambda each: plain_id(each) in declared, "category {} is not declared")
        return ()

    def _areas(self, boxes: Sequence[Box]) -> tuple[float, ...]:
        """Areas in pixels²; the box's area if none is stated."""
        stated: Sequence[Any] = self._stated.areas
        if None in stated:
            pairs = zip(stated, boxes, strict=True)
            stated = [self._area(box) if each is None else each for each, box in pairs]
        if not _are_numbers([*stated]):
            self._check(stated, lambda each: _are_numbers([each]), "area {} is not a number")
        return tuple(map(float, stated))

    def _area(self, box: Box) -> float:
        unit = self._image.size if self._format.startswith("rel_") else ImageSize(1, 1)
        if unit is None:
            at = self._stated.areas.index(None)
            raise self._fault(at, "neither an area nor the image's width and height are stated")
        width, height = box[2:]
        if self._format.endswith("xyxy"):
            width, height = width - box[0], height - box[1]
        return width * height * unit.width * unit.height

    def _points(self) -> tuple[Ring, ...]:
        """Keypoints, a row per box; zeros (COCO's "not labelled") for boxes without keypoints."""
        stated = self._stated.keypoints
        if not any(stated):
            return ()
        self._check(stated, _are_triples, "keypoints {} are not triples of numbers")
        lengths = {len(points) for points in stated if points}
        if len(lengths) > 1:
            raise malformed(
                f"{self._image.key}: its annotations have {sorted(lengths)} keypoint numbers"
            )
        absent = (0.0,) * lengths.pop()
        return tuple(tuple(map(float, points)) if points else absent for points in stated)

    def _point_names(self, points: Sequence[Ring]) -> tuple[str, ...]:
        """Names of the keypoints, if all categories of the file share them."""
        known = self._facts.keypoints
        pairs = zip(self._stated.categories, self._stated.keypoints, strict=True)
        number = sum(bool(stated and known.get(category)) for category, stated in pairs)
        names, *others = {*known.values()} or [()]
        if others or (number and 3 * len(names) != len(points[0])):
            self.left += ["keypoint names"] * number
            return ()
        return names if number else ()

    def _refuse_class(self) -> None:
        """Raise RecordError if an annotation without a box states a class."""
        category = self._stated.categories[0]
        if category is not None:
            raise RecordError(
                "no box",
                f"its class {self._facts.names.get(plain_id(category))!r} is stated without bbox "
                "or segmentation, as that of a whole image",
            )


def _taken(column: Sequence[Any], places: Sequence[int]) -> Sequence[Any]:
    return tuple(map(column.__getitem__, places))


def _mask_of(stated: Any) -> Mask:
    """Decode a mask from run lengths (pycocotools/mask.py)."""
    if not isinstance(stated, dict):
        raise malformed(f"segmentation {repr(stated)[:200]} is not a list of polygons")
    size, counts = stated.get("size"), stated.get("counts")
    try:
        height, width = size if isinstance(size, list) else [0, 0]
        image = ImageSize(int(height), int(width))
        if min(image) < 1 or image.height * image.width > _MOST_PIXELS:
            raise ValueError
        with naming("segmentation"):
            if isinstance(counts, list):
                return mask_of_runs(image, [int(count) for count in counts])
            return checked((image, str(counts).encode()))
    except (TypeError, ValueError, OverflowError):
        raise malformed(f"segmentation {repr(stated)[:200]} has no size and counts") from None


def _are_numbers(values: Any) -> bool:
    """Whether a value is a list of finite numbers, none with hundreds of digits."""
    try:  # comparing text with numbers fails
        return (
            type(values) is list
            and -_LARGEST < min(values, default=0) <= max(values, default=0) < _LARGEST
        )
    except TypeError:
        return False


def _is_box(stated: Any) -> bool:
    return not stated or (_are_numbers(stated) and len(stated) == 4)


def _are_even(rings: Rings) -> bool:
    return not any(len(ring) % 2 for ring in rings)


def _are_triples(points: Any) -> bool:
    return not points or (_are_numbers(points) and len(points) % 3 == 0)


def _captions_of(path: str, said: Sequence[Said]) -> tuple[str, ...]:
    for file, name in ((each.file, each.value) for each in said if each.kind == NAME):
        called = name_of(name.replace("\\", "/"))
        if composed(called) != composed(name_of(path)):
            raise malformed(
                f"{file} calls it {called}, so its captions are of another image; "
                f"pass {files_to_ignore([glob.escape(file)]).typed}"
            )
    texts = (each.value for each in said if each.kind == CAPTIONS)
    return tuple(text for text in texts if isinstance(text, str) and text.strip())


def _map_of(said: Sequence[Said], facts: FileFacts) -> tuple[Map, int]:
    """Panoptic map of an image, and the number of segments with a box (boxes are not kept).

    A pixel's segment id is R + 256 G + 65536 B; 0 means no segment.
    """
    maps = [each.value for each in said if each.kind == PANOPTIC]
    if not maps:
        raise RecordError("no annotation", "has no map in the panoptic annotations")
    if len(maps) > 1:
        raise RecordError("two annotations", f"has {len(maps)} maps, where one is expected")
    name, segments = maps[0]
    if not isinstance(name, str) or not isinstance(segments, list):
        raise malformed(f"needs a file_name and segments_info, has {str(maps[0])[:200]}")
    numbers = {each: number for number, each in enumerate(sorted(facts.names))}
    classes = {0: IGNORED}
    for segment in map(as_object, segments):
        own, category = plain_id(segment.get("id")), plain_id(segment.get("category_id"))
        if type(own) is not int or not 0 < own <= _LARGEST_ID or own in classes:
            raise malformed(f"segment {str(segment)[:200]} needs an id of its own, from 1 on")
        if type(category) is not int or category not in numbers:
            raise malformed(f"category {str(category)[:200]} is not declared")
        classes[own] = numbers[category]
    value = Map(
        file=FileRef(path=facts.file.locate(name, facts.maps)[1]),
        colors=b"".join(each.to_bytes(3, "little") for each in classes),
        classes=bytes(classes.values()),
        num_classes=len(facts.names),
    )
    return value, sum("bbox" in segment for segment in segments)
