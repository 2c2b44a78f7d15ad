"""The layout `vott`: the JSON that Microsoft's VoTT 2 exports, with all images in one file.

Source of the format: https://github.com/microsoft/VoTT, src/models/applicationState.ts (IAsset,
IRegion) and src/providers/export/vottJson.ts.
"""

import re
from collections.abc import Iterator
from typing import Any

from beam_pipeline.sources.annotations.image_files import AnnotationFile
from beam_pipeline.sources.annotations.item_files import Item, ItemFiles, layout_of
from beam_pipeline.sources.annotations.shapes import (
    as_object,
    members,
    numbers_at,
    sized,
    stated_size,
)
from beam_pipeline.sources.json_items import walk


class VottFiles(ItemFiles):
    """A JSON object of assets, each with its regions."""

    suffix = "json"
    sign = re.compile(rb'"assets"\s*:\s*\{\s*"[^"]*"\s*:\s*\{\s*"asset"\s*:\s*\{')

    def stated(self, file: AnnotationFile) -> Iterator[tuple[str, Any]]:
        assets = (
            each for member, _, each in walk(file.path, into=("assets",)) if member == "assets"
        )
        for place, asset in enumerate(assets, start=1):
            yield f"asset {place}", asset

    def item(self, stated: Any) -> Item:
        asset, regions = members(stated, asset=dict, regions=list)
        (name,) = members(asset, name=str)
        size = as_object(asset.get("size"))
        shapes = self.shapes()
        shapes.size = stated_size(size.get("width"), size.get("height"))
        for region in map(as_object, regions):
            kind, tags = str(region.get("type")).lower(), region.get("tags")
            if not isinstance(tags, list) or not tags:
                shapes.left.append("region without tag")
                continue
            if kind not in ("rectangle", "square", "polygon"):
                shapes.left.append(kind)
                continue
            shapes.left += ["second tag"] * (len(tags) - 1)
            label = tags[0] or ""
            if kind == "polygon" and isinstance(region.get("points"), list):
                corners = map(as_object, region["points"])
                shapes.polygon(label, [[corner.get(axis) for corner in corners for axis in "xy"]])
            else:
                box = as_object(region.get("boundingBox"))
                sides = numbers_at(box, "left", "top", "width", "height")
                shapes.box(label, sized(*sides))
        return Item(name, *shapes.parsed())


LAYOUT = layout_of("vott", "VoTT's -export.json next to the images", VottFiles())
