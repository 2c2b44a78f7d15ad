"""The layout `labelme`: a JSON file beside each image, with the shapes that were drawn on it.

Source of the format: https://github.com/wkentaro/labelme, labelme/_label_file.py.
"""

import base64
import dataclasses
import io
import posixpath
import re
from typing import Any

import numpy as np
from PIL import Image as Pixels

from beam_pipeline.kinds.boxes import check_number
from beam_pipeline.kinds.masks import mask_of
from beam_pipeline.records import Mask
from beam_pipeline.sources.annotations.shapes import OBJECTS, Shapes, Told, around, stated_size
from beam_pipeline.sources.annotations.side_files import MAX_BYTES, SideFiles, side_file_layout
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.paths import folder, joined, place_of, split_at
from tfrecord_dataset.image_size import ImageSize
from tfrecord_dataset.json_file import JsonError, parse_object

_SHAPES = re.compile(rb'"shapes"\s*:\s*\[')
_IMAGE_DATA = re.compile(rb'"imageData"\s*:\s*"(?:[^"\\]++|\\.)*+"')
_MOST = 1e9  # pixels
_MOST_PIXELS = 1 << 27  # of a mask
_FEWEST = {
    "polygon": 3,
    "rectangle": 2,
    "rotation": 4,
    "mask": 2,
    "point": 1,
}  # of a mask: the corners of its box
_KEPT = frozenset({"label", "points", "shape_type", "mask", "direction"})


@dataclasses.dataclass(frozen=True)
class LabelMeFiles(SideFiles):
    """JSON files, each beside its image or with the path to it."""

    suffix = "json"
    noun = "JSON file"
    naming = "imagePath"
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

    def parse(self, data: bytes, annotation: str) -> Told:
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
        for number, shape in enumerate(value["shapes"], start=1):
            if not isinstance(shape, dict):
                raise malformed(f"shape {number} is {shape!r:.80}, not an object")
            kind, label, group = _kind(shape), shape.get("label"), _group(shape)
            if kind not in _FEWEST:
                shapes.left.append(kind)
                continue
            if not isinstance(label, str) or not label.strip():
                raise malformed(f"shape {number} has no label")
            where = f"shape {number} ({label:.80})"
            corners = _corners(shape.get("points"), kind, where)
            if kind == "point":
                seen = [(x, y, 2.0) for x, y in zip(corners[::2], corners[1::2], strict=True)]
                shapes.loose_points(label, seen, group)
            elif kind == "polygon":
                shapes.polygon(label, [corners])
            elif kind == "rotation":  # of X-AnyLabeling
                shapes.turned_box(label, corners)
            elif kind == "mask":
                mask = _mask(shape.get("mask"), corners, shapes.size, where)
                shapes.mask(label, mask, around([corners]))
            else:
                shapes.box(label, around([corners]))
            if group in groups and kind != "point":
                shapes.group(group)
            kept = _KEPT | {"group_id"} if group in groups else _KEPT
            shapes.left += (
                name for name, said in shape.items() if name not in kept and _says(said)
            )
        return shapes.told()


def _parsed(data: bytes) -> dict[str, Any]:
    """The file's JSON, without the image that may be in it once more, in base64."""
    data = _IMAGE_DATA.sub(b'"imageData":null', data.removeprefix(b"\xef\xbb\xbf"))
    if len(data) > MAX_BYTES:
        raise malformed(f"over {MAX_BYTES:,} bytes besides imageData")
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


def _corners(points: Any, kind: str, where: str) -> list[float]:
    """x, y of one corner after the other."""
    try:
        corners = [(float(x), float(y)) for x, y in points]
    except (TypeError, ValueError, OverflowError):
        corners = []
    if len(corners) < _FEWEST[kind] or not all(abs(x) + abs(y) < _MOST for x, y in corners):
        raise malformed(f"{where}: the points {points!r:.80} of a {kind} are no list of [x, y]")
    return [each for corner in corners for each in corner]


def _mask(stated: Any, corners: list[float], size: ImageSize | None, where: str) -> Mask:
    """A PNG file of the window whose first and last pixel are stated, in base64."""
    if size is None:
        raise malformed(
            f"{where}: a mask in an image whose imageWidth and imageHeight are not told"
        )
    left, top, right, bottom = map(int, around([corners]))
    try:
        with Pixels.open(io.BytesIO(base64.b64decode(stated))) as opened:
            found = ImageSize(opened.height, opened.width)
            inside = min(left, top) >= 0 and right < size.width and bottom < size.height
            fits = inside and found == (bottom - top + 1, right - left + 1)
            if fits and found.height * found.width <= _MOST_PIXELS:
                return mask_of(np.asarray(opened.convert("L")), top, left, size)
    except Exception as error:  # decoders raise many kinds
        raise malformed(f"{where}: the mask is no PNG in base64: {error}") from error
    raise malformed(f"{where}: a mask of {found} pixels is not that of its points in {size}")


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
