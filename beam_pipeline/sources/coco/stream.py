"""Reads COCO's JSON files as a stream: what is kept of their images and annotations."""

import gzip
import itertools
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeGuard

import ijson

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import DeclaredClasses, Element, Rejected
from beam_pipeline.running.pickling import crosses
from beam_pipeline.sources.coco.files import CocoFile, image_folder
from beam_pipeline.sources.gather import Entry
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.nesting import CheckedJson
from tfrecord_dataset.image_size import ImageSize

# So many images are looked for, to find out in which folder they are.
_PROBED_IMAGES = 3
_LARGEST = 1e30
# What records keep of an annotation, and what says where it belongs; of the rest, the names.
_KEPT = frozenset(
    {"id", "image_id", "category_id", "bbox", "area", "iscrowd", "keypoints", "num_keypoints"}
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
        outline: [x, y, width, height] around its polygons, where it has no bbox; else None.
        others: The names of what else it has.
    """

    annotation_id: Any
    category_id: Any
    category: str | None
    bbox: Any
    area: Any
    is_crowd: Any
    keypoints: Any
    outline: list[float] | None = None
    others: tuple[str, ...] = ()


class Categories(NamedTuple):
    """What a file says of its categories.

    Attributes:
        names: By id.
        with_points: The ids of those whose keypoints have names.
    """

    names: dict[int, str]
    with_points: frozenset[int]


def read_coco(file: CocoFile) -> Iterator[Entry | Element]:
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
    for number, annotation in enumerate(_items(file, "annotations")):
        yield _annotation_entry(file, number, annotation, categories)


def _items(file: CocoFile, key: str) -> Iterator[Any]:
    """The items of one of the file's lists, one after the other.

    Raises:
        RecordError: The file cannot be read, or is not JSON.
    """
    with storage.decompressed(file.path) as handle:
        try:
            yield from ijson.items(CheckedJson(handle), f"{key}.item", use_float=True)
        except ijson.JSONError as error:
            message = " ".join(str(error).partition("(right here)")[0].split())
            raise malformed(f"not JSON, before byte {handle.tell()}: {message}") from error
        except ValueError as error:  # a number of thousands of digits
            raise malformed(f"not usable as JSON: {error}") from error
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise malformed(f"cannot be decompressed: {error}") from error


def _categories(file: CocoFile) -> Categories:
    classes: dict[int, str] = {}
    with_points = set()
    for category in _items(file, "categories"):
        stated = category if isinstance(category, dict) else {}
        number, name = plain_id(stated.get("id")), stated.get("name")
        if not isinstance(number, int) or not isinstance(name, str):
            raise malformed(f"category {str(category)[:200]} needs a number as id and a name")
        if classes.setdefault(number, name) != name:
            raise malformed(f"categories {classes[number]!r} and {name!r} both have id {number}")
        if stated.get("keypoints"):
            with_points.add(number)
    return Categories(classes, frozenset(with_points))


def plain_id(value: Any) -> Any:
    """An id as a plain int where it is one: some tools write 17.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _images(file: CocoFile) -> Iterator[Entry | Rejected]:
    images = _items(file, "images")
    first = list(itertools.islice(images, _PROBED_IMAGES))
    names = [image["file_name"] for image in first if _is_image(image)]
    folder = image_folder(file, names)
    # Hashes: the names themselves of millions of images would fill the memory.
    seen: set[int] = set()
    repeats: dict[str, int] = {}
    for number, image in enumerate(itertools.chain(first, images)):
        if not _is_image(image):
            fault = malformed(f"needs an id and a file_name, has {str(image)[:200]}")
            yield Rejected.of(f"{file.relative}: image number {number}", fault)
            continue
        try:
            key, path = file.locate(image["file_name"], folder)
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


def _is_image(image: Any) -> bool:
    return (
        isinstance(image, dict)
        and isinstance(image.get("id"), int | float | str)
        and isinstance(image.get("file_name"), str)
    )


def _size(image: dict[str, Any]) -> ImageSize | None:
    width, height = image.get("width"), image.get("height")
    if not is_number(width) or not is_number(height):
        return None
    return ImageSize(int(height), int(width)) if width > 0 and height > 0 else None


def is_number(value: Any) -> TypeGuard[float]:
    """Whether it is a number that an image may have: finite, and not of hundreds of digits."""
    return isinstance(value, int | float) and abs(value) < _LARGEST


def _annotation_entry(
    file: CocoFile, number: int, annotation: Any, categories: Categories
) -> Entry | Rejected:
    if not isinstance(annotation, dict) or annotation.get("image_id") is None:
        fault = malformed(f"has no image_id: {str(annotation)[:200]}")
        return Rejected.of(f"{file.relative}: annotation number {number}", fault)
    category_id = plain_id(annotation.get("category_id"))
    category_id = category_id if isinstance(category_id, int | str | None) else str(category_id)
    lacks_box = annotation.get("bbox") in (None, [])
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
            _outline(annotation.get("segmentation")) if lacks_box else None,
            tuple(sorted(_others(annotation, category_id in categories.with_points))),
        ),
    )


def _others(annotation: Mapping[str, Any], has_point_names: bool) -> Iterator[str]:
    """The names of what an annotation has and no record keeps."""
    if has_point_names and annotation.get("keypoints"):
        yield "keypoint names"
    yield from _stated_names(annotation, _KEPT)


def _stated_names(item: Mapping[str, Any], kept: frozenset[str]) -> Iterator[str]:
    for name in item.keys() - kept:
        if item[name] not in (None, "", [], {}):
            yield name


def _outline(polygons: Any) -> list[float] | None:
    """[x, y, width, height] around polygons; None where these are none, such as a mask."""
    if not isinstance(polygons, list) or not all(map(_is_polygon, polygons)) or not polygons:
        return None
    xs = [x for polygon in polygons for x in polygon[::2]]
    ys = [y for polygon in polygons for y in polygon[1::2]]
    return [min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)]


def _is_polygon(polygon: Any) -> bool:
    is_list = isinstance(polygon, list) and len(polygon) >= 6 and len(polygon) % 2 == 0
    return is_list and all(map(is_number, polygon))
