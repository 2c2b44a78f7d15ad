"""The layout `createml`: JSON files of boxes by their centres, as in Apple's Create ML.

Source of the format: https://developer.apple.com/documentation/createml/mlobjectdetector.
"""

import re
from typing import Any

from beam_pipeline.sources.annotations.item_files import Item, ItemFiles, layout_of
from beam_pipeline.sources.annotations.shapes import as_object, members, numbers_at


class CreateMlFiles(ItemFiles):
    """A list of images, each with its boxes."""

    suffix = "json"
    sign = re.compile(rb'^\s*\[[^\[\]]*"annotations?"\s*:\s*\[[^\[\]]*"coordinates"\s*:\s*\{')

    def item(self, stated: Any) -> Item:
        image = as_object(stated)
        others = {"image": image.get("imagefilename"), "annotations": image.get("annotation")}
        name, annotations = members({**others, **image}, image=str, annotations=list)
        shapes = self.shapes()
        for annotation in map(as_object, annotations):
            box = as_object(annotation.get("coordinates"))
            x, y, width, height = numbers_at(box, "x", "y", "width", "height")
            corners = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
            shapes.box(annotation.get("label") or "", corners)
        return Item(name, *shapes.parsed())


LAYOUT = layout_of("createml", "a .json of Create ML next to the images", CreateMlFiles())
