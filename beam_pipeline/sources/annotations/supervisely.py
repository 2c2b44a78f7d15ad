"""The layout `supervisely`: a JSON file per image in ann/, and the images in img/.

Source of the format: https://docs.supervisely.com/data-organization/00_ann_format_navi.
"""

import base64
import dataclasses
import re
import zlib
from typing import Any

from beam_pipeline.sources.annotations.shapes import (
    OBJECTS,
    Parsed,
    Shapes,
    drawn_mask,
    number,
    stated_size,
)
from beam_pipeline.sources.annotations.side_files import SideFiles, side_file_layout
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.paths import has_image_suffix, place_of, stem
from tfrecord_dataset.json_file import JsonError, parse_object

_MOST_BYTES = 1 << 26  # of the PNG of a mask
_SIGN = re.compile(rb'"(geometryType|classTitle)"\s*:|"size"\s*:\s*\{\s*"(height|width)"')


@dataclasses.dataclass(frozen=True)
class SuperviselyFiles(SideFiles):
    """ann/a.jpg.json, of img/a.jpg."""

    suffix = "json"
    noun = "JSON file"
    home = "ann"
    image_home = "img"

    points: str = OBJECTS

    def common_name(self, path: str) -> str:
        name = super().common_name(path)
        return stem(name) if has_image_suffix(name) else name

    def image_keys(self, annotation: str, name: str) -> list[str]:
        return [place_of(annotation.removesuffix(".json"), self.home)]

    def parse(self, data: bytes, annotation: str) -> Parsed:
        try:
            value = parse_object(data)
        except JsonError as error:
            raise malformed(str(error)) from error
        size, objects = value.get("size"), value.get("objects")
        if not isinstance(size, dict) or not isinstance(objects, list):
            raise malformed("no size and objects, as Supervisely writes them")
        sides = size.get("width"), size.get("height")
        shapes = Shapes(stated_size(*sides), points=self.points)
        shapes.left += ["image tags"] * bool(value.get("tags"))
        for each in objects:
            one = each if isinstance(each, dict) else {}
            kind, label = str(one.get("geometryType")), one.get("classTitle", "")
            if kind in ("rectangle", "polygon", "point"):
                corners, num_holes = _corners(one.get("points"))
                if kind == "point":
                    points = zip(corners[::2], corners[1::2], strict=False)
                    shapes.loose_points(label, [(x, y, 2.0) for x, y in points], None)
                elif kind == "polygon":
                    shapes.left += ["hole of a polygon"] * num_holes
                    shapes.polygon(label, [corners])
                else:
                    xs, ys = sorted(corners[::2]), sorted(corners[1::2])
                    shapes.box(label, [*xs[:1], *ys[:1], *xs[-1:], *ys[-1:]])
            elif kind == "bitmap":
                _add_bitmap(shapes, label, one.get("bitmap"))
            else:
                shapes.left.append(kind)
            shapes.left += ["tags"] * bool(one.get("tags"))
        return shapes.parsed()


def _corners(points: Any) -> tuple[list[float], int]:
    """x, y of the corners outside, one after the other, and the number of holes."""
    exterior = points.get("exterior") if isinstance(points, dict) else None
    if not isinstance(exterior, list) or not all(isinstance(each, list) for each in exterior):
        raise malformed(f"points {points!r:.80} have no exterior")
    holes = points.get("interior") or []
    if not isinstance(holes, list):
        raise malformed(f"points {points!r:.80} have an interior that is not a list")
    return [number(each, "points") for corner in exterior for each in corner], len(holes)


def _add_bitmap(shapes: Shapes, label: str, bitmap: Any) -> None:
    """Adds the mask that a PNG draws at its origin, in zlib's form and base64."""
    try:
        (left, top), stated = map(int, bitmap["origin"]), base64.b64decode(bitmap["data"])
        png = zlib.decompressobj().decompress(stated, _MOST_BYTES)
    except (TypeError, ValueError, KeyError, zlib.error) as error:
        raise malformed(f"the bitmap {bitmap!r:.80} is not a PNG at an origin") from error
    shapes.mask(label, *drawn_mask(png, left, top, shapes.size))


LAYOUT = side_file_layout(
    name="supervisely",
    sign="ann/*.json and img/ of Supervisely",
    files=SuperviselyFiles(),
    begins=_SIGN,
    takes=("points",),
)
