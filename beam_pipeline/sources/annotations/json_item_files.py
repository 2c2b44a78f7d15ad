"""JSON files of all images: the layouts `bdd100k`, `createml`, `karpathy`, `via` and `vott`.

Sources of the formats: https://doc.bdd100k.com/format.html (Scalabel);
https://developer.apple.com/documentation/createml/mlobjectdetector;
https://cs.stanford.edu/people/karpathy/deepimagesent/ (dataset_coco.json, dataset_flickr8k.json,
dataset_flickr30k.json); output of VIA 1 and 2, https://www.robots.ox.ac.uk/~vgg/software/via;
https://github.com/microsoft/VoTT, src/models/applicationState.ts (IAsset, IRegion) and
src/providers/export/vottJson.ts.
"""

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from beam_pipeline.sources.annotations.coco.coco_files import SENTENCES
from beam_pipeline.sources.annotations.item_files import AnnotationFile, Item, ItemFiles, layout_of
from beam_pipeline.sources.annotations.shapes import (
    Attribute,
    Shapes,
    as_object,
    corners_of,
    members,
    numbers_at,
    sized,
    stated_size,
)
from beam_pipeline.sources.json_items import JsonSign, csv_rows, walk
from beam_pipeline.sources.paths import joined
from beam_pipeline.sources.rejects import malformed, not_kept


class Bdd100kFiles(ItemFiles):
    """A list of frames, each with its labels."""

    suffix = "json"
    sign = JsonSign("[{attributes{timeofday", "[{labels[{(box2d|poly2d)")
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


BDD100K = layout_of("bdd100k", "BDD100K's .json next to images/", Bdd100kFiles())


class CreateMlFiles(ItemFiles):
    """A list of images, each with its boxes."""

    suffix = "json"
    sign = JsonSign("[{annotations?[{coordinates{")

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


CREATEML = layout_of("createml", "a .json of Create ML next to the images", CreateMlFiles())


class KarpathyFiles(ItemFiles):
    """An object with a list of images and their sentences."""

    suffix = "json"
    sign = SENTENCES
    places = ("images", "Images", "Flicker8k_Dataset", "flickr30k-images", "data")
    list_name = "images"

    def item(self, stated: Any) -> Item:
        image = stated if isinstance(stated, dict) else {}
        home, name, split = image.get("filepath", ""), image.get("filename"), image.get("split")
        sentences = image.get("sentences")
        has_names = isinstance(name, str) and isinstance(home, str) and isinstance(split, str)
        if not (has_names and name and split and isinstance(sentences, list)):
            raise malformed(f"needs a filename, a split and sentences, has {stated!r:.80}")
        captions = [
            sentence.get("raw") if isinstance(sentence, dict) else None for sentence in sentences
        ]
        texts = tuple(
            caption for caption in captions if isinstance(caption, str) and caption.strip()
        )
        left = ["sentence without text"] * (len(captions) - len(texts))
        return Item(joined(home, name), {"captions": texts}, not_kept(left), split=split)


_SIGN = "Karpathy's .json of captions and splits next to the images"
KARPATHY = layout_of("karpathy", _SIGN, KarpathyFiles())


# Usual names of the class if regions have several attributes.
_CLASS_ATTRIBUTES = ("class", "label", "name", "type", "category")


class ViaFiles(ItemFiles):
    """A JSON object with a member per image, or a project that contains one."""

    suffix = "json"
    sign: ClassVar[re.Pattern[bytes] | JsonSign] = JsonSign(
        "{(_via_settings|_via_img_metadata)",
        "{*{regions[{shape_attributes",
        "{*{regions{*{shape_attributes",  # VIA 1
    )
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
            _add_region(shapes, *members(region, shape_attributes=dict, region_attributes=dict))
        return Item(name, *shapes.parsed())


class ViaCsv(ViaFiles):
    """CSV: a row per region, grouped by image."""

    suffix = "csv"
    sign = re.compile(rb"\A[^\n]*\bregion_shape_attributes\b")

    def stated(self, file: AnnotationFile) -> Iterator[tuple[str, Any]]:
        for name, rows in itertools.groupby(csv_rows(file.path), _file_of_row):
            regions = [
                {**row, "shape_attributes": row.get("region_shape_attributes")}
                for row in rows
                if row.get("region_shape_attributes") != {}
            ]
            yield f"image {str(name)[:80]}", {"filename": name, "regions": regions}


def _file_of_row(row: Mapping[str, Any]) -> Any:
    return row.get("filename", row.get("#filename"))  # VIA 1


def _add_region(shapes: Shapes, shape: Mapping[str, Any], said: Mapping[str, Any]) -> None:
    kind = str(shape.get("name"))
    if kind not in ("rect", "polygon", "point"):
        shapes.left.append(kind)
        return
    label = _class_of_region(said)
    shapes.left += [f"region {name}" for name in said if said[name] not in (label, "", None)]
    if kind == "point":
        shapes.loose_points(label, numbers_at(shape, "cx", "cy"))
    elif kind == "rect":
        shapes.box(label, sized(*numbers_at(shape, "x", "y", "width", "height")))
    else:
        xs, ys = members(shape, all_points_x=list, all_points_y=list)
        corners = itertools.zip_longest(xs, ys)
        shapes.polygon(label, [[each for corner in corners for each in corner]])


def _class_of_region(said: Mapping[str, Any]) -> str | None:
    """Value of the only attribute, or of the one named like a class; None for none."""
    if not said:
        return None
    names = [*said] if len(said) == 1 else [name for name in _CLASS_ATTRIBUTES if name in said]
    value = said[names[0]] if names else None
    if isinstance(value, dict) and len(value) == 1:  # checkboxes
        value = next(iter(value))
    if not isinstance(value, str) or not value.strip():
        raise malformed(
            f"region attributes {dict(said)!r:.80}: name the class of a region by an attribute of "
            f"its own, or by one called {' or '.join(_CLASS_ATTRIBUTES)}"
        )
    return value


VIA = layout_of("via", "VIA's .json or .csv next to the images", ViaFiles(), ViaCsv())


class VottFiles(ItemFiles):
    """A JSON object of assets, each with its regions."""

    suffix = "json"
    sign = JsonSign("{assets{*{asset{")

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


VOTT = layout_of("vott", "VoTT's -export.json next to the images", VottFiles())
