"""The layout `bdd100k`: JSON lists of images with boxes and polygons, as BDD100K has them.

Source of the format: https://doc.bdd100k.com/format.html (Scalabel).
"""

import re
from typing import Any

from beam_pipeline.sources.annotations.item_files import Item, ItemFiles, layout_of
from beam_pipeline.sources.annotations.shapes import Attribute
from beam_pipeline.sources.malformed import malformed

_SIDES = ("x1", "y1", "x2", "y2")


class Bdd100kFiles(ItemFiles):
    """A list of frames, each with its labels."""

    suffix = "json"
    sign = re.compile(rb'^\s*\[[^\0]*"(box2d|poly2d|timeofday)"\s*:')
    places = ("images/100k", "images", "data")
    noun = "frame"

    def item(self, stated: Any) -> Item:
        frame = stated if isinstance(stated, dict) else {}
        labels = frame.get("labels") or []
        if not isinstance(frame.get("name"), str) or not isinstance(labels, list):
            raise malformed(f"needs a name and labels, has {stated!r:.80}")
        shapes = self.shapes()
        shapes.left += ["image attributes"] * isinstance(frame.get("attributes"), dict)
        for label in labels:
            one = label if isinstance(label, dict) else {}
            category, box, outlines = one.get("category", ""), one.get("box2d"), one.get("poly2d")
            said = one.get("attributes")
            more: dict[str, Attribute] = {
                name: int(value) if isinstance(value, bool) else str(value)
                for name, value in (said if isinstance(said, dict) else {}).items()
            }
            if isinstance(box, dict):
                shapes.box(category, [box.get(side) for side in _SIDES], more)
            elif isinstance(outlines, list) and all(map(_is_polygon, outlines)) and outlines:
                rings = [
                    [each for x, y in ring["vertices"] for each in (x, y)] for ring in outlines
                ]
                shapes.polygon(category, rings, more)
            else:
                shapes.left.append("lane or curve" if outlines else "label without box")
        return Item(frame["name"], *shapes.parsed())


def _is_polygon(outline: Any) -> bool:
    """Whether it is closed and straight: lanes are lines, and some corners guide a curve."""
    vertices = outline.get("vertices") if isinstance(outline, dict) else None
    return (
        isinstance(vertices, list)
        and all(isinstance(vertex, list) and len(vertex) == 2 for vertex in vertices)
        and bool(outline.get("closed"))
        and "C" not in str(outline.get("types"))
    )


LAYOUT = layout_of("bdd100k", "BDD100K's .json next to images/", Bdd100kFiles())
