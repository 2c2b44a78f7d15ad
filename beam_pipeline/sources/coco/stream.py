"""Reads COCO's JSON files as a stream: what is kept of their images and annotations."""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from beam_pipeline.errors import RecordError
from beam_pipeline.records import DeclaredClasses, Element, Rejected
from beam_pipeline.running.pickling import crosses
from beam_pipeline.sources.coco.captions import caption_entry, captioned_images
from beam_pipeline.sources.coco.files import BOXES, CAPTIONS, CLASSES, PANOPTIC, CocoFile
from beam_pipeline.sources.coco.ids import ID_LISTS, file_name, ids_of, plain_id
from beam_pipeline.sources.coco.panoptic import Maps
from beam_pipeline.sources.coco.segmentation import (
    NOTHING,
    Segmentation,
    is_number,
    segmentation_of,
)
from beam_pipeline.sources.gather import Entry
from beam_pipeline.sources.image_folders import image_folder, located
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.nesting import items
from tfrecord_dataset.image_size import ImageSize

# So many images are looked for, to find out in which folder they are.
_PROBED_IMAGES = 3
# What records keep of an annotation, and what says where it belongs; of the rest, the names.
_KEPT = frozenset(
    {"id", "image_id", "category_id", "bbox", "area", "iscrowd", "keypoints", "num_keypoints"}
    | {"segmentation"}
)
# By these an annotation is of an object, whatever is said of it beside.
_OF_OBJECTS = frozenset({"bbox", "category_id", "segmentation"})
# Where an image comes from says nothing of it.
_OF_IMAGE = frozenset(
    {"id", "file_name", "width", "height", "license", "coco_url", "flickr_url", "date_captured"}
)


@crosses
class CocoImage(NamedTuple):
    """What is kept of an item of "images".

    Attributes:
        others: The names of what else it has.
        features: What records of its file have beside the image.
        lists: Its lists of ids of categories by the names of their features.
    """

    key: str
    path: str
    size: ImageSize | None
    image_id: Any
    source: str
    split: str | None
    others: tuple[str, ...] = ()
    features: tuple[str, ...] = ("boxes",)
    lists: tuple[tuple[str, tuple[int, ...]], ...] = ()


@crosses
class CocoAnnotation(NamedTuple):
    """What is kept of an item of "annotations", as it is stated.

    Attributes:
        segmentation: Its polygons or mask.
        keypoint_names: Of its keypoints, where they have some.
        others: The names of what else it has.
    """

    annotation_id: Any
    category_id: Any
    category: str | None
    bbox: Any
    area: Any
    is_crowd: Any
    keypoints: Any
    segmentation: Segmentation = NOTHING
    keypoint_names: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


class Categories(NamedTuple):
    """What a file says of its categories.

    Attributes:
        names: By id.
        keypoints: The names of keypoints by id; without those that differ from others.
        differ: Whether there are several such lists of names, none of which is kept.
    """

    names: dict[int, str]
    keypoints: dict[int, tuple[str, ...]]
    differ: bool


def read_coco(file: CocoFile) -> Iterator[Entry | Element]:
    """The images and annotations of one file, keyed for their join; its classes; rejects.

    Goes through the file three times or more: the categories may come last, and the first pass
    finds whether the file is JSON to its end before anything of it is used.
    """
    try:
        categories = _categories(file)
        shows = file.shows or _shown(file)
        maps = Maps.of(file, categories.names) if shows == PANOPTIC else None
    except RecordError as error:
        yield Rejected.of(file.relative, error)
        return
    if file.captions_of:
        yield from captioned_images(file)
    else:
        if maps:
            yield maps.declared()
        elif categories.names and shows in (BOXES, CLASSES):
            yield DeclaredClasses(feature=shows, names=categories.names)
        num_images = 0
        features = tuple(filter(None, (shows, file.captions and CAPTIONS)))
        for num_images, item in enumerate(_images(file, features), start=1):  # noqa: B007
            yield item
        if not num_images:
            fault = malformed('has no "images": not a COCO instances file, or an empty one')
            yield Rejected.of(file.relative, fault)
    for number, annotation in enumerate(items(file.path, "annotations")):
        if not isinstance(annotation, dict) or annotation.get("image_id") is None:
            fault = malformed(f"has no image_id: {str(annotation)[:200]}")
            yield Rejected.of(f"{file.relative}: annotation number {number}", fault)
        elif shows == CAPTIONS:
            try:
                yield caption_entry(file, number, annotation)
            except RecordError as error:
                yield Rejected.of(f"{file.relative}: annotation number {number}", error)
        elif maps:
            yield maps.entry(number, annotation)
        else:
            yield _annotation_entry(file, number, annotation, categories)


def _shown(file: CocoFile) -> str:
    """What a file shows whose name does not tell, by its first annotation; "" of a test's."""
    first = next(items(file.path, "annotations"), None)
    if not isinstance(first, dict):
        return "" if first is None and (file.split or "").startswith("test") else BOXES
    if "segments_info" in first:
        return PANOPTIC
    of_objects = _OF_OBJECTS & first.keys()
    if of_objects == {"category_id"} and "keypoints" not in first:
        return CLASSES
    return CAPTIONS if "caption" in first and not of_objects else BOXES


def _categories(file: CocoFile) -> Categories:
    classes: dict[int, str] = {}
    keypoints: dict[int, tuple[str, ...]] = {}
    for category in items(file.path, "categories"):
        stated = category if isinstance(category, dict) else {}
        number, name = plain_id(stated.get("id")), stated.get("name")
        if not isinstance(number, int) or not isinstance(name, str):
            raise malformed(f"category {str(category)[:200]} needs a number as id and a name")
        if classes.setdefault(number, name) != name:
            raise malformed(f"categories {classes[number]!r} and {name!r} both have id {number}")
        points = stated.get("keypoints")
        if points and isinstance(points, list):
            keypoints[number] = tuple(map(str, points))
    return Categories(classes, keypoints, len(set(keypoints.values())) > 1)


def _images(file: CocoFile, features: tuple[str, ...]) -> Iterator[Entry | Rejected]:
    images = items(file.path, "images")
    first = list(itertools.islice(images, _PROBED_IMAGES))
    lists = [
        name for name in ID_LISTS if any(isinstance(each, dict) and name in each for each in first)
    ]
    kept = _OF_IMAGE.union(lists)
    names = [name for image in first if (name := file_name(image))]
    folder, num_left_out = image_folder(file, names)
    # Hashes: the names themselves of millions of images would fill the memory.
    seen: set[int] = set()
    repeats: dict[str, int] = {}
    for number, image in enumerate(itertools.chain(first, images)):
        name = file_name(image)
        if not name:
            fault = malformed(f"needs an id and a file_name, has {str(image)[:200]}")
            yield Rejected.of(f"{file.relative}: image number {number}", fault)
            continue
        try:
            key, path = located(file, name, folder, num_left_out)
            ids = tuple((each, ids_of(image, each)) for each in lists)
        except RecordError as error:
            source = f"{file.relative}: image {plain_id(image['id'])}"
            yield Rejected.of(source, error)
            continue
        if hash(key) in seen:
            repeats[key] = repeats.get(key, 1) + 1
            key = f"{key}#{repeats[key]}"
        else:
            seen.add(hash(key))
        image_id = plain_id(image["id"])
        yield Entry(
            key=f"{file.relative}\0{image_id}",
            order=(0, number),
            value=CocoImage(
                key,
                path,
                _size(image),
                image_id,
                f"{file.relative}: image {image_id}",
                file.split,
                tuple(f"image {name}" for name in sorted(_stated_names(image, kept))),
                features,
                ids,
            ),
        )


def _size(image: dict[str, Any]) -> ImageSize | None:
    width, height = image.get("width"), image.get("height")
    if not is_number(width) or not is_number(height):
        return None
    return ImageSize(int(height), int(width)) if width > 0 and height > 0 else None


def _annotation_entry(
    file: CocoFile, number: int, annotation: Mapping[str, Any], categories: Categories
) -> Entry:
    category_id = plain_id(annotation.get("category_id"))
    category_id = category_id if isinstance(category_id, int | str | None) else str(category_id)
    names = categories.keypoints.get(category_id, ()) if isinstance(category_id, int) else ()
    points = annotation.get("keypoints")
    has_all = isinstance(points, list) and len(points) == 3 * len(names) > 0
    are_named = has_all and not categories.differ
    return Entry(
        key=f"{file.relative}\0{plain_id(annotation['image_id'])}",
        order=(1, number),
        value=CocoAnnotation(
            annotation.get("id", f"number {number}"),
            category_id,
            categories.names.get(category_id) if isinstance(category_id, int) else None,
            annotation.get("bbox"),
            annotation.get("area"),
            annotation.get("iscrowd"),
            annotation.get("keypoints"),
            segmentation_of(annotation.get("segmentation")),
            names if are_named else (),
            tuple(sorted(_others(annotation, bool(names) and not are_named))),
        ),
    )


def _others(annotation: Mapping[str, Any], leaves_names: bool) -> Iterator[str]:
    """The names of what an annotation has and no record keeps."""
    if leaves_names and annotation.get("keypoints"):
        yield "keypoint names"
    yield from _stated_names(annotation, _KEPT)


def _stated_names(item: Mapping[str, Any], kept: frozenset[str]) -> Iterator[str]:
    for name in item.keys() - kept:
        if item[name] not in (None, "", [], {}):
            yield name
