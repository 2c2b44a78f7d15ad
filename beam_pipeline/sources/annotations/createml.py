"""The layout `createml`: JSON files of boxes by their centres, as Apple's Create ML has them.

Source of the format: https://developer.apple.com/documentation/createml/mlobjectdetector.
"""

import re
from typing import Any

from beam_pipeline.sources.annotations.item_files import Item, ItemFiles, layout_of
from beam_pipeline.sources.annotations.shapes import number
from beam_pipeline.sources.malformed import malformed


class CreateMlFiles(ItemFiles):
    """A list of images, each with its boxes."""

    suffix = "json"
    sign = re.compile(rb'^\s*\[[^\[\]]*"annotations?"\s*:\s*\[[^\[\]]*"coordinates"\s*:\s*\{')

    def item(self, stated: Any) -> Item:
        image = stated if isinstance(stated, dict) else {}
        name = image.get("image", image.get("imagefilename"))
        annotations = image.get("annotations", image.get("annotation"))
        if not isinstance(name, str) or not isinstance(annotations, list):
            raise malformed(f"needs an image and annotations, has {stated!r:.80}")
        shapes = self.shapes()
        for annotation in annotations:
            one = annotation if isinstance(annotation, dict) else {}
            box = one.get("coordinates")
            x, y, width, height = (
                number(box.get(side) if isinstance(box, dict) else None, side)
                for side in ("x", "y", "width", "height")
            )
            corners = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
            shapes.box(one.get("label", ""), corners)
        return Item(name, *shapes.parsed())


LAYOUT = layout_of("createml", "a .json of Create ML next to the images", CreateMlFiles())
