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
    around,
    as_object,
    corners_of,
    drawn_mask,
    members,
    parse_json,
    stated_size,
)
from beam_pipeline.sources.annotations.side_files import SideFiles, side_file_layout
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.paths import has_image_suffix, place_of, stem

_MOST_BYTES = 1 << 26  # of a mask's PNG
_SIGN = re.compile(rb'"(geometryType|classTitle)"\s*:|"size"\s*:\s*\{\s*"(height|width)"')


@dataclasses.dataclass(frozen=True)
class SuperviselyFiles(SideFiles):
    """JSON files: ann/a.jpg.json annotates img/a.jpg."""

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
        value = parse_json(data)
        size, objects = members(value, size=dict, objects=list)
        shapes = Shapes(stated_size(size.get("width"), size.get("height")), points=self.points)
        shapes.left += ["image tags"] * bool(value.get("tags"))
        for one in map(as_object, objects):
            _add(shapes, str(one.get("geometryType")), one.get("classTitle") or "", one)
            shapes.left += ["tags"] * bool(one.get("tags"))
        return shapes.parsed()


def _add(shapes: Shapes, kind: str, label: str, one: dict[str, Any]) -> None:
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
            seen = zip(corners[::2], corners[1::2], strict=True)
            shapes.loose_points(label, [(x, y, 2.0) for x, y in seen], None)
        elif kind == "polygon":
            shapes.left += ["hole of a polygon"] * len(holes)
            shapes.polygon(label, [corners])
        else:
            shapes.box(label, around([corners]))
    else:
        shapes.left.append(kind)


LAYOUT = side_file_layout(
    "supervisely", "ann/*.json and img/ of Supervisely", SuperviselyFiles(), _SIGN, ["points"]
)
