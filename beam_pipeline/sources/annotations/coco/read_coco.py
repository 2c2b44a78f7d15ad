"""Read COCO's files once, as a stream, and bring the annotations of each image together.

What a file says once (its categories, whether it is JSON to its end) goes to all buckets, before
what it says of images.
"""

import dataclasses
import operator
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import apache_beam as beam

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import DeclaredClasses, Element, Rejected
from beam_pipeline.running.buckets import Buckets, send
from beam_pipeline.running.gathering import Share, least_buckets
from beam_pipeline.running.pickling import pack
from beam_pipeline.running.spill import NOT_SPILLED, Spill, spill_of
from beam_pipeline.sources.annotations.coco.coco_files import (
    BOXES,
    CAPTIONS,
    CLASSES,
    NOTHING,
    PANOPTIC,
    UNKNOWN,
    CocoFile,
    claim_coco,
    coco_files,
)
from beam_pipeline.sources.annotations.coco.coco_records import (
    ID_LISTS,
    Annotations,
    Block,
    Caption,
    CaptionedImage,
    ImageItem,
    MapItem,
    by_image,
    elements_of,
    other_names,
    plain_id,
)
from beam_pipeline.sources.annotations.coco.facts import FileFacts
from beam_pipeline.sources.annotations.image_files import Images
from beam_pipeline.sources.gather import Entry, gathered, in_batches
from beam_pipeline.sources.json_items import walk
from beam_pipeline.sources.layout import Claim, Layout
from beam_pipeline.sources.malformed import malformed

# A bucket is held by one worker, some times as large in memory.
_BUCKET_BYTES = 8 << 20
_MAX_BUCKETS = 1024
# Of annotations, which wait for others of their image: so many, and what one takes about.
_ITEMS_AT_ONCE = 4096
_ITEM_BYTES = 1024
# Keys that come before those of images.
_FACTS, _FINISHED, _BLOCKS = "", "\0", "\0\0"
# By these an annotation is of an object, whatever else it has.
_OF_OBJECTS = frozenset({"bbox", "category_id", "segmentation"})
# The source of an image is not an annotation.
_OF_IMAGE = frozenset(
    {"id", "file_name", "width", "height", "license", "coco_url", "flickr_url", "date_captured"}
    | {*ID_LISTS}
)


@dataclasses.dataclass
class ReadCoco(beam.PTransform):
    """The images of COCO JSON files, with their boxes, classes, captions or panoptic maps.

    Yields a Record for every image that a file describes; with "boxes" in format "xywh", the
    attributes `is_crowd` and `area`, keypoints, polygons and run lengths; one DeclaredClasses a
    file; a bad Rejected for every image with an annotation that cannot be used, for every
    annotation of an unknown image, and for a file that is not JSON to its end, of which nothing is
    used.

    Attributes:
        files: The files.
        box_format: One of `boxes.FORMATS`; "" is COCO's own, "xywh".
    """

    files: Sequence[CocoFile]
    box_format: str = ""
    yields_buckets: ClassVar[bool] = True

    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection:
        num_bytes = sum(size or 0 for size in storage.sizes(file.path for file in self.files))
        buckets = Buckets.of(
            num_bytes, _BUCKET_BYTES, at_least=least_buckets(pipeline), at_most=_MAX_BUCKETS
        )
        of_images = [file for file in self.files if not file.captions_of]
        spill = spill_of(pipeline)
        keeps_ids = len({file.split for file in of_images}) == len(of_images)
        return (
            pipeline
            | "Files" >> Share(self.files)  # CocoFile
            | "ReadFiles" >> beam.FlatMap(read_file, buckets, spill)  # (bucket, bytes)
            | "GroupImages" >> beam.GroupByKey()
            | "JoinImages" >> beam.FlatMap(join_bucket, self.box_format or "xywh", keeps_ids, spill)
        )  # Element


def read_file(
    file: CocoFile, buckets: Buckets, spill: Spill = NOT_SPILLED
) -> Iterator[tuple[int, bytes]]:
    """What a file says, to the buckets of its images."""
    reader = _Reader(file, buckets)
    entries = ((bucket, tuple(entry)) for bucket, entry in reader.entries())
    for bucket, batch in send(entries, size=operator.itemgetter(3)):
        yield bucket, spill.put(batch)
    once = (
        Entry(f"{_FINISHED}{number % buckets.number}", (), element)
        for number, element in enumerate(reader.elements())
    )
    for bucket, batch in in_batches(once, buckets):
        yield bucket, spill.put(batch)
    facts = spill.put(pack([tuple(Entry(_FACTS, (), reader.facts))]))
    yield from ((number, facts) for number in range(buckets.number))


def join_bucket(
    group: tuple[int, Iterable[bytes]],
    box_format: str,
    keeps_ids: bool,
    spill: Spill = NOT_SPILLED,
) -> Iterator[Element]:
    """The elements of the images of one bucket."""
    facts: dict[str, FileFacts] = {}
    objects: dict[str, Annotations] = {}
    for key, values in gathered(spill.all(group[1])):
        if key == _FACTS:
            facts = {value.file: value for value in values}
        elif key == _BLOCKS:
            objects = by_image([*values])
        elif key.startswith(_FINISHED):
            yield from values
        else:
            every = [*values, *filter(None, [objects.pop(key, None)])]
            yield from elements_of(key, every, facts, box_format, keeps_ids=keeps_ids)
    for key, one in objects.items():  # of images that are not described
        yield from elements_of(key, [one], facts, box_format, keeps_ids=keeps_ids)


class _Reader:
    """Goes through one file.

    Attributes:
        facts: What it says once, as far as it was read.
    """

    def __init__(self, file: CocoFile, buckets: Buckets) -> None:
        self.facts = FileFacts.of(file)
        self._file, self._buckets = file, buckets
        self._images = Images(file)
        self._keys: set[int] = set()  # hashes: millions of names would fill the memory
        self._repeats: dict[str, int] = {}
        self._num_images = self._num_annotations = 0
        self._rejects: list[Rejected] = []
        self._items: dict[int | str, list[dict[str, Any]]] = {}

    def entries(self) -> Iterator[tuple[int, Entry]]:
        """What it says of images, each on its way to the bucket of its image."""
        try:
            for member, name, value in walk(self._file.path):
                entry = None
                if member == "annotations":
                    entry = self._annotation(self._num_annotations, value)
                    self._num_annotations += 1
                    if not self._num_annotations % _ITEMS_AT_ONCE:
                        yield from self._waiting_items()
                elif member == "images":
                    entry = self._image(self._num_images, value)
                    self._num_images += 1
                elif member == "categories" and not name:
                    self.facts.add_category(value)
                if entry:
                    yield self._buckets.bucket(entry.key), entry
            yield from self._waiting_items()
            self._end()
        except RecordError as error:
            self.facts.is_damaged = True
            self._rejects = [Rejected.of(self._file.relative, error)]

    def _end(self) -> None:
        if self.facts.shows == UNKNOWN:
            is_of_a_test = (self._file.split or "").startswith("test")
            self.facts.shows = NOTHING if is_of_a_test else BOXES
        if not self._num_images:
            raise malformed('has no "images": not a COCO instances file, or an empty one')
        self.facts.complete()

    def elements(self) -> Iterator[Element]:
        """What it says once, for all of the pipeline."""
        yield from self._rejects
        facts = self.facts
        if not facts.is_damaged and facts.names and facts.shows in (BOXES, CLASSES, PANOPTIC):
            yield DeclaredClasses(feature=facts.shows, names=facts.class_names)

    def _key(self, image_id: Any) -> str:
        return f"{self._file.captions_of or self._file.relative}\0{plain_id(image_id)}"

    def _image(self, number: int, image: Any) -> Entry | None:
        image_id, name = (image.get("id"), _file_name(image)) if type(image) is dict else ("", "")
        fault = None
        if not isinstance(image_id, int | float | str) or not name:
            fault = malformed(f"needs an id and a file_name, has {str(image)[:200]}")
            if not isinstance(image_id, int | float | str) or image_id == "":
                source = f"{self._file.relative}: image number {number}"
                self._rejects.append(Rejected.of(source, fault))
                self.facts.num_nameless += 1
                return None
        if self._file.captions_of:
            captioned = CaptionedImage(self._file.relative, name)
            return Entry(self._key(image_id), (1, number), captioned)
        key = path = ""
        try:
            if fault:
                raise fault
            key, path = self._images.locate(name)
            lists = tuple((each, _ids(image, each)) for each in ID_LISTS if each in image)
            self.facts.id_lists |= {each for each, _ in lists}
        except RecordError as error:
            fault, lists = error, ()
        item = ImageItem(
            key=self._unique(key),
            path=path,
            width=image.get("width"),
            height=image.get("height"),
            image_id=plain_id(image_id),
            split=self._file.split,
            others=tuple(f"image {each}" for each in other_names(image, _OF_IMAGE)),
            lists=lists,
            fault=fault,
        )
        return Entry(self._key(image_id), (0, number), item)

    def _unique(self, key: str) -> str:
        """The key, with the number of the image among those of the file that have the same."""
        if hash(key) in self._keys:
            self._repeats[key] = self._repeats.get(key, 1) + 1
            return f"{key}#{self._repeats[key]}"
        self._keys.add(hash(key))
        return key

    def _annotation(self, number: int, annotation: Any) -> Entry | None:
        """Return an entry to shuffle; None for an annotation of objects, which waits."""
        image_id = annotation.get("image_id") if type(annotation) is dict else None
        if image_id is None:
            fault = malformed(f"has no image_id: {str(annotation)[:200]}")
            source = f"{self._file.relative}: annotation number {number}"
            self._rejects.append(Rejected.of(source, fault))
            return None
        if self.facts.shows == UNKNOWN:
            self.facts.shows = _shown(annotation)
        if self.facts.shows == CAPTIONS:
            file, caption = self._file.relative, annotation.get("caption")
            value: Any = Caption(file, annotation.get("id"), caption)
        elif self.facts.shows == PANOPTIC:
            name, segments = annotation.get("file_name"), annotation.get("segments_info")
            value = MapItem(self._file.relative, name, segments)
        else:
            if "id" not in annotation:
                annotation["id"] = f"number {number}"
            known = image_id if type(image_id) is int else str(plain_id(image_id))
            self._items.setdefault(known, []).append(annotation)
            return None
        return Entry(self._key(image_id), (2, number), value)

    def _waiting_items(self) -> Iterator[tuple[int, Entry]]:
        """The annotations of objects that wait, those of a bucket as one block."""
        waiting, self._items = self._items, {}
        by_bucket: defaultdict[int, dict[str, list[dict[str, Any]]]] = defaultdict(dict)
        for image_id, items in waiting.items():
            key = self._key(image_id)
            by_bucket[self._buckets.bucket(key)].setdefault(key, []).extend(items)
        for bucket, images in by_bucket.items():
            block = Block.of(images)
            order, num_bytes = (self._num_annotations,), _ITEM_BYTES * sum(block.counts)
            yield bucket, Entry(_BLOCKS, order, block, num_bytes)


def _shown(annotation: Mapping[str, Any]) -> str:
    """What a file shows whose name does not tell, by its first annotation."""
    if "segments_info" in annotation:
        return PANOPTIC
    of_objects = _OF_OBJECTS & annotation.keys()
    if of_objects == {"category_id"} and "keypoints" not in annotation:
        return CLASSES
    return CAPTIONS if "caption" in annotation and not of_objects else BOXES


def _file_name(image: Mapping[str, Any]) -> str:
    """What an image is called; of LVIS's, the end of its address in COCO."""
    name, url = image.get("file_name"), image.get("coco_url")
    if isinstance(name, str):
        return name
    return "/".join(url.split("/")[-2:]) if isinstance(url, str) and url.count("/") > 2 else ""


def _ids(image: Mapping[str, Any], name: str) -> tuple[int, ...]:
    stated = image.get(name) or []
    ids = [*map(plain_id, stated)] if isinstance(stated, list) else [stated]
    if wrong := [each for each in ids if type(each) is not int or each.bit_length() > 62]:
        raise malformed(f"{name} has {str(wrong[0])[:200]}, not the id of a category")
    return tuple(ids)


def _read(claim: Claim, config: BuildConfig, scratch: str) -> ReadCoco:
    return ReadCoco(coco_files(claim.path, claim.reads, config), config.box_format)


LAYOUT = Layout(
    name="coco",
    sign="annotations/instances_*.json, <split>/_annotations.coco.json, another COCO .json",
    claim=claim_coco,
    read=_read,
    takes=("image_root", "box_format"),
)
