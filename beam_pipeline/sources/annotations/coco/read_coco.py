"""Stream COCO's files once, each item parsed once, and join what they say of each image."""

import dataclasses
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, ClassVar

import apache_beam as beam

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import Element, Rejected
from beam_pipeline.running.buckets import Buckets
from beam_pipeline.running.gathering import Share, least_buckets
from beam_pipeline.running.pickling import pack
from beam_pipeline.running.spill import Spill, spill_of
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
from beam_pipeline.sources.gather import Entry, gathered, in_batches
from beam_pipeline.sources.json_items import walk
from beam_pipeline.sources.layout import Layout
from beam_pipeline.sources.rejects import malformed

# One worker holds a bucket, which takes several times this size in memory.
_BUCKET_BYTES = 8 << 20
_MAX_BUCKETS = 1024
_OF_FILES = ""  # the key of facts and elements of whole files
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
        num_bytes = sum(size or 0 for size in storage.sizes(file.path for file in self.files))
        buckets = Buckets.of(
            num_bytes, _BUCKET_BYTES, at_least=least_buckets(pipeline), at_most=_MAX_BUCKETS
        )
        spill = spill_of(pipeline)
        return (
            pipeline
            | "Files" >> Share(self.files)  # CocoFile
            | "ReadFiles" >> beam.FlatMap(read_file, buckets, spill)  # (bucket, bytes)
            | "GroupImages" >> beam.GroupByKey()
            | "JoinImages" >> beam.FlatMap(join_bucket, spill)  # Element
        )


def read_file(file: CocoFile, buckets: Buckets, spill: Spill) -> Iterator[tuple[int, bytes]]:
    """Yield the parts of a file's images, each in the bucket of its image; its facts in all."""
    reader = Reader(file)
    for bucket, batch in in_batches(reader.entries(), buckets):
        yield bucket, spill.put(batch)
    facts = Entry(_OF_FILES, (file.relative, 0), reader.facts)
    once = [Entry(_OF_FILES, (file.relative, 1), each) for each in reader.elements]
    yield from ((bucket, spill.put(pack([facts]))) for bucket in range(1, buckets.number))
    yield 0, spill.put(pack([facts, *once]))


def join_bucket(group: tuple[int, Iterable[bytes]], spill: Spill) -> Iterator[Element]:
    """Yield the elements of the images in one bucket."""
    facts: dict[str, FileFacts] = {}
    for key, values in gathered(spill.all(group[1])):
        if key != _OF_FILES:
            yield from elements_of(key, [*itertools.chain.from_iterable(values)], facts)
            continue
        for value in values:
            if isinstance(value, FileFacts):
                facts[value.file.relative] = value
            else:
                yield value


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
        key = path = ""
        lists: dict[str, tuple[int, ...]] = {}
        fault: RecordError | None = None
        try:
            if not name:
                raise _unnamed(image)
            if not file.captions_of:
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
        file, shows = self._file.relative, self.facts.shows
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
