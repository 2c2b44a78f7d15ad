"""The layout `bdd100k`: JSON lists of images with boxes and polygons, as in BDD100K.

Source of the format: https://doc.bdd100k.com/format.html (Scalabel).
"""

import re
from typing import Any

from beam_pipeline.sources.annotations.item_files import Item, ItemFiles, layout_of
from beam_pipeline.sources.annotations.shapes import Attribute, as_object, corners_of, members


class Bdd100kFiles(ItemFiles):
    """A list of frames, each with its labels."""

    suffix = "json"
    sign = re.compile(rb'^\s*\[[^\0]*"(box2d|poly2d|timeofday)"\s*:')
    places = ("images/100k", "images", "data")
    noun = "frame"

    def item(self, stated: Any) -> Item:
        frame = as_object(stated)
        frame |= {"labels": frame.get("labels") or []}
        name, labels = members(frame, name=str, labels=list)
        shapes = self.shapes()
        shapes.left += ["image attributes"] * isinstance(frame.get("attributes"), dict)
        for label in map(as_object, labels):
            category, box, outlines = (label.get(each) for each in ("category", "box2d", "poly2d"))
            more: dict[str, Attribute] = {
                name: int(value) if isinstance(value, bool) else str(value)
                for name, value in as_object(label.get("attributes")).items()
            }
            if isinstance(box, dict):
                shapes.box(
                    category or "", [box.get(side) for side in ("x1", "y1", "x2", "y2")], more
                )
            elif isinstance(outlines, list) and outlines and all(map(_is_polygon, outlines)):
                rings = [corners_of(outline.get("vertices")) for outline in outlines]
                shapes.polygon(category or "", rings, more)
            else:
                shapes.left.append("lane or curve" if outlines else "label without box")
        return Item(name, *shapes.parsed())


def _is_polygon(outline: Any) -> bool:
    """Whether an outline is closed and has no curves (control points); lanes are open lines."""
    stated = as_object(outline)
    return bool(stated.get("closed")) and "C" not in str(stated.get("types"))


LAYOUT = layout_of("bdd100k", "BDD100K's .json next to images/", Bdd100kFiles())
