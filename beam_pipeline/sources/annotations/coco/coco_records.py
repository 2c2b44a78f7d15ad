"""Make the record of an image from all that one of COCO's files says of it."""

import contextlib
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple, Self

import numpy as np

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.boxes import check_number
from beam_pipeline.kinds.columns import taken
from beam_pipeline.kinds.masks import box_of, checked, mask_of_runs
from beam_pipeline.kinds.points import mirrored
from beam_pipeline.media.maps import IGNORED
from beam_pipeline.outlines import Boxes, Outlines, Ring, Rings, packed_ring
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
from beam_pipeline.running.pickling import fast_pickle
from beam_pipeline.sources.annotations.coco.coco_files import BOXES, CAPTIONS, CLASSES, PANOPTIC
from beam_pipeline.sources.annotations.coco.facts import FileFacts
from beam_pipeline.sources.annotations.shapes import around, stated_size
from beam_pipeline.sources.left_behind import not_kept
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.references import name_of
from beam_pipeline.sources.tables.types import array_of
from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.shown_text import counted

# Of LVIS: the classes that an image does not have, and those of which it may have more.
ID_LISTS = ("neg_category_ids", "not_exhaustive_category_ids")
# What is counted.
BOX_OF_POLYGON = "box made from its polygon"
BOX_OF_MASK = "box made from its mask"
FEW_CORNERS = "polygon dropped: fewer than 3 corners"
NO_BOX = "box dropped: no bbox"

# The columns of annotations, and what is known and not kept; of the rest the names are kept.
_MEMBERS = ("id", "category_id", "bbox", "area", "iscrowd", "keypoints")
_BOXES = _MEMBERS.index("bbox")
_KEPT = frozenset({*_MEMBERS, "image_id", "num_keypoints", "segmentation"})
_UNSAID: tuple[Any, ...] = (None, "", [], {})
_SHOWN = 3
_FEWEST_NUMBERS = 6  # of a polygon: three corners
_LARGEST = 1e30
_MOST_PIXELS = 1 << 40
_LARGEST_ID = (1 << 24) - 1  # of a segment, as colours have it
_ID = re.compile(r"0|-?[1-9]\d{,18}")
_CROWDS = (None, 0, 1)
_Box = tuple[float, float, float, float]


@fast_pickle
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


@fast_pickle
class Annotations(NamedTuple):
    """Items of "annotations" with objects of one image, or its class: a column per member.

    Attributes:
        boxes: `Boxes` where all are four numbers, else as their file has them.
        others: The names of what else each has.
        polygons: Of those that have some.
        segments: Segmentations other than polygons, by the number of their annotation.
    """

    ids: tuple[Any, ...]
    categories: tuple[Any, ...]
    boxes: Sequence[Any]
    areas: tuple[Any, ...]
    crowds: tuple[Any, ...]
    keypoints: tuple[Any, ...]
    others: tuple[tuple[str, ...], ...]
    polygons: Outlines
    segments: Mapping[int, Any]

    @classmethod
    def of(cls, items: Sequence[Mapping[str, Any]]) -> Self:
        """The columns of items as their file has them."""
        stated = [item.get("segmentation") for item in items]
        others = {at: each for at, each in enumerate(stated) if each and not _are_polygons(each)}
        rings = [() if at in others else each or () for at, each in enumerate(stated)]
        columns: list[Sequence[Any]] = [
            tuple([item.get(member) for item in items]) for member in _MEMBERS
        ]
        columns[_BOXES] = _as_boxes(columns[_BOXES])
        names = tuple([other_names(item, _KEPT) for item in items])
        return cls._make([*columns, names, Outlines.of(rings), others])

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """All of one image, at least one part."""
        if len(parts) == 1:
            return parts[0]
        columns: list[Sequence[Any]] = [
            tuple(itertools.chain(*column)) for column in zip(*parts, strict=True)
        ]
        columns[_BOXES] = _as_boxes(columns[_BOXES])
        starts = itertools.accumulate((len(part.ids) for part in parts), initial=0)
        segments = {
            start + at: segment
            for start, part in zip(starts, parts, strict=False)
            for at, segment in part.segments.items()
        }
        polygons = Outlines.joined([part.polygons for part in parts])
        return cls._make([*columns[:-2], polygons, segments])


@fast_pickle
class Block(NamedTuple):
    """Annotations of objects of some images, those of an image one after the other.

    Attributes:
        keys: Of the images.
        counts: How many each has.
        columns: They.
    """

    keys: tuple[str, ...]
    counts: tuple[int, ...]
    columns: Annotations

    @classmethod
    def of(cls, images: Mapping[str, Sequence[Mapping[str, Any]]]) -> Self:
        """The block of items by image."""
        items = [*itertools.chain.from_iterable(images.values())]
        return cls(tuple(images), tuple(map(len, images.values())), Annotations.of(items))


def by_image(blocks: Sequence[Block]) -> dict[str, Annotations]:
    """The annotations of each image, from the blocks of a file in their order."""
    every = Annotations.joined([block.columns for block in blocks])
    counts = [*itertools.chain.from_iterable(block.counts for block in blocks)]
    keys = itertools.chain.from_iterable(block.keys for block in blocks)
    parts = defaultdict[str, list[int]](list)
    for number, key in enumerate(keys):
        parts[key].append(number)
    columns: tuple[Sequence[Any], ...] = every[:-2]
    segments = every.segments
    numbers = [*itertools.chain.from_iterable(parts.values())]
    if numbers != [*range(len(counts))]:
        ends = [0, *itertools.accumulate(counts)]
        order = [at for each in numbers for at in range(ends[each], ends[each + 1])]
        columns = tuple(_in_order(column, order) for column in columns)
        segments = {at: segments[place] for at, place in enumerate(order) if place in segments}
    outlines = every.polygons.divided(counts)
    found, start = {}, 0
    for key, own in parts.items():
        end = start + sum(counts[each] for each in own)
        cut = [column[start:end] for column in columns]
        polygons = Outlines.joined([outlines[each] for each in own])
        others = {at - start: segments[at] for at in range(start, end) if at in segments}
        found[key] = Annotations._make([*cut, polygons, others])
        start = end
    return found


def _in_order(column: Sequence[Any], order: Sequence[int]) -> Sequence[Any]:
    """The values of a column at some places."""
    if isinstance(column, Boxes):
        return Boxes(column.numbers[order].tobytes())
    return tuple(map(column.__getitem__, order))


@fast_pickle
class Caption(NamedTuple):
    """A caption of an image."""

    file: str
    caption_id: Any
    text: Any


@fast_pickle
class CaptionedImage(NamedTuple):
    """What a file of captions that is read with another file calls one of its images."""

    file: str
    name: str


@fast_pickle
class MapItem(NamedTuple):
    """The map of an image's segments."""

    file: str
    name: Any
    segments: Any


_NONE = Annotations((), (), (), (), (), (), (), Outlines(), {})


def _as_boxes(stated: Sequence[Any]) -> Sequence[Any]:
    """Boxes as a column, if all are lists of four finite numbers; else as they are."""
    with contextlib.suppress(TypeError):  # of values without a length
        if {*map(len, stated)} <= {4} and _are_numbers([*itertools.chain.from_iterable(stated)]):
            return Boxes.of(stated)
    return stated


def _are_polygons(segmentation: Any) -> bool:
    """Whether it is a list of lists of numbers."""
    with contextlib.suppress(TypeError, OverflowError):
        are_lists = type(segmentation) is list and {*map(type, segmentation)} == {list}
        return are_lists and packed_ring(itertools.chain(*segmentation)) is not None
    return False


def other_names(item: Mapping[str, Any], kept: Set[str]) -> tuple[str, ...]:
    """The names of what an item has and no record keeps."""
    if item.keys() <= kept:
        return ()
    return tuple(sorted(name for name in item.keys() - kept if item[name] not in _UNSAID))


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
            case Annotations():
                yield from (Rejected.of(f"{file}: annotation {each}", fault) for each in value.ids)
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
    parts = [value for value in values if isinstance(value, Annotations)]
    annotations = Annotations.joined(parts or [_NONE])
    match facts.shows:
        case "boxes":
            features[BOXES], notes = _Gathering(image, annotations, facts, box_format).objects()
        case "label":
            features[CLASSES] = _class_of(image, annotations, facts)
            notes = not_kept(itertools.chain.from_iterable(annotations.others))
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
        stated: Its annotations.
        facts: Its file's.
        box_format: One of `boxes.FORMATS`.
    """

    def __init__(
        self, image: ImageItem, stated: Annotations, facts: FileFacts, box_format: str
    ) -> None:
        self._image, self._facts, self._format = image, facts, box_format
        self._stated = stated
        self._size = stated_size(image.width, image.height)
        self._left = [*itertools.chain.from_iterable(stated.others)]
        self._notes = Counter[str]()

    def objects(self) -> tuple[Objects, Counter[str]]:
        """The objects, and what is counted of them.

        Raises:
            RecordError: An annotation cannot be used.
        """
        check_number(len(self._stated.ids))
        masks, polygons = self._masks(), self._polygons()
        boxes = self._boxes(masks, polygons)
        if not isinstance(boxes, Boxes) and None in boxes:
            kept = [at for at, box in enumerate(boxes) if box]
            if not kept:
                self._refuse_class()
            self._notes[NO_BOX] += len(boxes) - len(kept)
            columns = [taken(column, kept) for column in self._stated[:-2]]
            self._stated = Annotations._make([*columns, Outlines(), {}])
            boxes, masks, polygons = taken(boxes, kept), taken(masks, kept), polygons.taken(kept)
        labels = self._labels()
        if labels and len(labels) < len(boxes):
            raise malformed(f"{self._image.key}: some of its annotations have no category_id")
        has_rings = bool(polygons.coordinates)
        points = self._points()
        names = self._point_names(points)
        objects = Objects(
            boxes=Boxes.of(boxes),
            format=self._format,
            labels=labels,
            attributes={"is_crowd": self._crowds(), "area": self._areas(boxes)},
            keypoints=points,
            keypoint_names=names,
            keypoint_flips=mirrored(names) if names else (),
            polygons=polygons if has_rings else (),
            masks=tuple(masks) if has_rings or any(masks) else (),
            image_size=self._size,
        )
        return objects, self._notes + not_kept(self._left) if self._left else self._notes

    def _fault(self, at: int, detail: str) -> RecordError:
        return malformed(f"{self._image.key}: annotation {self._stated.ids[at]}: {detail}")

    def _unlike(
        self, values: Sequence[Any], fits: Callable[[Any], bool], detail: str
    ) -> RecordError:
        """The error of the first value that does not fit."""
        at = next(at for at, value in enumerate(values) if not fits(value))
        return self._fault(at, detail.format(repr(values[at])[:200]))

    def _masks(self) -> Sequence[Mask | None]:
        masks: list[Mask | None] = [None] * len(self._stated.ids)
        for at, segment in self._stated.segments.items():
            if not isinstance(segment, dict):
                detail = f"segmentation {repr(segment)[:200]} is not a list of polygons"
                raise self._fault(at, detail)
            try:
                masks[at] = _mask_of(segment)
            except RecordError as error:
                raise self._fault(at, error.detail) from None
        return masks

    def _polygons(self) -> Outlines:
        """Those of three corners and more."""
        polygons = self._stated.polygons
        if not polygons.coordinates:
            return polygons
        if not (np.abs(polygons.numbers) < _LARGEST).all():
            raise self._unlike([*polygons], _are_small, "segmentation {} has a number beyond 1e30")
        lengths = polygons.ring_lengths
        if few := int((lengths < _FEWEST_NUMBERS).sum()):
            self._notes[FEW_CORNERS] += few
            polygons = Outlines.of(
                [[ring for ring in rings if len(ring) >= _FEWEST_NUMBERS] for rings in polygons]
            )
        if (polygons.ring_lengths % 2).any():
            for at, rings in enumerate(polygons):
                if odd := [len(ring) for ring in rings if len(ring) % 2]:
                    raise self._fault(
                        at, f"a polygon has {odd[0]} numbers, not x and y of each corner"
                    )
        return polygons

    def _boxes(self, masks: Sequence[Mask | None], polygons: Outlines) -> Sequence[Any]:
        """The boxes that are stated, else those around segments; None without either."""
        stated = self._stated.boxes
        if isinstance(stated, Boxes) or (None not in stated and [] not in stated):
            return self._stated_boxes(stated)
        boxes = list[Any]()
        for box, mask, rings in zip(stated, masks, polygons, strict=True):
            has_one = box is not None and box != []
            boxes += self._stated_boxes([box]) if has_one else [self._box_around(rings, mask)]
        return boxes

    def _stated_boxes(self, stated: Sequence[Any]) -> Boxes:
        boxes = _as_boxes(stated)
        if isinstance(boxes, Boxes):
            return boxes
        raise self._unlike(
            self._stated.boxes,
            lambda box: not box or (_are_numbers(box) and len(box) == 4),
            "bbox {} is not [x, y, width, height]",
        )

    def _box_around(self, rings: Rings, mask: Mask | None) -> _Box | None:
        """The box around a segment, as annotations of this file have it; None without one."""
        if rings:
            xmin, ymin, xmax, ymax = around(rings)
            box: _Box | None = (xmin, ymin, xmax - xmin, ymax - ymin)
        else:
            box = mask and box_of(mask)
        if box is None:
            return None
        self._notes[BOX_OF_POLYGON if rings else BOX_OF_MASK] += 1
        x, y, width, height = box
        if self._format.endswith("xyxy"):
            return x, y, x + width, y + height
        if self._format.endswith("center_xywh"):
            return x + width / 2, y + height / 2, width, height
        return box

    def _labels(self) -> tuple[str, ...]:
        names, stated = self._facts.names, self._stated.categories
        try:
            return tuple([names[each] for each in stated if each is not None])
        except (KeyError, TypeError):  # a list cannot be a key
            raise self._unlike(
                stated,
                lambda each: each is None or plain_id(each) in [*names],
                "category {} is not declared",
            ) from None

    def _crowds(self) -> tuple[int, ...]:
        stated = self._stated.crowds
        if not all(map(_CROWDS.__contains__, stated)):
            raise self._unlike(stated, _CROWDS.__contains__, "iscrowd {} is not 0 or 1")
        return tuple([int(each or 0) for each in stated])

    def _areas(self, boxes: Sequence[_Box]) -> tuple[float, ...]:
        """In pixels²; a box's where none is stated."""
        stated: Sequence[Any] = self._stated.areas
        if None in stated:
            pairs = zip(stated, boxes, strict=True)
            stated = [self._area(box) if each is None else each for each, box in pairs]
        if not _are_numbers([*stated]):
            raise self._unlike(stated, lambda each: _are_numbers([each]), "area {} is not a number")
        return tuple(map(float, stated))

    def _area(self, box: _Box) -> float:
        unit = self._size if self._format.startswith("rel_") else ImageSize(1, 1)
        if unit is None:
            at = self._stated.areas.index(None)
            raise self._fault(at, "neither an area nor the image's width and height are stated")
        width, height = box[2:]
        if self._format.endswith("xyxy"):
            width, height = width - box[0], height - box[1]
        return width * height * unit.width * unit.height

    def _points(self) -> tuple[Ring, ...]:
        """A row per box, with zeros (COCO's "not labelled") for boxes without any."""
        stated = self._stated.keypoints
        if not any(stated):
            return ()
        if not all(map(_are_triples, stated)):
            raise self._unlike(stated, _are_triples, "keypoints {} are not triples of numbers")
        lengths = {len(points) for points in stated if points}
        if len(lengths) > 1:
            raise malformed(
                f"{self._image.key}: its annotations have {sorted(lengths)} keypoint numbers"
            )
        absent = (0.0,) * lengths.pop()
        return tuple(tuple(map(float, points)) if points else absent for points in stated)

    def _point_names(self, points: tuple[Ring, ...]) -> tuple[str, ...]:
        """The names of the points, if all categories of the file have the same."""
        known = self._facts.keypoints
        if not known or not points:
            return ()
        skeleton: tuple[str, ...] = ()
        pairs = zip(self._stated.categories, self._stated.keypoints, strict=True)
        for category, stated in pairs:
            names = known.get(category, ())
            if not names or not stated:
                continue
            if len({*known.values()}) > 1 or len(stated) != 3 * len(names):
                self._left.append("keypoint names")
            else:
                skeleton = skeleton or names
        return skeleton

    def _refuse_class(self) -> None:
        """Raises RecordError where an annotation without a box states a class."""
        category = self._stated.categories[0]
        if category is not None:
            raise RecordError(
                "no box",
                f"its class {self._facts.names.get(plain_id(category))!r} is stated without bbox "
                "or segmentation, as that of a whole image",
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
            return mask_of_runs(image, [int(count) for count in counts])
        return checked((image, str(counts).encode()))
    except (TypeError, ValueError, OverflowError):
        raise malformed(f"segmentation {repr(stated)[:200]} has no size and counts") from None
    except RecordError as error:
        raise malformed(f"segmentation: {error.detail}") from None


def _are_numbers(values: Any) -> bool:
    """Whether it is a list of finite numbers, none of hundreds of digits."""
    try:  # texts and numbers do not compare
        return (
            type(values) is list
            and -_LARGEST < min(values, default=0) <= max(values, default=0) < _LARGEST
        )
    except TypeError:
        return False


def _are_small(rings: Rings) -> bool:
    return all(_are_numbers([*ring]) for ring in rings)


def _are_triples(points: Any) -> bool:
    return not points or (_are_numbers(points) and len(points) % 3 == 0)


def _class_of(image: ImageItem, stated: Annotations, facts: FileFacts) -> ClassLabel:
    """The class of a whole image, as iNaturalist and camera traps state it.

    Raises:
        RecordError: There is none, or several, or an annotation cannot be used.
    """
    if not stated.ids:
        raise RecordError("no annotation", "no annotation states its class, as those of others do")
    classes = set()
    for at, (number, category, box) in enumerate(zip(*stated[:3], strict=True)):
        where = f"{image.key}: annotation {number}"
        if box or stated.polygons.ring_counts[at] or at in stated.segments:
            raise malformed(f"{where} has a box, unlike the file's first, which has only a class")
        name = facts.names.get(plain_id(category))
        if name is None:
            raise malformed(f"{where}: category {repr(category)[:200]} is not declared")
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
