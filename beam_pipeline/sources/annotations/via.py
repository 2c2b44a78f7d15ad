"""The layout `via`: JSON of the VGG Image Annotator, exported or saved as a project, and its CSV.

Source of the format: output of VIA 1 and 2, https://www.robots.ox.ac.uk/~vgg/software/via.
"""

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from beam_pipeline.sources.annotations.image_files import AnnotationFile
from beam_pipeline.sources.annotations.item_files import Item, ItemFiles, layout_of
from beam_pipeline.sources.annotations.shapes import (
    Shapes,
    as_object,
    members,
    numbers_at,
    sized,
)
from beam_pipeline.sources.json_items import csv_rows, walk
from beam_pipeline.sources.malformed import malformed

# Usual names of the class if regions have several attributes.
_CLASSES = ("class", "label", "name", "type", "category")


class ViaFiles(ItemFiles):
    """A JSON object with a member per image, or a project that contains one."""

    suffix = "json"
    sign = re.compile(rb'"(shape_attributes|_via_settings|_via_img_metadata)"\s*:')
    gives_points = True

    def stated(self, file: AnnotationFile) -> Iterator[tuple[str, Any]]:
        for member, name, image in walk(file.path, into=("_via_img_metadata",)):
            if name and (member or not name.startswith("_via")):
                yield f"image {name[:80]}", image

    def item(self, stated: Any) -> Item:
        regions = as_object(stated).get("regions")
        if isinstance(regions, dict):  # VIA 1
            stated = {**stated, "regions": [*regions.values()]}
        name, regions = members(stated, filename=str, regions=list)
        shapes = self.shapes()
        for region in regions:
            _add(shapes, *members(region, shape_attributes=dict, region_attributes=dict))
        return Item(name, *shapes.parsed())


class ViaCsv(ViaFiles):
    """CSV: a row per region, grouped by image."""

    suffix = "csv"
    sign = re.compile(rb"\A[^\n]*\bregion_shape_attributes\b")

    def stated(self, file: AnnotationFile) -> Iterator[tuple[str, Any]]:
        for name, rows in itertools.groupby(csv_rows(file.path), _file_name):
            regions = [
                {**row, "shape_attributes": row.get("region_shape_attributes")}
                for row in rows
                if row.get("region_shape_attributes") != {}
            ]
            yield f"image {str(name)[:80]}", {"filename": name, "regions": regions}


def _file_name(row: Mapping[str, Any]) -> Any:
    return row.get("filename", row.get("#filename"))  # VIA 1


def _add(shapes: Shapes, shape: Mapping[str, Any], said: Mapping[str, Any]) -> None:
    kind = str(shape.get("name"))
    if kind not in ("rect", "polygon", "point"):
        shapes.left.append(kind)
        return
    label = _label(said)
    shapes.left += [f"region {name}" for name in said if said[name] not in (label, "", None)]
    if kind == "point":
        x, y = numbers_at(shape, "cx", "cy")
        shapes.loose_points(label, [(x, y, 2.0)], None)
    elif kind == "rect":
        shapes.box(label, sized(*numbers_at(shape, "x", "y", "width", "height")))
    else:
        xs, ys = members(shape, all_points_x=list, all_points_y=list)
        corners = itertools.zip_longest(xs, ys)
        shapes.polygon(label, [[each for corner in corners for each in corner]])


def _label(said: Mapping[str, Any]) -> str | None:
    """Value of the only attribute, or of the one named like a class; None for none."""
    if not said:
        return None
    names = [*said] if len(said) == 1 else [name for name in _CLASSES if name in said]
    value = said[names[0]] if names else None
    if isinstance(value, dict) and len(value) == 1:  # checkboxes
        value = next(iter(value))
    if not isinstance(value, str) or not value.strip():
        raise malformed(
            f"region attributes {dict(said)!r:.80}: name the class of a region by an attribute of "
            f"its own, or by one called {' or '.join(_CLASSES)}"
        )
    return value


LAYOUT = layout_of("via", "VIA's .json or .csv next to the images", ViaFiles(), ViaCsv())
