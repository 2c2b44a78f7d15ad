"""Reads COCO's JSON files as a stream: what is kept of their images and annotations."""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from beam_pipeline.errors import RecordError
from beam_pipeline.records import DeclaredClasses, Element, Rejected
from beam_pipeline.running.pickling import crosses
from beam_pipeline.sources.coco.segmentation import (
    NOTHING,
    Segmentation,
    is_number,
    segmentation_of,
)
from beam_pipeline.sources.gather import Entry
from beam_pipeline.sources.image_folders import AnnotationFile, image_folder, located
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
# Where an image comes from says nothing of it.
_OF_IMAGE = frozenset(
    {"id", "file_name", "width", "height", "license", "coco_url", "flickr_url", "date_captured"}
)


@crosses
class CocoImage(NamedTuple):
    """What is kept of an item of "images".

    Attributes:
        others: The names of what else it has.
    """

    key: str
    path: str
    size: ImageSize | None
    image_id: Any
    source: str
    split: str | None
    others: tuple[str, ...] = ()


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


def read_coco(file: AnnotationFile) -> Iterator[Entry | Element]:
    """The images and annotations of one file, keyed for their join; its classes; rejects.

    Goes through the file three times: the categories may come last, and the first pass
    finds whether the file is JSON to its end before anything of it is used.
    """
    try:
        categories = _categories(file)
    except RecordError as error:
        yield Rejected.of(file.relative, error)
        return
    if categories.names:
        yield DeclaredClasses(feature="boxes", names=categories.names)
    num_images = 0
    for num_images, item in enumerate(_images(file), start=1):  # noqa: B007
        yield item
    if not num_images:
        fault = malformed('has no "images": not a COCO instances file, or an empty one')
        yield Rejected.of(file.relative, fault)
    for number, annotation in enumerate(items(file.path, "annotations")):
        yield _annotation_entry(file, number, annotation, categories)


def _categories(file: AnnotationFile) -> Categories:
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


def plain_id(value: Any) -> Any:
    """An id as a plain int where it is one: some tools write 17.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _images(file: AnnotationFile) -> Iterator[Entry | Rejected]:
    images = items(file.path, "images")
    first = list(itertools.islice(images, _PROBED_IMAGES))
    names = [name for image in first if (name := _file_name(image))]
    folder, num_left_out = image_folder(file, names)
    # Hashes: the names themselves of millions of images would fill the memory.
    seen: set[int] = set()
    repeats: dict[str, int] = {}
    for number, image in enumerate(itertools.chain(first, images)):
        name = _file_name(image)
        if not name:
            fault = malformed(f"needs an id and a file_name, has {str(image)[:200]}")
            yield Rejected.of(f"{file.relative}: image number {number}", fault)
            continue
        try:
            key, path = located(file, name, folder, num_left_out)
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
                tuple(f"image {name}" for name in sorted(_stated_names(image, _OF_IMAGE))),
            ),
        )


def _file_name(image: Any) -> str:
    """What an image is called; by its place in COCO where that alone is told, as LVIS does."""
    if not isinstance(image, dict) or not isinstance(image.get("id"), int | float | str):
        return ""
    name, url = image.get("file_name"), image.get("coco_url")
    if isinstance(name, str):
        return name
    return "/".join(url.split("/")[-2:]) if isinstance(url, str) and url.count("/") > 2 else ""


def _size(image: dict[str, Any]) -> ImageSize | None:
    width, height = image.get("width"), image.get("height")
    if not is_number(width) or not is_number(height):
        return None
    return ImageSize(int(height), int(width)) if width > 0 and height > 0 else None


def _annotation_entry(
    file: AnnotationFile, number: int, annotation: Any, categories: Categories
) -> Entry | Rejected:
    if not isinstance(annotation, dict) or annotation.get("image_id") is None:
        fault = malformed(f"has no image_id: {str(annotation)[:200]}")
        return Rejected.of(f"{file.relative}: annotation number {number}", fault)
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
