"""JSON files of all images: the layouts `bdd100k`, `createml`, `karpathy`, `via` and `vott`.

Sources of the formats: https://doc.bdd100k.com/format.html (Scalabel);
https://developer.apple.com/documentation/createml/mlobjectdetector;
https://cs.stanford.edu/people/karpathy/deepimagesent/ (dataset_coco.json, dataset_flickr8k.json,
dataset_flickr30k.json); output of VIA 1 and 2, https://www.robots.ox.ac.uk/~vgg/software/via;
https://github.com/microsoft/VoTT, src/models/applicationState.ts (IAsset, IRegion) and
src/providers/export/vottJson.ts.
"""

import functools
import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from beam_pipeline.sources.annotations.item_files import Item, ItemFormat, layout_of, listed
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


def _frame(stated: Any, shapes: Shapes) -> Item:
    frame = as_object(stated)
    frame |= {"labels": frame.get("labels") or []}
    name, labels = members(frame, name=str, labels=list)
    shapes.left += ["image attributes"] * isinstance(frame.get("attributes"), dict)
    for label in map(as_object, labels):
        category, box, outlines = (label.get(each) for each in ("category", "box2d", "poly2d"))
        more: dict[str, Attribute] = {
            name: int(value) if isinstance(value, bool) else str(value)
            for name, value in as_object(label.get("attributes")).items()
        }
        if isinstance(box, dict):
            shapes.box(category or "", [box.get(side) for side in ("x1", "y1", "x2", "y2")], more)
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


# A list of frames, each with its labels.
_BDD100K = ItemFormat(
    suffix="json",
    sign=JsonSign("[{attributes{timeofday", "[{labels[{(box2d|poly2d)"),
    item=_frame,
    stated=functools.partial(listed, noun="frame"),
)
BDD100K = layout_of("bdd100k", "BDD100K's .json next to images/", _BDD100K)


def createml_item(stated: Any, shapes: Shapes) -> Item:
    image = as_object(stated)
    others = {"image": image.get("imagefilename"), "annotations": image.get("annotation")}
    name, annotations = members({**others, **image}, image=str, annotations=list)
    for annotation in map(as_object, annotations):
        box = as_object(annotation.get("coordinates"))
        x, y, width, height = numbers_at(box, "x", "y", "width", "height")
        corners = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
        shapes.box(annotation.get("label") or "", corners)
    return Item(name, *shapes.parsed())


_SIGN = JsonSign("[{annotations?[{coordinates{")
_CREATEML = ItemFormat(suffix="json", sign=_SIGN, item=createml_item)
CREATEML = layout_of("createml", "a .json of Create ML next to the images", _CREATEML)


def _sentences(stated: Any, shapes: Shapes) -> Item:
    image = stated if isinstance(stated, dict) else {}
    home, name, split = image.get("filepath", ""), image.get("filename"), image.get("split")
    sentences = image.get("sentences")
    has_names = isinstance(name, str) and isinstance(home, str) and isinstance(split, str)
    if not (has_names and name and split and isinstance(sentences, list)):
        raise malformed(f"needs a filename, a split and sentences, has {stated!r:.80}")
    captions = [
        sentence.get("raw") if isinstance(sentence, dict) else None for sentence in sentences
    ]
    texts = tuple(caption for caption in captions if isinstance(caption, str) and caption.strip())
    left = ["sentence without text"] * (len(captions) - len(texts))
    return Item(joined(home, name), {"captions": texts}, not_kept(left), split=split)


_KARPATHY = ItemFormat(
    suffix="json",
    sign=JsonSign("{images[{sentids[", "{images[{sentences[{(tokens|raw)"),
    item=_sentences,
    stated=functools.partial(listed, member="images"),
)
_OF_SENTENCES = "Karpathy's .json of captions and splits next to the images"
KARPATHY = layout_of("karpathy", _OF_SENTENCES, _KARPATHY)


# Usual names of the class if regions have several attributes.
_CLASS_ATTRIBUTES = ("class", "label", "name", "type", "category")


def _images_of_via(path: str) -> Iterator[tuple[str, Any]]:
    """Yield the members of an object with a member per image, or of a project with one."""
    for member, name, image in walk(path, into=("_via_img_metadata",)):
        if name and (member or not name.startswith("_via")):
            yield f"image {name[:80]}", image


def _rows_of_via(path: str) -> Iterator[tuple[str, Any]]:
    """Yield the images of a CSV with a row per region, grouped by image."""
    for name, rows in itertools.groupby(csv_rows(path), _file_of_row):
        regions = [
            {**row, "shape_attributes": row.get("region_shape_attributes")}
            for row in rows
            if row.get("region_shape_attributes") != {}
        ]
        yield f"image {str(name)[:80]}", {"filename": name, "regions": regions}


def _via_item(stated: Any, shapes: Shapes) -> Item:
    regions = as_object(stated).get("regions")
    if isinstance(regions, dict):  # VIA 1
        stated = {**stated, "regions": [*regions.values()]}
    name, regions = members(stated, filename=str, regions=list)
    for region in regions:
        _add_region(shapes, *members(region, shape_attributes=dict, region_attributes=dict))
    return Item(name, *shapes.parsed())


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


_VIA = ItemFormat(
    suffix="json",
    sign=JsonSign(
        "{(_via_settings|_via_img_metadata)",
        "{*{regions[{shape_attributes",
        "{*{regions{*{shape_attributes",  # VIA 1
    ),
    item=_via_item,
    stated=_images_of_via,
)
_VIA_CSV = ItemFormat(
    suffix="csv",
    sign=re.compile(rb"\A[^\n]*\bregion_shape_attributes\b"),
    item=_via_item,
    stated=_rows_of_via,
)
_OF_VIA = "VIA's .json or .csv next to the images"
VIA = layout_of("via", _OF_VIA, _VIA, _VIA_CSV, takes_points=True)


def _assets(path: str) -> Iterator[tuple[str, Any]]:
    """Yield the members of an object of assets."""
    assets = (each for member, _, each in walk(path, into=("assets",)) if member == "assets")
    return ((f"asset {place}", asset) for place, asset in enumerate(assets, start=1))


def vott_item(stated: Any, shapes: Shapes) -> Item:
    asset, regions = members(stated, asset=dict, regions=list)
    (name,) = members(asset, name=str)
    size = as_object(asset.get("size"))
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


_VOTT = ItemFormat(suffix="json", sign=JsonSign("{assets{*{asset{"), item=vott_item, stated=_assets)
VOTT = layout_of("vott", "VoTT's -export.json next to the images", _VOTT)
