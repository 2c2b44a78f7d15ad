"""A JSON file per image: the layouts `labelme` and `supervisely`.

Sources of the formats: https://github.com/wkentaro/labelme, labelme/_label_file.py;
https://docs.supervisely.com/data-organization/00_ann_format_navi.
"""

import base64
import functools
import posixpath
import re
import zlib
from typing import Any

from beam_pipeline.errors import naming
from beam_pipeline.kinds.boxes import check_number
from beam_pipeline.sources.annotations.item_files import label_of
from beam_pipeline.sources.annotations.shapes import (
    OBJECTS,
    Parsed,
    Shapes,
    around,
    as_object,
    corners_of,
    drawn_mask,
    members,
    parse_json,
    stated_size,
)
from beam_pipeline.sources.annotations.side_files import (
    MAX_BYTES,
    Pairing,
    StatedImage,
    side_file_layout,
)
from beam_pipeline.sources.json_items import JsonSign
from beam_pipeline.sources.paths import folder, is_in, joined, parallel_folders, place_of
from beam_pipeline.sources.rejects import malformed

_SHAPES = JsonSign("{shapes[")
_IMAGE_DATA = re.compile(rb'"imageData"\s*:\s*"(?:[^"\\]++|\\.)*+"')
# Minimum number of points by kind of shape.
_FEWEST = {"polygon": 3, "rectangle": 2, "rotation": 4, "mask": 2, "point": 1}
_KEPT = frozenset({"label", "points", "shape_type", "mask", "direction"})


def _keys_of_labelme(annotation: str, name: str) -> list[str]:
    home, base = folder(annotation), name.rpartition("/")[2]
    places = [posixpath.normpath(joined(home, name)), joined(home, base)]
    for each in ("labels", "annotations"):
        places += (f"{home}/{base}" for home in parallel_folders(annotation, each, ["images"]))
    return list(map(place_of, places))


def _named_by_labelme(data: bytes) -> str:
    name = _parsed(data).get("imagePath")
    return name.replace("\\", "/") if isinstance(name, str) else ""


def parse_labelme(data: bytes, annotation: str, points: str = OBJECTS) -> Parsed:
    """The shapes of a JSON file next to its image, or with the path to it."""
    value = _parsed(data)
    (stated,) = members(value, shapes=list)
    check_number(len(stated))
    sides = [value.get("imageWidth"), value.get("imageHeight")]
    are_whole = all(type(side) is int for side in sides)
    shapes = Shapes(stated_size(*sides) if are_whole else None, points=points)
    of_points = {_group(each) for each in map(as_object, stated) if _kind(each) == "point"}
    for place, shape in enumerate(map(as_object, stated), start=1):
        kind, group = _kind(shape), _group(shape)
        if kind not in _FEWEST:
            shapes.left.append(kind)
            continue
        is_grouped = group is not None and group in of_points
        with naming(f"shape {place} ({shape.get('label')!s:.80})"):
            _add_shape(shapes, kind, shape, group)
        if is_grouped and kind != "point":
            shapes.group(group)
        kept = _KEPT | {"group_id"} if is_grouped else _KEPT
        shapes.left += (name for name, said in shape.items() if name not in kept and _says(said))
    features, notes = shapes.parsed()
    if flags := [name for name, is_set in as_object(value.get("flags")).items() if is_set is True]:
        features["label"] = label_of(flags)
    return features, notes


def _parsed(data: bytes) -> dict[str, Any]:
    """Parse a file's JSON without the base64 copy of the image that it may contain."""
    data = _IMAGE_DATA.sub(b'"imageData":null', data.removeprefix(b"\xef\xbb\xbf"))
    if len(data) > MAX_BYTES:
        raise malformed(f"over {MAX_BYTES:,} bytes without imageData")
    return parse_json(data)


def _kind(shape: dict[str, Any]) -> str:
    return str(shape.get("shape_type") or "polygon")


def _group(shape: dict[str, Any]) -> int | str | None:
    group = shape.get("group_id")
    return group if isinstance(group, int | str) and group != "" else None


def _add_shape(shapes: Shapes, kind: str, shape: dict[str, Any], group: int | str | None) -> None:
    label, corners = shape.get("label") or "", corners_of(shape.get("points"))
    if len(corners) < 2 * _FEWEST[kind]:
        raise malformed(f"{len(corners) // 2} points; a {kind} has {_FEWEST[kind]} or more")
    if kind == "point":
        shapes.loose_points(label, corners, group)
    elif kind == "polygon":
        shapes.polygon(label, [corners])
    elif kind == "rotation":  # from X-AnyLabeling
        shapes.turned_box(label, corners)
    elif kind == "mask":  # the points are the first and last pixel of the window
        left, top, *_ = box = around([corners])
        try:
            png = base64.b64decode(shape.get("mask") or "")
        except (TypeError, ValueError) as error:
            raise malformed(f"the mask is not in base64: {error}") from error
        mask, drawn = drawn_mask(png, int(left), int(top), shapes.size)
        if drawn[2:] != (int(box[2]) + 1, int(box[3]) + 1):
            raise malformed(f"a mask at {drawn} is not that of its points {shape['points']}")
        shapes.mask(label, mask, box)
    else:
        shapes.box(label, around([corners]))


def _says(value: Any) -> bool:
    """Whether a member has a value: a flag that is set, a group, a description."""
    return any(value.values()) if isinstance(value, dict) else bool(value) or type(value) is int


LABELME = side_file_layout(
    "labelme",
    ".json files of LabelMe next to their images",
    Pairing(
        suffix="json",
        noun="JSON file",
        parse=parse_labelme,
        max_bytes=8 * MAX_BYTES,  # with imageData
        image_keys=_keys_of_labelme,
        stated=StatedImage("imagePath", _named_by_labelme),
    ),
    _SHAPES,
    ["points"],
)


_MOST_BYTES = 1 << 26  # of a mask's PNG
_GEOMETRY = JsonSign("{objects[{(geometryType|classTitle)", "{size{(height|width)")


def _keys_of_supervisely(annotation: str, name: str) -> list[str]:
    named = name.removesuffix(".json")
    return [place_of(f"{home}/{named}") for home in parallel_folders(annotation, "ann", ["img"])]


def parse_supervisely(data: bytes, annotation: str, points: str = OBJECTS) -> Parsed:
    """The objects of a JSON file: ann/a.jpg.json annotates img/a.jpg."""
    value = parse_json(data)
    size, objects = members(value, size=dict, objects=list)
    shapes = Shapes(stated_size(size.get("width"), size.get("height")), points=points)
    shapes.left += ["image tags"] * bool(value.get("tags"))
    for one in map(as_object, objects):
        _add_object(shapes, str(one.get("geometryType")), one.get("classTitle") or "", one)
        shapes.left += ["tags"] * bool(one.get("tags"))
    return shapes.parsed()


def _add_object(shapes: Shapes, kind: str, label: str, one: dict[str, Any]) -> None:
    if kind == "bitmap":  # a PNG placed at its origin, compressed by zlib, in base64
        bitmap: Any = one.get("bitmap")
        try:
            (left, top), stated = map(int, bitmap["origin"]), base64.b64decode(bitmap["data"])
            png = zlib.decompressobj().decompress(stated, _MOST_BYTES)
        except (TypeError, ValueError, KeyError, zlib.error) as error:
            raise malformed(f"the bitmap {bitmap!r:.80} is not a PNG at an origin") from error
        shapes.mask(label, *drawn_mask(png, left, top, shapes.size))
    elif kind in ("rectangle", "polygon", "point"):
        points = as_object(one.get("points"))
        points |= {"interior": points.get("interior") or []}
        exterior, holes = members(points, exterior=list, interior=list)
        corners = corners_of(exterior)
        if kind == "point":
            shapes.loose_points(label, corners)
        elif kind == "polygon":
            shapes.left += ["hole of a polygon"] * len(holes)
            shapes.polygon(label, [corners])
        else:
            shapes.box(label, around([corners]))
    else:
        shapes.left.append(kind)


SUPERVISELY = side_file_layout(
    "supervisely",
    "ann/*.json and img/ of Supervisely",
    Pairing(
        suffix="json",
        noun="JSON file",
        parse=parse_supervisely,
        home="ann",
        is_annotation=functools.partial(is_in, home="ann"),
        image_keys=_keys_of_supervisely,
    ),
    _GEOMETRY,
    ["points"],
)
