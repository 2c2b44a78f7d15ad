"""Parse a COCO file once, as a stream, into the parts of its images.

A part is what one item of the file says of an image. File-level facts (categories, whether the JSON
is complete) are known at the end.
"""

import contextlib
import dataclasses
import itertools
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Set
from typing import Any, NamedTuple

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.media.maps import IGNORED
from beam_pipeline.outlines import packed_ring
from beam_pipeline.records import DeclaredClasses, Element, Rejected
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
from beam_pipeline.sources.annotations.item_files import Images, base_of
from beam_pipeline.sources.annotations.shapes import as_object, stated_size
from beam_pipeline.sources.gather import Entry
from beam_pipeline.sources.json_items import walk
from beam_pipeline.sources.paths import parent, stem, upload_notes
from beam_pipeline.sources.rejects import malformed, not_kept
from tfrecord_dataset.image_size import ImageSize

# LVIS: classes absent from an image, and classes that are not labelled exhaustively.
ID_LISTS = ("neg_category_ids", "not_exhaustive_category_ids")
NAME = "name"
# Items whose parts wait for others of their images, and about the size of one.
_AT_ONCE = 1 << 15
_PART_BYTES = 1 << 10
FEWEST_NUMBERS = 6  # in a polygon: three corners
# Members of annotations that are kept in order, then all known ones; other names are noted.
_MEMBERS = ("id", "category_id", "bbox", "area", "iscrowd", "keypoints")
_KEPT = frozenset({*_MEMBERS, "image_id", "num_keypoints", "segmentation"})
# An annotation with any of these members is an object.
_OF_OBJECTS = frozenset({"bbox", "category_id", "segmentation"})
# The origin of an image is not an annotation.
_OF_IMAGE = frozenset(
    {"id", "file_name", "width", "height", "license", "coco_url", "flickr_url", "date_captured"}
    | {*ID_LISTS}
)
_UNSAID: tuple[Any, ...] = (None, "", [], {})
_ID = re.compile(r"0|-?[1-9]\d{,18}")

Packed = tuple[bytes, bytes]
"""Polygons: the coordinates and the lengths of their rings, as in `Outlines`."""
NO_RINGS: Packed = (b"", b"")
Row = tuple[Any, ...]
"""An object: its `_MEMBERS`, names of members that are not kept, packed polygons, and any other
segmentation; plain, since millions are shuffled."""


@fast_pickle
class ImageItem(NamedTuple):
    """An item of "images".

    Attributes:
        source_id: Its id, if a 64-bit integer, as Model Garden's evaluation requires; else "".
        notes: Counts of notes, such as for its members that are not kept.
        lists: Its lists of category ids, by feature name.
        fault: Why it cannot be used, although annotations refer to it.
    """

    key: str
    path: str
    size: ImageSize | None
    source_id: str
    notes: Counter[str]
    lists: Mapping[str, tuple[int, ...]]
    fault: RecordError | None


@fast_pickle
class Said(NamedTuple):
    """An item about an image other than its objects.

    Attributes:
        kind: CAPTIONS for a caption, PANOPTIC for a panoptic map, NAME for the image's name in a
            captions file that is read along with another file.
        source: The item, for messages: "a.json: annotation 7".
        value: The caption, the map's (file_name, segments_info), or the name.
    """

    kind: str
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


class Reader:
    """Reads one file; at the end, `facts` has its facts and `elements` its rejects and classes."""

    def __init__(self, file: CocoFile) -> None:
        self.facts = FileFacts(file=file, shows=file.shows)
        self.elements: list[Element] = []
        self._file = file
        self._images = Images(file)
        self._times = Counter[int]()  # by hash: millions of names would fill the memory
        self._numbers = Counter[str]()  # of items, by member
        self._parts = defaultdict[str, list[Part]](list)
        self._parsers = {"images": self._image, "annotations": self._annotation}

    def entries(self) -> Iterator[Entry]:
        """Yield the parts of images by "<file>\\0<image id>", those of many items at once."""
        place = 0
        try:
            for place, item in enumerate(walk(self._file.path), start=1):
                self._add(*item)
                if not place % _AT_ONCE:
                    yield from self._taken(place)
            yield from self._taken(place + 1)
            self.facts.end(self._numbers["images"])
        except RecordError as error:
            self.facts.is_damaged = True
            self.elements = [Rejected.of(self._file.relative, error)]
        self.elements += self.facts.declared()

    def _taken(self, place: int) -> Iterator[Entry]:
        parts, self._parts = self._parts, defaultdict(list)
        for key, some in parts.items():
            yield Entry(key, (self._file.relative, place), some, _PART_BYTES * len(some))

    def _add(self, member: str, name: str, value: Any) -> None:
        """Add an item of a list, or note why it has no image."""
        if member == "categories" and not name:
            self.facts.add_category(value)
        if not (parse := self._parsers.get(member)):
            return
        number, file = self._numbers[member], self._file
        self._numbers[member] += 1
        try:
            image_id, part = parse(number, value)
        except RecordError as error:
            source = f"{file.relative}: {member[:-1]} number {number}"
            self.elements.append(Rejected.of(source, error))
        else:
            of = file.captions_of or file.relative
            self._parts[f"{of}\0{plain_id(image_id)}"].append(part)

    def _image(self, number: int, image: Any) -> tuple[Any, Part]:
        stated, file = as_object(image), self._file
        image_id, name = stated.get("id"), _file_name(stated)
        if not isinstance(image_id, int | float | str) or image_id == "":
            raise _unnamed(image)
        if file.captions_of:
            return image_id, Said(NAME, f"{file.relative}: image {plain_id(image_id)}", name)
        key = path = ""
        lists: dict[str, tuple[int, ...]] = {}
        fault: RecordError | None = None
        try:
            if not name:
                raise _unnamed(image)
            key, path = self._images.locate(name)
            lists = {each: _ids(stated, each) for each in ID_LISTS if each in stated}
            self.facts.id_lists |= lists.keys()
        except RecordError as error:
            fault = error
        size = stated_size(stated.get("width"), stated.get("height"))
        source_id = _source_id(image_id) if file.keeps_ids else ""
        notes = not_kept(f"image {each}" for each in _other_names(stated, _OF_IMAGE))
        notes += upload_notes(name, key)
        item = ImageItem(self._unique(key), path, size, source_id, notes, lists, fault)
        return image_id, item

    def _unique(self, key: str) -> str:
        """Make a key unique: append the image's number among those with the same key."""
        self._times[hash(key)] += 1
        times = self._times[hash(key)]
        return key if times == 1 else f"{key}#{times}"

    def _annotation(self, number: int, annotation: Any) -> tuple[Any, Part]:
        image_id = annotation.get("image_id") if type(annotation) is dict else None
        if image_id is None:
            raise malformed(f"has no image_id: {str(annotation)[:200]}")
        if self.facts.shows == UNKNOWN:
            self.facts.shows = _shown(annotation)
        file, shows = self._file.relative, self.facts.shows
        if shows == CAPTIONS:
            source = f"{file}: annotation {annotation.get('id')}"
            return image_id, Said(shows, source, annotation.get("caption"))
        if shows == PANOPTIC:
            value = annotation.get("file_name"), annotation.get("segments_info")
            return image_id, Said(shows, f"{file}: image {plain_id(image_id)}", value)
        annotation.setdefault("id", f"number {number}")
        return image_id, row_of(annotation)


def row_of(item: Mapping[str, Any]) -> Row:
    """Make a row of an annotation as parsed from its file."""
    segment = item.get("segmentation")
    rings = NO_RINGS
    with contextlib.suppress(TypeError, OverflowError):  # reported once its image is known
        if segment and all(len(each) >= FEWEST_NUMBERS and not len(each) % 2 for each in segment):
            rings, segment = packed_rings(segment), None
    return (*map(item.get, _MEMBERS), _other_names(item, _KEPT), rings, segment)


def packed_rings(rings: Any) -> Packed:
    """Pack polygons; TypeError or OverflowError if they are not lists of numbers."""
    if type(rings) is not list or {*map(type, rings)} != {list}:
        raise TypeError(rings)
    return packed_ring(itertools.chain(*rings)), array("i", map(len, rings)).tobytes()


def _other_names(item: Mapping[str, Any], kept: Set[str]) -> tuple[str, ...]:
    """Names of the members of an item that no record keeps."""
    if item.keys() <= kept:
        return ()
    return tuple(sorted(name for name in item.keys() - kept if item[name] not in _UNSAID))


def _shown(annotation: Mapping[str, Any]) -> str:
    if "segments_info" in annotation:
        return PANOPTIC
    of_objects = _OF_OBJECTS & annotation.keys()
    if of_objects == {"category_id"} and "keypoints" not in annotation:
        return CLASSES
    return CAPTIONS if "caption" in annotation and not of_objects else BOXES


def _unnamed(image: Any) -> RecordError:
    return malformed(f"needs an id and a file_name, has {str(image)[:200]}")


def _file_name(image: Mapping[str, Any]) -> str:
    """File name of an image; in LVIS, the end of its COCO URL."""
    name, url = image.get("file_name"), image.get("coco_url")
    if isinstance(name, str):
        return name
    return "/".join(url.split("/")[-2:]) if isinstance(url, str) and url.count("/") > 2 else ""


def plain_id(value: Any) -> Any:
    """Convert a whole-number id to int: some tools write 17.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _source_id(image_id: Any) -> str:
    text = str(plain_id(image_id))
    return text if _ID.fullmatch(text) and -(2**63) <= int(text) < 2**63 else ""


def _ids(image: Mapping[str, Any], name: str) -> tuple[int, ...]:
    stated = image.get(name) or []
    ids = [*map(plain_id, stated)] if isinstance(stated, list) else [stated]
    if wrong := [each for each in ids if type(each) is not int or each.bit_length() > 62]:
        raise malformed(f"{name} has {str(wrong[0])[:200]}, not the id of a category")
    return tuple(ids)
