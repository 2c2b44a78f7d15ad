"""The layout `createml`: JSON files of boxes by their centres, as Apple's Create ML has them.

Source of the format: https://developer.apple.com/documentation/createml/mlobjectdetector.
"""

import re
from collections.abc import Iterator

from beam_pipeline.sources.image_folders import AnnotationFile
from beam_pipeline.sources.image_items import Fault, Item, ItemFiles, item_or_fault, layout_of
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.nesting import items
from beam_pipeline.sources.shapes import Shapes, number


class CreateMlFiles(ItemFiles):
    """A list of images, each with its boxes."""

    suffix = "json"
    sign = re.compile(rb'^\s*\[[^\[\]]*"annotations?"\s*:\s*\[[^\[\]]*"coordinates"\s*:\s*\{')

    def items(self, file: AnnotationFile) -> Iterator[Item | Fault]:
        for place, image in enumerate(items(file.path, ""), start=1):
            yield item_or_fault(_item, f"image {place}", image)


def _item(where: str, image: object) -> Item:
    stated = image if isinstance(image, dict) else {}
    name = stated.get("image", stated.get("imagefilename"))
    annotations = stated.get("annotations", stated.get("annotation"))
    if not isinstance(name, str) or not isinstance(annotations, list):
        raise malformed(f"needs an image and annotations, has {image!r:.80}")
    shapes = Shapes()
    for annotation in annotations:
        one = annotation if isinstance(annotation, dict) else {}
        box = one.get("coordinates")
        x, y, width, height = (
            number(box.get(side) if isinstance(box, dict) else None, side)
            for side in ("x", "y", "width", "height")
        )
        corners = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
        shapes.box(one.get("label", ""), corners)
    return Item(name, where, {"boxes": shapes.objects()})


LAYOUT = layout_of("createml", "a .json of Create ML next to the images", CreateMlFiles())
