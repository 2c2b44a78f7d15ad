"""The layout `vott`: the JSON that Microsoft's VoTT 2 exports, with all images in one file.

Source of the format: https://github.com/microsoft/VoTT, src/models/applicationState.ts (IAsset,
IRegion) and src/providers/export/vottJson.ts.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from beam_pipeline.sources.annotations.image_files import AnnotationFile
from beam_pipeline.sources.annotations.item_files import Item, ItemFiles, layout_of
from beam_pipeline.sources.annotations.shapes import number, stated_size
from beam_pipeline.sources.json_items import walk
from beam_pipeline.sources.malformed import malformed

_KINDS = ("RECTANGLE", "SQUARE", "POLYGON")
_SIDES = ("left", "top", "width", "height")


class VottFiles(ItemFiles):
    """An object of assets, each with its regions."""

    suffix = "json"
    sign = re.compile(rb'"assets"\s*:\s*\{\s*"[^"]*"\s*:\s*\{\s*"asset"\s*:\s*\{')

    def stated(self, file: AnnotationFile) -> Iterator[tuple[str, Any]]:
        assets = (
            each for member, _, each in walk(file.path, into=("assets",)) if member == "assets"
        )
        for place, asset in enumerate(assets, start=1):
            yield f"asset {place}", asset

    def item(self, stated: Any) -> Item:
        asset = _object(stated)
        image, regions = _object(asset.get("asset")), asset.get("regions")
        name, size = image.get("name"), _object(image.get("size"))
        if not isinstance(name, str) or not name or not isinstance(regions, list):
            raise malformed(f"needs an asset's name and regions, has {stated!r:.80}")
        shapes = self.shapes()
        shapes.size = stated_size(size.get("width"), size.get("height"))
        for region in map(_object, regions):
            kind, tags = str(region.get("type")).upper(), region.get("tags")
            if not isinstance(tags, list) or not tags:
                shapes.left.append("region without tag")
                continue
            if kind not in _KINDS:
                shapes.left.append(kind.lower())
                continue
            shapes.left += ["second tag"] * (len(tags) - 1)
            if kind == "POLYGON" and isinstance(region.get("points"), list):
                corners = map(_object, region["points"])
                shapes.polygon(tags[0], [[corner.get(axis) for corner in corners for axis in "xy"]])
            else:
                box = _object(region.get("boundingBox"))
                x, y, width, height = (number(box.get(side), side) for side in _SIDES)
                shapes.box(tags[0], (x, y, x + width, y + height))
        return Item(name, *shapes.parsed())


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


LAYOUT = layout_of("vott", "VoTT's -export.json next to the images", VottFiles())
