"""Stream COCO's files once, and group the annotations of each image.

File-level facts (categories, whether the JSON is complete) go to all buckets, before the entries
for images.
"""

import dataclasses
import itertools
import operator
from collections import Counter, defaultdict
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
    FileFacts,
    claim_coco,
    coco_files,
    plain_id,
)
from beam_pipeline.sources.annotations.coco.coco_records import (
    ID_LISTS,
    NAME,
    ImageItem,
    Row,
    Said,
    elements_of,
    other_names,
    row_of,
)
from beam_pipeline.sources.annotations.item_files import Images
from beam_pipeline.sources.annotations.shapes import as_object
from beam_pipeline.sources.gather import Entry, gathered
from beam_pipeline.sources.json_items import walk
from beam_pipeline.sources.layout import Claim, Layout
from beam_pipeline.sources.paths import upload_notes
from beam_pipeline.sources.rejects import malformed, not_kept

# One worker holds a bucket, which takes several times this size in memory.
_BUCKET_BYTES = 8 << 20
_MAX_BUCKETS = 1024
# Annotations that wait for others of their image: the limit, and about the bytes of one.
_ROWS_AT_ONCE = 4096
_ROW_BYTES = 1024
# Keys that sort before the keys of images.
_FACTS, _FINISHED, _BLOCKS = "", "\0", "\0\0"
# An annotation with any of these members is an object.
_OF_OBJECTS = frozenset({"bbox", "category_id", "segmentation"})
# The origin of an image is not an annotation.
_OF_IMAGE = frozenset(
    {"id", "file_name", "width", "height", "license", "coco_url", "flickr_url", "date_captured"}
    | {*ID_LISTS}
)


@dataclasses.dataclass
class ReadCoco(beam.PTransform):
    """Images of COCO JSON files, with their boxes, classes, captions or panoptic maps.

    Yields a Record for every image in a file, with "boxes" in format "xywh", the attributes
    `is_crowd` and `area`, keypoints, polygons and run lengths; one DeclaredClasses per file; a bad
    Rejected for every image with an invalid annotation, for every annotation of an unknown image,
    and for a file with invalid JSON, of which nothing is used.
    """

    files: Sequence[CocoFile]
    box_format: str = ""  # COCO's own, "xywh"
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
    """Yield the entries of a file, each for the bucket of its image."""
    reader = _Reader(file, buckets)
    entries = ((bucket, tuple(entry)) for bucket, entry in reader.entries())
    for bucket, batch in send(entries, size=operator.itemgetter(3)):
        yield bucket, spill.put(batch)
    facts = spill.put(pack([tuple(Entry(_FACTS, (), reader.facts))]))
    yield from ((number, facts) for number in range(buckets.number))


def join_bucket(
    group: tuple[int, Iterable[bytes]],
    box_format: str,
    keeps_ids: bool,
    spill: Spill = NOT_SPILLED,
) -> Iterator[Element]:
    """Yield the elements of the images in one bucket."""
    facts: dict[str, FileFacts] = {}
    objects = defaultdict[str, list[Row]](list)
    for key, values in gathered(spill.all(group[1])):
        if key == _FACTS:
            facts = {value.file.relative: value for value in values}
        elif key == _BLOCKS:
            for image, rows in itertools.chain.from_iterable(values):
                objects[image] += rows
        elif key == _FINISHED:
            yield from values
        else:
            own = objects.pop(key, [])
            yield from elements_of(key, [*values], own, facts, box_format, keeps_ids=keeps_ids)
    for key, own in objects.items():  # annotations of unknown images
        yield from elements_of(key, [], own, facts)


class _Reader:
    """Reads one file; `facts` has the file-level facts read so far."""

    def __init__(self, file: CocoFile, buckets: Buckets) -> None:
        self.facts = FileFacts(file=file, shows=file.shows)
        self._file, self._buckets = file, buckets
        self._images = Images(file)
        self._times = Counter[int]()  # by hash: millions of names would fill the memory
        self._num_images = self._num_annotations = 0
        self._rejects: list[Rejected] = []
        self._rows = defaultdict[str, list[Row]](list)

    def entries(self) -> Iterator[tuple[int, Entry]]:
        """Yield (bucket, entry): image entries in their image's bucket, other elements in any."""
        try:
            for member, name, value in walk(self._file.path):
                entry = None
                if member == "annotations":
                    entry = self._annotation(self._num_annotations, value)
                    self._num_annotations += 1
                    if not self._num_annotations % _ROWS_AT_ONCE:
                        yield from self._waiting_rows()
                elif member == "images":
                    entry = self._image(self._num_images, value)
                    self._num_images += 1
                elif member == "categories" and not name:
                    self.facts.add_category(value)
                if entry:
                    yield self._buckets.bucket(entry.key), entry
            yield from self._waiting_rows()
            self._end()
        except RecordError as error:
            self.facts.is_damaged = True
            self._rejects = [Rejected.of(self._file.relative, error)]
        for number, element in enumerate(self._elements()):
            yield number % self._buckets.number, Entry(_FINISHED, (), element)

    def _end(self) -> None:
        if self.facts.shows == UNKNOWN:
            is_of_a_test = (self._file.split or "").startswith("test")
            self.facts.shows = NOTHING if is_of_a_test else BOXES
        if not self._num_images:
            raise malformed('has no "images": not a COCO instances file, or an empty one')
        if self.facts.shows == PANOPTIC:
            self.facts.find_maps()

    def _elements(self) -> Iterator[Element]:
        yield from self._rejects
        facts = self.facts
        if not facts.is_damaged and facts.names and facts.shows in (BOXES, CLASSES, PANOPTIC):
            yield DeclaredClasses(feature=facts.shows, names=facts.class_names)

    def _key(self, image_id: Any) -> str:
        return f"{self._file.captions_of or self._file.relative}\0{plain_id(image_id)}"

    def _image(self, number: int, image: Any) -> Entry | None:
        stated, file = as_object(image), self._file
        image_id, name = stated.get("id"), _file_name(stated)
        has_id = isinstance(image_id, int | float | str) and image_id != ""
        if not has_id:
            source = f"{file.relative}: image number {number}"
            self._rejects.append(Rejected.of(source, _unnamed(image)))
            return None
        place = self._key(image_id)
        if file.captions_of:
            said = Said(NAME, file.relative, f"image {plain_id(image_id)}", name)
            return Entry(place, (1, number), said)
        key = path = ""
        lists: tuple[tuple[str, tuple[int, ...]], ...] = ()
        fault: RecordError | None = None
        try:
            if not name:
                raise _unnamed(image)
            key, path = self._images.locate(name)
            lists = tuple((each, _ids(stated, each)) for each in ID_LISTS if each in stated)
            self.facts.id_lists |= {each for each, _ in lists}
        except RecordError as error:
            fault = error
        item = ImageItem(
            key=self._unique(key),
            path=path,
            width=stated.get("width"),
            height=stated.get("height"),
            image_id=plain_id(image_id),
            split=file.split,
            notes=not_kept(f"image {each}" for each in other_names(stated, _OF_IMAGE))
            + upload_notes(name, key),
            lists=lists,
            fault=fault,
        )
        return Entry(place, (0, number), item)

    def _unique(self, key: str) -> str:
        """Make a key unique: append the image's number among those with the same key."""
        self._times[hash(key)] += 1
        times = self._times[hash(key)]
        return key if times == 1 else f"{key}#{times}"

    def _annotation(self, number: int, annotation: Any) -> Entry | None:
        """Return an entry to shuffle; None for an object annotation, which waits."""
        file, facts = self._file.relative, self.facts
        image_id = annotation.get("image_id") if type(annotation) is dict else None
        if image_id is None:
            fault = malformed(f"has no image_id: {str(annotation)[:200]}")
            self._rejects.append(Rejected.of(f"{file}: annotation number {number}", fault))
            return None
        if facts.shows == UNKNOWN:
            facts.shows = _shown(annotation)
        if facts.shows == CAPTIONS:
            item, value = f"annotation {annotation.get('id')}", annotation.get("caption")
        elif facts.shows == PANOPTIC:
            item = f"image {plain_id(image_id)}"
            value = annotation.get("file_name"), annotation.get("segments_info")
        else:
            if "id" not in annotation:
                annotation["id"] = f"number {number}"
            self._rows[self._key(image_id)].append(row_of(annotation))
            return None
        return Entry(self._key(image_id), (2, number), Said(facts.shows, file, item, value))

    def _waiting_rows(self) -> Iterator[tuple[int, Entry]]:
        """Yield the waiting object annotations, one block per bucket."""
        blocks = defaultdict[int, list[tuple[str, list[Row]]]](list)
        for key, rows in self._rows.items():
            blocks[self._buckets.bucket(key)].append((key, rows))
        self._rows.clear()
        for bucket, block in blocks.items():
            num_bytes = _ROW_BYTES * sum(len(rows) for _, rows in block)
            yield bucket, Entry(_BLOCKS, (self._num_annotations,), block, num_bytes)


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
