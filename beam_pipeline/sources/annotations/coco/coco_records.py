"""COCO's facts about an image, and the record made of them.

A part has the facts about an image in one item of a file. Facts of the whole file are known at its
end.
"""

import dataclasses
import glob
import itertools
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from beam_pipeline.errors import RecordError, naming
from beam_pipeline.files import storage
from beam_pipeline.kinds.boxes import check_number
from beam_pipeline.kinds.masks import box_of, checked, mask_of_runs
from beam_pipeline.kinds.object_columns import mirrored
from beam_pipeline.media.maps import IGNORED
from beam_pipeline.outlines import Box, Boxes, Outlines, packed_ring
from beam_pipeline.problems import files_to_ignore
from beam_pipeline.records import (
    ClassLabel,
    Consumed,
    DeclaredClasses,
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
from beam_pipeline.sources.annotations.coco.coco_files import (
    BOXES,
    CAPTIONS,
    CLASSES,
    NOTHING,
    PANOPTIC,
    UNKNOWN,
    CocoFile,
)
from beam_pipeline.sources.annotations.item_files import base_of
from beam_pipeline.sources.annotations.shapes import around, as_object, sized
from beam_pipeline.sources.paths import name_of, parent, stem, upload_notes
from beam_pipeline.sources.rejects import malformed, not_kept
from beam_pipeline.sources.tables.types import array_of
from tfrecord_dataset.image_size import ImageSize

# LVIS: classes absent from an image, and classes that are not labelled exhaustively.
ID_LISTS = ("neg_category_ids", "not_exhaustive_category_ids")
# Notes to count.
BOX_OF_POLYGON = "box made from its polygon"
BOX_OF_MASK = "box made from its mask"
FEW_CORNERS = "polygon dropped: fewer than 3 corners"
NO_BOX = "box dropped: no bbox"

_FEWEST_NUMBERS = 6  # in a polygon: three corners
_SHOWN = 3
_LARGEST = 1e30
_MOST_PIXELS = 1 << 40
_NUM_COLUMNS = 8
_T = TypeVar("_T")
_CROWDS = (None, 0, 1)
_LARGEST_ID = (1 << 24) - 1  # of a segment, encoded as a colour

Rings = tuple[bytes, bytes, int]
"""Polygons: the coordinates and the lengths of their rings, as in `Outlines`; and how many rings
are dropped."""
NO_RINGS: Rings = (b"", b"", 0)
Row = tuple[Any, ...]
"""An object: id, class, box, area, crowd, keypoints; names of members that are not kept; polygons;
and another segmentation, or its fault. Plain, since millions are shuffled."""


@fast_pickle
class ImageItem(NamedTuple):
    """An item of "images".

    Attributes:
        file: The COCO file, relative to its folder.
        name: Its name in that file.
        source_id: Its id, if a 64-bit integer, as Model Garden's evaluation requires; else "".
        left: Its members that are not kept: "image license".
        lists: Its lists of category ids, by feature name.
        fault: Why it cannot be used, although annotations refer to it.
    """

    file: str
    name: str
    key: str
    path: str
    size: ImageSize | None
    source_id: str
    left: Sequence[str]
    lists: Mapping[str, tuple[int, ...]]
    fault: RecordError | None


@fast_pickle
class Said(NamedTuple):
    """An item about an image other than its objects.

    Attributes:
        source: The item, for messages: "a.json: annotation 7".
        value: The caption; in a file of panoptic maps, the map's (file_name, segments_info).
    """

    source: str
    value: Any


Part = ImageItem | Said | Row


@dataclasses.dataclass(slots=True, kw_only=True)
class FileFacts:
    """File-level facts.

    Attributes:
        shows: Its content as `CocoFile.shows`; from its annotations if its name is not enough.
        maps: The folder of its panoptic maps; "" for none.
        names: Category names, by id.
        keypoints: Keypoint names, by category id.
        id_lists: Names of the id lists of its images.
        is_damaged: Whether its JSON is invalid or truncated; if so, nothing in it is used.
    """

    file: CocoFile
    shows: str
    maps: str = ""
    names: dict[int, str] = dataclasses.field(default_factory=dict)
    keypoints: dict[int, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    id_lists: set[str] = dataclasses.field(default_factory=set)
    is_damaged: bool = False

    def add_category(self, category: Any) -> None:
        """Add an item of "categories"; raise RecordError if it is malformed."""
        number, name, points = map(as_object(category).get, ("id", "name", "keypoints"))
        number = plain_id(number)
        if not isinstance(number, int) or not isinstance(name, str):
            raise malformed(f"category {str(category)[:200]} needs a number as id and a name")
        name = name.strip()
        if self.names.setdefault(number, name) != name:
            raise malformed(f"categories {self.names[number]!r} and {name!r} both have id {number}")
        if points and isinstance(points, list):
            self.keypoints[number] = tuple(map(str, points))

    def end(self, num_images: int) -> None:
        """Complete the facts at the end of the file; raise RecordError if it is unusable."""
        if self.shows == UNKNOWN:
            is_of_a_test = (self.file.split or "").startswith("test")
            self.shows = NOTHING if is_of_a_test else BOXES
        if not num_images:
            raise malformed('has no "images": not a COCO instances file, or an empty one')
        if self.shows == PANOPTIC:
            self._find_maps()

    def _find_maps(self) -> None:
        if len(self.names) > IGNORED:
            raise malformed(f"has {len(self.names)} categories, but maps up to {IGNORED} classes")
        name, path = stem(self.file.relative), self.file.path
        homes = (parent(path), base_of(path), self.file.root)
        folders = [storage.join(home, name) for home in homes]
        self.maps = next(filter(storage.is_directory, folders), "")
        if not self.maps:
            raise RecordError(
                "missing maps", f"there is no folder {name}/ next to it; put its PNG files there"
            )

    def declared(self) -> Iterator[DeclaredClasses]:
        """Yield its classes, if it declares any; maps number them in the order of their ids."""
        names: Mapping[int, str] = self.names
        if self.shows == PANOPTIC:
            names = dict(enumerate(names[number] for number in sorted(names)))
        if not self.is_damaged and names and self.shows in (BOXES, CLASSES, PANOPTIC):
            yield DeclaredClasses(feature=self.shows, names=names)


def elements_of(image_id: str, parts: Sequence[Part], facts: FileFacts) -> Iterator[Element]:
    """Yield the record of an image id in one file, or the reason for its rejection.

    `parts` is what the file and its captions file say of the image, in their order.
    """
    file = facts.file.relative
    stated = [part for part in parts if isinstance(part, ImageItem)]
    images = [part for part in stated if part.file == file]
    said = [part for part in parts if isinstance(part, Said)]
    rows = [part for part in parts if type(part) is tuple]
    if not images:
        fault = malformed(f"belongs to image {image_id}, which {file} does not describe")
        sources = [f"{each.file}: image {image_id}" for each in stated]
        sources = sources or [each.source for each in said]
        sources += [f"{file}: annotation {row[0]}" for row in rows]
        yield from (Rejected.of(each, fault) for each in sources)
        return
    for each in said:
        if facts.shows != PANOPTIC and not isinstance(each.value, str):
            fault = malformed(f"has no caption, but {str(each.value)[:200]}")
            yield Rejected.of(each.source, fault)
    source, image = f"{file}: image {image_id}", images[0]
    try:
        if images[1:]:
            names = ", ".join(each.key for each in images[:_SHOWN])
            more = f", … ({len(images):,} images)" if images[_SHOWN:] else ""
            raise malformed(f"id {image_id} is given to {names}{more}")
        if image.fault:
            raise image.fault
        for item in stated:
            _check_named(item, image)
        features, notes = _features(image, rows, said, facts)
        yield Record(
            key=image.key,
            features=features,
            split=facts.file.split,
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
    features: dict[str, Value] = {"image": Image(file=FileRef(path=image.path))}
    notes = Counter[str]()
    if facts.shows == BOXES:
        check_number(len(rows))
        features[BOXES] = _objects(image, rows, facts, notes)
    elif facts.shows == CLASSES:
        features[CLASSES] = _class_of_image(image, rows, facts)
    elif facts.shows == PANOPTIC:
        features[PANOPTIC] = _map_of(said, facts, notes)
    if facts.shows == CAPTIONS or facts.file.captions:
        texts = (each.value for each in said)
        features[CAPTIONS] = tuple(t for t in texts if isinstance(t, str) and t.strip())
    for name in ID_LISTS:
        if name in facts.id_lists:
            ids = image.lists.get(name, ())
            features[name] = array_of([*ids], (len(ids),), "int64")
    for left in ([name for *_, others, _, _ in rows for name in others], image.left):
        if left:
            notes.update(not_kept(left))
    return features, notes + upload_notes(image.name, image.key)


def _parsed(image: ImageItem, rows: Sequence[Row], parse: Callable[[Row], _T]) -> list[_T]:
    """Parse each annotation; an error names it."""
    parsed = []
    for row in rows:
        try:
            parsed.append(parse(row))
        except RecordError as error:
            detail = f"{image.key}: annotation {row[0]}: {error.detail}"
            raise malformed(detail) from None
    return parsed


def _objects(
    image: ImageItem, rows: Sequence[Row], facts: FileFacts, notes: Counter[str]
) -> Objects:
    """The objects of an image: those with a box or a segment."""
    parsed = _parsed(image, rows, lambda row: _object(row, image, facts, notes))
    objects = [each for each in parsed if each]
    if rows and not objects and (category := rows[0][1]) is not None:
        name = facts.names.get(plain_id(category))
        raise RecordError(
            "no box",
            f"its class {name!r} is stated without bbox or segmentation, as that of a whole image",
        )
    columns = [*zip(*objects, strict=True)] if objects else [()] * _NUM_COLUMNS
    boxes, categories, labels, areas, crowds, stated, rings, masks = columns
    named = tuple([label for label in labels if label is not None])
    if named and len(named) < len(objects):
        raise malformed(f"{image.key}: some of its annotations have no category_id")
    polygons = _outlines(rings)
    points = _points(image, stated) if any(stated) else ()
    names = _point_names(categories, stated, facts, notes) if points else ()
    return Objects(
        boxes=Boxes.of(boxes),
        format=facts.file.box_format,
        labels=named,
        attributes={"is_crowd": crowds, "area": areas},
        keypoints=points,
        keypoint_names=names,
        keypoint_flips=mirrored(names) if names else (),
        polygons=polygons,
        masks=masks if polygons or any(masks) else (),
        image_size=image.size,
    )


def _object(
    row: Row, image: ImageItem, facts: FileFacts, notes: Counter[str]
) -> tuple[Any, ...] | None:
    """The values of an object in all columns; None if it has neither a box nor a segment."""
    _, category, box, area, crowd, points, _, rings, segment = row
    if isinstance(segment, RecordError):
        raise segment
    if rings[2]:
        notes[FEW_CORNERS] += rings[2]
    format, mask = facts.file.box_format, _mask_of(segment) if segment else None
    if box and not (_are_numbers(box) and len(box) == 4):
        raise malformed(f"bbox {repr(box)[:200]} is not [x, y, width, height]")
    if not box:
        box = _box_around(rings, mask, format)
        notes[(BOX_OF_POLYGON if rings[0] else BOX_OF_MASK) if box else NO_BOX] += 1
        if not box:
            return None
    if points and not (_are_numbers(points) and len(points) % 3 == 0):
        raise malformed(f"keypoints {repr(points)[:200]} are not triples of numbers")
    if crowd not in _CROWDS:
        raise malformed(f"iscrowd {repr(crowd)[:200]} is not 0 or 1")
    if area is None:
        area = _area_of(box, format, image.size)
    elif not _are_numbers([area]):
        raise malformed(f"area {repr(area)[:200]} is not a number")
    label = _label_of(category, facts)
    return box, category, label, float(area), int(crowd or 0), points, rings, mask


def _outlines(rings: Sequence[Rings]) -> Outlines | tuple[()]:
    coordinates, lengths, _ = zip(*rings, strict=True) if rings else ((), (), ())
    if not any(coordinates):
        return ()
    counts = array("i", [len(each) // 4 for each in lengths]).tobytes()
    return Outlines(b"".join(coordinates), b"".join(lengths), counts)


def _label_of(category: Any, facts: FileFacts) -> str | None:
    try:
        return None if category is None else facts.names[category]
    except (KeyError, TypeError):  # a list cannot be a key
        raise malformed(f"category {repr(category)[:200]} is not declared") from None


def _class_of_image(image: ImageItem, rows: Sequence[Row], facts: FileFacts) -> ClassLabel:
    """The class of a whole image, as in iNaturalist and camera trap datasets."""
    if not rows:
        detail = "no annotation states its class, as those of others do"
        raise RecordError("no annotation", detail)
    if any(box or rings != NO_RINGS or segment for _, _, box, *_, rings, segment in rows):
        raise malformed("has a box, unlike the file's first annotation, which only has a class")
    labels = {*_parsed(image, rows, lambda row: _label_of(row[1], facts))}
    if labels == {None}:
        raise malformed("has no category_id")
    if None in labels:
        raise malformed(f"{image.key}: some of its annotations have no category_id")
    classes = sorted(filter(None, labels))
    if len(classes) > 1:
        raise RecordError("several classes", f"it is of {' and '.join(classes[:2])}")
    return ClassLabel(classes[0])


def rings_of(segment: Any) -> Rings:
    """Pack the polygons of three or more corners; raise RecordError if they are malformed."""
    try:
        rings = [ring for ring in segment if len(ring) >= _FEWEST_NUMBERS]
        coordinates = packed_ring(itertools.chain(*segment))
        if len(rings) < len(segment):
            coordinates = packed_ring(itertools.chain(*rings))
        if {*map(type, segment)} != {list}:
            raise TypeError(segment)
    except (TypeError, OverflowError):
        raise malformed(f"segmentation {repr(segment)[:200]} is not a list of polygons") from None
    lengths = array("i", map(len, rings))
    if any(length % 2 for length in lengths):
        raise malformed(f"segmentation {repr(segment)[:200]} lacks a y")
    return coordinates, lengths.tobytes(), len(segment) - len(rings)


def _mask_of(stated: Any) -> Mask:
    """Decode a mask from run lengths (pycocotools/mask.py)."""
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


def _box_around(rings: Rings, mask: Mask | None, format: str) -> Box | None:
    """The box around a segment, in a box format; None around a mask without pixels."""
    if rings[0]:
        xmin, ymin, xmax, ymax = around([array("d", rings[0])])
        box: Box | None = (xmin, ymin, xmax - xmin, ymax - ymin)
    else:
        box = mask and box_of(mask)
    if box is None or not format.endswith(("xyxy", "center_xywh")):
        return box
    x, y, width, height = box
    return (
        sized(*box) if format.endswith("xyxy") else (x + width / 2, y + height / 2, width, height)
    )


def _area_of(box: Box, format: str, size: ImageSize | None) -> float:
    """Area of a box in pixels², for objects without a stated one."""
    unit = size if format.startswith("rel_") else ImageSize(1, 1)
    if unit is None:
        raise malformed("neither an area nor the image's width and height are stated")
    width, height = box[2:]
    if format.endswith("xyxy"):
        width, height = width - box[0], height - box[1]
    return width * height * unit.width * unit.height


def _are_numbers(values: Any) -> bool:
    """Whether a value is a list of finite numbers, none with hundreds of digits."""
    try:  # comparing text with numbers fails
        return (
            type(values) is list
            and -_LARGEST < min(values, default=0) <= max(values, default=0) < _LARGEST
        )
    except TypeError:
        return False


def _points(image: ImageItem, stated: Sequence[Any]) -> tuple[tuple[float, ...], ...]:
    """Keypoints, a row per box; zeros (COCO's "not labelled") for boxes without keypoints."""
    lengths = sorted({len(points) for points in stated if points})
    if len(lengths) > 1:
        raise malformed(f"{image.key}: its annotations have {lengths} keypoint numbers")
    absent = (0.0,) * lengths[0]
    return tuple(tuple(map(float, points or absent)) for points in stated)


def _point_names(
    categories: Sequence[Any], stated: Sequence[Any], facts: FileFacts, notes: Counter[str]
) -> tuple[str, ...]:
    """Names of the keypoints, if all categories of the file share them."""
    known = facts.keypoints
    pairs = zip(categories, stated, strict=True)
    number = sum(bool(points and known.get(category)) for category, points in pairs)
    names, *others = {*known.values()} or [()]
    if others or (number and 3 * len(names) != max(map(len, filter(None, stated)))):
        notes.update(not_kept(["keypoint names"] * number))
        return ()
    return names if number else ()


def _check_named(item: ImageItem, image: ImageItem) -> None:
    """Check the name of an image in a captions file that is read along with another file."""
    called = "" if item is image else name_of(item.name.replace("\\", "/"))
    if called and composed(called) != composed(name_of(image.path)):
        raise malformed(
            f"{item.file} calls it {called}, so its captions are of another image; "
            f"pass {files_to_ignore([glob.escape(item.file)]).typed}"
        )


def _map_of(said: Sequence[Said], facts: FileFacts, notes: Counter[str]) -> Map:
    """Panoptic map of an image; the boxes of its segments are not kept.

    A pixel's segment id is R + 256 G + 65536 B; 0 means no segment.
    """
    maps = [each.value for each in said]
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
    notes.update(not_kept(["bbox"] * sum("bbox" in segment for segment in segments)))
    return Map(
        file=FileRef(path=facts.file.locate(name, facts.maps)[1]),
        colors=b"".join(each.to_bytes(3, "little") for each in classes),
        classes=bytes(classes.values()),
        num_classes=len(facts.names),
    )


def plain_id(value: Any) -> Any:
    """Convert a whole-number id to int: some tools write 17.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
