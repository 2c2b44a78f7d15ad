"""The layout `labelme`: a JSON file per image, with the shapes drawn on it.

Source of the format: https://github.com/wkentaro/labelme, labelme/_label_file.py.
"""

import base64
import dataclasses
import posixpath
import re
from typing import Any

from beam_pipeline.kinds.boxes import check_number
from beam_pipeline.sources.annotations.shapes import (
    OBJECTS,
    Parsed,
    Shapes,
    around,
    corners_of,
    drawn_mask,
    naming,
    stated_size,
)
from beam_pipeline.sources.annotations.side_files import MAX_BYTES, SideFiles, side_file_layout
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.paths import folder, joined, place_of, split_at
from tfrecord_dataset.json_file import JsonError, parse_object

_SHAPES = re.compile(rb'"shapes"\s*:\s*\[')
_IMAGE_DATA = re.compile(rb'"imageData"\s*:\s*"(?:[^"\\]++|\\.)*+"')
# Kinds of shapes, and their fewest points.
_FEWEST = {"polygon": 3, "rectangle": 2, "rotation": 4, "mask": 2, "point": 1}
_KEPT = frozenset({"label", "points", "shape_type", "mask", "direction"})


@dataclasses.dataclass(frozen=True)
class LabelMeFiles(SideFiles):
    """JSON files, each next to its image or with the path to it."""

    suffix = "json"
    noun = "JSON file"
    naming = "imagePath"
    is_anywhere = True  # paths are those of the machine that drew the shapes
    max_bytes = 8 * MAX_BYTES  # with imageData

    points: str = OBJECTS

    def image_keys(self, annotation: str, name: str) -> list[str]:
        home, base = folder(annotation), name.rpartition("/")[2]
        places = [posixpath.normpath(joined(home, name)), joined(home, base)]
        for each in ("labels", "annotations"):
            if around := split_at(annotation, each):
                places.append("/".join(filter(None, (around[0], "images", around[1], base))))
        return list(map(place_of, places))

    def named_image(self, data: bytes) -> str:
        name = _parsed(data).get("imagePath")
        return name.replace("\\", "/") if isinstance(name, str) else ""

    def parse(self, data: bytes, annotation: str) -> Parsed:
        """The shapes of one file that have an area, and what is not kept.

        Raises:
            RecordError: "malformed annotation", with the shape's number (from 1) and value.
        """
        value = _parsed(data)
        check_number(len(value["shapes"]))
        sides: list[Any] = [value.get("imageWidth"), value.get("imageHeight")]
        are_whole = all(type(side) is int for side in sides)
        shapes = Shapes(stated_size(*sides) if are_whole else None, points=self.points)
        shapes.left += ["flags"] * _says(value.get("flags"))
        groups = {_group(each) for each in value["shapes"] if _kind(each) == "point"} - {None}
        for place, shape in enumerate(value["shapes"], start=1):
            if not isinstance(shape, dict):
                raise malformed(f"shape {place} is {shape!r:.80}, not an object")
            kind, label, group = _kind(shape), shape.get("label", ""), _group(shape)
            if kind not in _FEWEST:
                shapes.left.append(kind)
                continue
            with naming(f"shape {place} ({label!s:.80})"):
                _add(shapes, kind, shape, group)
            if group in groups and kind != "point":
                shapes.group(group)
            kept = _KEPT | {"group_id"} if group in groups else _KEPT
            shapes.left += (
                name for name, said in shape.items() if name not in kept and _says(said)
            )
        return shapes.parsed()


def _parsed(data: bytes) -> dict[str, Any]:
    """The file's JSON, without the image that may be in it once more, in base64."""
    data = _IMAGE_DATA.sub(b'"imageData":null', data.removeprefix(b"\xef\xbb\xbf"))
    if len(data) > MAX_BYTES:
        raise malformed(f"over {MAX_BYTES:,} bytes without imageData")
    try:
        value = parse_object(data)
    except JsonError as error:
        raise malformed(str(error)) from error
    if not isinstance(value.get("shapes"), list):
        raise malformed("no list of shapes, as LabelMe writes it")
    return value


def _kind(shape: Any) -> str:
    return str(shape.get("shape_type") or "polygon") if isinstance(shape, dict) else ""


def _group(shape: Any) -> int | str | None:
    group = shape.get("group_id") if isinstance(shape, dict) else None
    return group if isinstance(group, int | str) and group != "" else None


def _add(shapes: Shapes, kind: str, shape: dict[str, Any], group: int | str | None) -> None:
    label, corners = shape.get("label", ""), corners_of(shape.get("points"))
    if len(corners) < 2 * _FEWEST[kind]:
        raise malformed(f"{len(corners) // 2} points; a {kind} has {_FEWEST[kind]} or more")
    if kind == "point":
        seen = [(x, y, 2.0) for x, y in zip(corners[::2], corners[1::2], strict=True)]
        shapes.loose_points(label, seen, group)
    elif kind == "polygon":
        shapes.polygon(label, [corners])
    elif kind == "rotation":  # of X-AnyLabeling
        shapes.turned_box(label, corners)
    elif kind == "mask":  # of the window whose first and last pixel are the points
        left, top, *_ = box = around([corners])
        mask, drawn = drawn_mask(_decoded(shape.get("mask")), int(left), int(top), shapes.size)
        if drawn[2:] != (int(box[2]) + 1, int(box[3]) + 1):
            raise malformed(f"a mask at {drawn} is not that of its points {shape['points']}")
        shapes.mask(label, mask, box)
    else:
        shapes.box(label, around([corners]))


def _decoded(text: Any) -> bytes:
    try:
        return base64.b64decode(text)
    except (TypeError, ValueError) as error:
        raise malformed(f"the mask is not in base64: {error}") from error


def _says(value: Any) -> bool:
    """Whether a member says something: a flag that is set, a group, a description."""
    return any(value.values()) if isinstance(value, dict) else bool(value) or type(value) is int


LAYOUT = side_file_layout(
    name="labelme",
    sign=".json files of LabelMe next to their images",
    files=LabelMeFiles(),
    begins=_SHAPES,
    takes=("points",),
)
