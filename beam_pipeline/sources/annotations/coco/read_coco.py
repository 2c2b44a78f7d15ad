"""Stream COCO's files once, each item parsed once, and group the items by image."""

import dataclasses
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, ClassVar, NamedTuple

import apache_beam as beam

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import Element, Rejected
from beam_pipeline.running.gathering import Balance, Share, least_buckets
from beam_pipeline.running.spill import spill_of, spilling
from beam_pipeline.sources.annotations.coco.coco_files import (
    BOXES,
    CAPTIONS,
    CLASSES,
    PANOPTIC,
    UNKNOWN,
    CocoFile,
    claim_coco,
)
from beam_pipeline.sources.annotations.coco.coco_records import (
    ID_LISTS,
    NO_RINGS,
    FileFacts,
    ImageItem,
    Part,
    Row,
    Said,
    elements_of,
    plain_id,
    rings_of,
)
from beam_pipeline.sources.annotations.item_files import Images
from beam_pipeline.sources.annotations.shapes import as_object, stated_size
from beam_pipeline.sources.gather import Entry, bucketed, gathered
from beam_pipeline.sources.json_items import walk
from beam_pipeline.sources.layout import Layout
from beam_pipeline.sources.rejects import malformed

# Items whose parts wait for others of their images, and about the size of one.
_AT_ONCE = 1 << 15
_PART_BYTES = 1 << 10
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


@dataclasses.dataclass
class ReadCoco(beam.PTransform):
    """Images of COCO JSON files, with their boxes, classes, captions or panoptic maps.

    Yields a Record for every image in a file, with "boxes" in format "xywh", the attributes
    `is_crowd` and `area`, keypoints, polygons and run lengths; one DeclaredClasses per file; a bad
    Rejected for every image with an invalid annotation, for every annotation of an unknown image,
    and for a file with invalid JSON, of which nothing is used.
    """

    files: Sequence[CocoFile]
    yields_buckets: ClassVar[bool] = True

    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection:
        at_least, folder = least_buckets(pipeline), spill_of(pipeline).folder
        return (
            pipeline
            | "Files" >> Share(self.files)  # CocoFile
            | "ReadFiles" >> beam.FlatMap(read_file, at_least, folder)  # ImageBatch | Element
            | "Balance" >> Balance()
            | "JoinImages" >> beam.FlatMap(join_images)  # Element
        )


class ImageBatch(NamedTuple):
    """Some of a file's images: packed parts, and facts of the file."""

    parts: list[bytes]
    facts: FileFacts


def read_file(
    file: CocoFile, at_least: int = 1, folder: str = ""
) -> Iterator[ImageBatch | Element]:
    """Yield a file's images in batches, `at_least` so many, and its rejects and classes.

    Batches wait in a temporary file in `folder`, as the file's last item may be of its first image.
    """
    readers = [Reader(each) for each in (file, file.captions) if each]
    parts = itertools.chain.from_iterable(reader.parts() for reader in readers)
    num_bytes = sum(size or 0 for size in storage.sizes(reader.file.path for reader in readers))
    facts = readers[0].facts
    with spilling(folder) as spill:
        for batches in bucketed(parts, num_bytes, spill, at_least):
            if not facts.is_damaged:
                yield ImageBatch(batches, facts)
    for reader in readers:
        yield from reader.elements


def join_images(read: ImageBatch | Element) -> Iterator[Element]:
    """Yield the elements of images; pass others through."""
    if not isinstance(read, ImageBatch):
        yield read
        return
    for image_id, values in gathered(read.parts):
        yield from elements_of(image_id, [*itertools.chain.from_iterable(values)], read.facts)


LAYOUT = Layout(
    name="coco",
    sign="annotations/instances_*.json, <split>/_annotations.coco.json, another COCO .json",
    claim=claim_coco,
    read=lambda claim, config, scratch: ReadCoco(claim.plan),
    takes=("image_root", "box_format"),
)


class Reader:
    """Reads one file; at the end, `facts` has its facts and `elements` its rejects and classes."""

    def __init__(self, file: CocoFile) -> None:
        self.facts = FileFacts(file=file, shows=file.shows)
        self.elements: list[Element] = []
        self.file = file
        self._images = Images(file)
        self._times = Counter[int]()  # by hash: millions of names would fill the memory
        self._numbers = Counter[str]()  # of items, by member
        self._parts = defaultdict[str, list[Part]](list)
        self._parsers = {"images": self._image, "annotations": self._annotation}

    def parts(self) -> Iterator[Entry]:
        """Yield the parts of images by image id, those of many items at once."""
        place = 0
        try:
            for place, item in enumerate(walk(self.file.path), start=1):
                self._add(*item)
                if not place % _AT_ONCE:
                    yield from self._taken(place)
            yield from self._taken(place + 1)
            self.facts.end(self._numbers["images"])
        except RecordError as error:
            self.facts.is_damaged = True
            self.elements = [Rejected.of(self.file.relative, error)]
        self.elements += self.facts.declared()

    def _taken(self, place: int) -> Iterator[Entry]:
        parts, self._parts = self._parts, defaultdict(list)
        for key, some in parts.items():
            yield Entry(key, (self.file.relative, place), some, _PART_BYTES * len(some))

    def _add(self, member: str, name: str, value: Any) -> None:
        """Add an item of a list, or note why it has no image."""
        if member == "categories" and not name:
            self.facts.add_category(value)
        if not (parse := self._parsers.get(member)):
            return
        number = self._numbers[member]
        self._numbers[member] += 1
        try:
            image_id, part = parse(number, value)
        except RecordError as error:
            source = f"{self.file.relative}: {member[:-1]} number {number}"
            self.elements.append(Rejected.of(source, error))
        else:
            self._parts[str(plain_id(image_id))].append(part)

    def _image(self, number: int, image: Any) -> tuple[Any, Part]:
        stated, file = as_object(image), self.file
        image_id, name = stated.get("id"), _file_name(stated)
        if not isinstance(image_id, int | float | str) or image_id == "":
            raise _unnamed(image)
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
        item = ImageItem(
            file=file.relative,
            name=name,
            key=self._unique(key),
            path=path,
            size=stated_size(stated.get("width"), stated.get("height")),
            source_id=_source_id(image_id) if file.keeps_ids else "",
            left=[f"image {each}" for each in _other_names(stated, _OF_IMAGE)],
            lists=lists,
            fault=fault,
        )
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
        file, shows = self.file.relative, self.facts.shows
        if shows == CAPTIONS:
            source = f"{file}: annotation {annotation.get('id')}"
            return image_id, Said(source, annotation.get("caption"))
        if shows == PANOPTIC:
            value = annotation.get("file_name"), annotation.get("segments_info")
            return image_id, Said(f"{file}: image {plain_id(image_id)}", value)
        annotation.setdefault("id", f"number {number}")
        return image_id, row_of(annotation)


def row_of(item: Mapping[str, Any]) -> Row:
    """Make a row of an annotation as parsed from its file."""
    segment, rings = item.get("segmentation"), NO_RINGS
    if segment and type(segment) is not dict:
        try:
            rings, segment = rings_of(segment), None
        except RecordError as error:  # reported once its image is known
            segment = error
    return (*map(item.get, _MEMBERS), _other_names(item, _KEPT), rings, segment)


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


def _source_id(image_id: Any) -> str:
    text = str(plain_id(image_id))
    return text if _ID.fullmatch(text) and -(2**63) <= int(text) < 2**63 else ""


def _ids(image: Mapping[str, Any], name: str) -> tuple[int, ...]:
    stated = image.get(name) or []
    ids = [*map(plain_id, stated)] if isinstance(stated, list) else [stated]
    if wrong := [each for each in ids if type(each) is not int or each.bit_length() > 62]:
        raise malformed(f"{name} has {str(wrong[0])[:200]}, not the id of a category")
    return tuple(ids)
