"""The layout `cvat`: CVAT's own XML, with all images in one file ("CVAT for images 1.1").

Source of the format: https://docs.cvat.ai/docs/manual/advanced/formats/format-cvat/.
"""

import re
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element, ParseError

import numpy as np
from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse

from beam_pipeline.files import storage
from beam_pipeline.kinds.masks import mask_of
from beam_pipeline.records import DeclaredClasses
from beam_pipeline.sources.annotations.item_files import (
    Item,
    ItemFormat,
    label_of,
    layout_of,
)
from beam_pipeline.sources.annotations.shapes import (
    Attribute,
    Attributes,
    Point,
    Shapes,
    checked_window,
    number,
    numbers,
    numbers_at,
    sized,
    stated_size,
)
from beam_pipeline.sources.rejects import malformed

_OWNERS = ("box", "polygon", "mask")  # shapes that get the points of their group


def _images(path: str) -> Iterator[tuple[str, Any] | DeclaredClasses]:
    place, points = 0, tuple[str, ...]()
    with storage.decompressed(path) as handle:
        try:
            for _, element in iterparse(handle, events=("end",)):
                if element.tag == "labels":
                    names, of_points = _names(element)
                    if names:
                        points = tuple(dict.fromkeys(of_points))  # skeletons may share names
                        yield DeclaredClasses(feature="boxes", names=dict(enumerate(names)))
                elif element.tag == "track":
                    raise malformed("tracks of a video; export it as CVAT for images 1.1")
                elif element.tag == "image":
                    place += 1
                    yield f"image {place}", (element, points)
                    element.clear()
        except (ParseError, DefusedXmlException, ValueError, LookupError) as error:
            raise malformed(f"not usable as XML: {error}") from error


def _item(stated: Any, shapes: Shapes) -> Item:
    image, point_names = stated
    shapes.point_names = point_names
    shapes.size = stated_size(image.get("width"), image.get("height"))
    owning = {shape.get("group_id") for shape in image if shape.tag in _OWNERS}
    for shape in image:
        group = shape.get("group_id")
        shapes.left += _add(shapes, shape, group if group in owning else None)
    features, notes = shapes.parsed()
    if tags := [tag.get("label") or "" for tag in image.findall("tag")]:
        features["label"] = label_of(tags)
    return Item(image.get("name") or "", features, notes)


def _names(labels: Element) -> tuple[list[str], list[str]]:
    """The project's labels in order, and the labels of the points of all skeletons."""
    names: tuple[list[str], list[str]] = [], []
    for label in labels.findall("label"):
        if name := (label.findtext("name") or "").strip():
            names[bool(label.findtext("parent"))].append(name)
    return names


def _add(shapes: Shapes, shape: Element, group: str | None) -> Iterator[str]:
    """Add a shape; yield the names of what is not kept."""
    label = shape.get("label") or ""
    more: dict[str, Attribute] = {
        f"{each.get('name')}": (each.text or "").strip() for each in shape.findall("attribute")
    }
    yield from ["attribute occluded"] * ("occluded" in more)  # the shape's own flag is kept
    more["occluded"] = int(shape.get("occluded") == "1")
    if shape.tag == "box":
        box = numbers_at(shape, "xtl", "ytl", "xbr", "ybr")
        middle = ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)
        turn = number(shape.get("rotation") or 0, "rotation")
        shapes.box(label, box, more, turn, middle)
    elif shape.tag == "polygon":
        shapes.polygon(label, [re.split("[,;]", shape.get("points") or "")], more)
    elif shape.tag == "mask":
        _add_mask(shapes, label, shape, more)
    elif shape.tag == "skeleton":
        if named := _points(shape, shapes.point_names):
            shapes.points(label, named, more)
        else:
            yield "skeleton without a point in the image"
    elif shape.tag == "points":
        corners = [each for pair in (shape.get("points") or "").split(";") for each in _pair(pair)]
        shapes.loose_points(label, corners, group, more, 2.0 - int(more["occluded"]))
        is_part = group or shapes.are_landmarks
        yield from (f"{name} of a point" for name in more if is_part and name != "occluded")
    elif shape.tag != "tag":
        yield str(shape.tag)
    if group and shape.tag in _OWNERS:
        shapes.group(group)


def _points(skeleton: Element, names: tuple[str, ...]) -> dict[str, Point]:
    """x, y and visibility (1 if occluded) by name, without points outside the image."""
    named: dict[str, Point] = {}
    for each in skeleton.findall("points"):
        name = (each.get("label") or "").strip()
        if name not in names:
            raise malformed(f"a skeleton's point {name!r:.80} that the labels do not name")
        if each.get("outside") != "1":
            x, y = _pair(each.get("points") or "")
            named[name] = (x, y, 1.0 if each.get("occluded") == "1" else 2.0)
    return named


def _pair(text: str) -> tuple[float, ...]:
    return numbers(text.split(","), 2)


def _add_mask(shapes: Shapes, label: str, shape: Element, more: Attributes) -> None:
    """Add a mask from the run lengths of a window, row by row."""
    left, top, width, height = map(int, numbers_at(shape, "left", "top", "width", "height"))
    size = checked_window(left, top, width, height, shapes.size)
    runs = [int(number(each, "rle")) for each in (shape.get("rle") or "").split(",")]
    if min(runs) < 0 or sum(runs) != width * height:
        raise malformed(f"a mask of {width}x{height} with runs of {sum(runs)} pixels")
    pixels = np.repeat((np.arange(len(runs)) % 2).astype(np.uint8), runs).reshape(height, width)
    shapes.mask(label, mask_of(pixels, top, left, size), sized(left, top, width, height), more)


_CVAT = ItemFormat(suffix="xml", sign=re.compile(rb"<annotations[\s>]"), item=_item, stated=_images)
LAYOUT = layout_of("cvat", "CVAT's .xml of all images next to them", _CVAT, takes_points=True)
