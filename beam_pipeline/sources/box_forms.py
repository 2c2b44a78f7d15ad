"""Rows of images with boxes, of what programs and public datasets write that no layout reads.

Where there is a file an image, one of them stands for all beside it.
"""

import csv
import json
import re
from collections.abc import Iterator
from operator import itemgetter, mul
from typing import Any

from defusedxml.ElementTree import fromstring

from beam_pipeline.sources.paths import media_kind, stem, suffix
from beam_pipeline.sources.references import parent
from beam_pipeline.sources.table_rows import (
    Files,
    Row,
    of_corners,
    of_fractions,
    read_json,
    read_lines,
    read_text,
    with_boxes,
)

_BOX = re.compile(r"\((\d+), *(\d+)\), *\((\d+), *(\d+)\), *(\d+)")
_SIDES = ("xmin", "ymin", "xmax", "ymax")


def _beside(files: Files, path: str) -> Iterator[tuple[str, Any]]:
    """(path, content) of the JSON files in the folder of one."""
    folder = parent(path)
    for each in files.paths:
        if suffix(each) == "json" and parent(files.path(each)) == folder:
            yield each, read_json(files.path(each))


def datumaro(files: Files, path: str) -> Iterator[Row]:
    for each, content in _beside(files, path):
        names = [label["name"] for label in content["categories"]["label"]["labels"]]
        for item in content["items"]:
            found = [at for at in item["annotations"] if at["type"] == "bbox"]
            boxes = [(at["bbox"], names[at["label_id"]]) for at in found]
            yield with_boxes(files.find(item["id"]), boxes, stem(each))


def darwin(files: Files, path: str) -> Iterator[Row]:
    for _, content in _beside(files, path):
        found = [each for each in content["annotations"] if each.get("bounding_box")]
        boxes = [(itemgetter(*"xywh")(each["bounding_box"]), each["name"]) for each in found]
        yield with_boxes(files.find(content["item"]["name"]), boxes)


def hasty(files: Files, path: str) -> Iterator[Row]:
    for image in read_json(path)["images"]:
        found = [each for each in image["labels"] if each.get("bbox")]
        boxes = [(of_corners(*each["bbox"]), each["class_name"]) for each in found]
        yield with_boxes(files.find(image["image_name"]), boxes)


def encord(files: Files, path: str) -> Iterator[Row]:
    for unit in (unit for each in read_json(path) for unit in each["data_units"].values()):
        boxes = []
        for each in unit["labels"].get("objects", []):
            if box := each.get("boundingBox"):
                size = itemgetter("width", "height", "width", "height")(unit)
                box = [*map(mul, itemgetter(*"xywh")(box), size)]
                boxes.append((box, each["name"]))
        yield with_boxes(files.find(unit["data_title"]), boxes)


def kili(files: Files, path: str) -> Iterator[Row]:
    for asset in read_json(path):
        image, boxes = files.find(asset["externalId"]), []
        jobs = asset["labels"][-1]["jsonResponse"].values() if asset["labels"] else ()
        for each in (each for job in jobs for each in job.get("annotations", [])):
            if each.get("boundingPoly"):
                corners = each["boundingPoly"][0]["normalizedVertices"]
                xs, ys = ([corner[side] for corner in corners] for side in "xy")
                box = of_fractions(files.size(image), min(xs), min(ys), max(xs), max(ys))
                boxes.append((box, each["categories"][0]["name"]))
        yield with_boxes(image, boxes)


def scale(files: Files, path: str) -> Iterator[Row]:
    box = itemgetter("left", "top", "width", "height")
    for task in read_json(path):
        found = [each for each in task["response"]["annotations"] if "left" in each]
        boxes = [(box(each), each["label"]) for each in found]
        yield with_boxes(files.find(task["params"]["attachment"]), boxes)


def superannotate(files: Files, path: str) -> Iterator[Row]:
    for _, content in _beside(files, path):
        if "instances" not in content:  # the classes lie among them
            continue
        found = [each for each in content["instances"] if each["type"] == "bbox"]
        corners = itemgetter("x1", "y1", "x2", "y2")
        boxes = [(of_corners(*corners(each["points"])), each["className"]) for each in found]
        yield with_boxes(files.find(content["metadata"]["name"]), boxes)


def rectlabel(files: Files, path: str) -> Iterator[Row]:
    for _, content in _beside(files, path):
        boxes = [(each["x_y_w_h"], each["label"]) for each in content["objects"]]
        yield with_boxes(files.find(content["filename"]), boxes)


def edge_impulse(files: Files, path: str) -> Iterator[Row]:
    sides = itemgetter("x", "y", "width", "height")
    for each in read_json(path)["files"]:
        boxes = [(sides(box), box["label"]) for box in each.get("boundingBoxes", [])]
        yield with_boxes(files.find(each["path"]), boxes)


def azure_ml(files: Files, path: str) -> Iterator[Row]:
    corners = itemgetter("topX", "topY", "bottomX", "bottomY")
    for each in read_lines(path):
        image, label = files.find(each["image_url"]), each["label"]
        if isinstance(label, str):
            yield {"image": image, "label": label}
            continue
        size = files.size(image)
        boxes = [(of_fractions(size, *corners(box)), box["label"]) for box in label]
        yield with_boxes(image, boxes)


def automl(files: Files, path: str) -> Iterator[Row]:
    rows: dict[str, list[list[str]]] = {}
    for row in csv.reader(read_text(path).splitlines()):
        rows.setdefault(row[1], []).append(row)
    has_boxes = any(len(row) > 3 for found in rows.values() for row in found)
    for name, found in rows.items():
        image, split = files.find(name), found[0][0].lower()
        if has_boxes:
            size = files.size(image)
            corners = itemgetter(3, 4, 7, 8)
            boxes = [(of_fractions(size, *corners(row)), row[2]) for row in found if row[3]]
            yield with_boxes(image, boxes, split)
        else:
            yield {"image": image, "split": split, "label": found[0][2]}


def coco_text(files: Files, path: str) -> Iterator[Row]:
    content = read_json(path)
    for key, image in content["imgs"].items():
        found = [content["anns"][str(each)] for each in content["imgToAnns"].get(key, ())]
        boxes = [(each["bbox"], "text", each.get("utf8_string", "")) for each in found]
        yield with_boxes(files.find(image["file_name"]), boxes, image["set"], texts=True)


def xview(files: Files, path: str) -> Iterator[Row]:
    rows: dict[str, list[tuple[Any, ...]]] = {}
    for each in (each["properties"] for each in read_json(path)["features"]):
        box = of_corners(*map(int, each["bounds_imcoords"].split(",")))
        rows.setdefault(each["image_id"], []).append((box, str(each["type_id"])))
    return (with_boxes(files.find(name), boxes) for name, boxes in rows.items())


def deepfashion2(files: Files, path: str) -> Iterator[Row]:
    for image, content in files.with_twins("annos", "image"):
        found = [each for each in content.values() if isinstance(each, dict)]
        boxes = [(of_corners(*each["bounding_box"]), each["category_name"]) for each in found]
        yield with_boxes(image, boxes)


def funsd(files: Files, path: str) -> Iterator[Row]:
    for image, content in files.with_twins("annotations", "images"):
        boxes = [
            (of_corners(*each["box"]), each["label"], each["text"]) for each in content["form"]
        ]
        yield with_boxes(image, boxes, texts=True)


def tt100k(files: Files, path: str) -> Iterator[Row]:
    for image in read_json(path)["imgs"].values():
        boxes = [
            (of_corners(*(each["bbox"][side] for side in _SIDES)), each["category"])
            for each in image["objects"]
        ]
        yield with_boxes(files.find(image["path"]), boxes, image["path"].partition("/")[0])


def hrsc(files: Files, path: str) -> Iterator[Row]:
    for each in files.paths:
        if suffix(each) == "xml" and parent(files.path(each)) == parent(path):
            image = fromstring(read_text(files.path(each)))
            boxes = [
                (of_corners(*(float(said[f"box_{side}"]) for side in _SIDES)), said["Class_ID"])
                for found in image.iter("HRSC_Object")
                for said in [{part.tag: part.text or "" for part in found}]
            ]
            yield with_boxes(files.find(image.findtext("Img_FileName", "")), boxes)


def nwpu(files: Files, path: str) -> Iterator[Row]:
    there = {each for each in files.paths if parent(files.path(each)) == parent(path)}
    of_image = {stem(each): read_text(files.path(each)) for each in there}
    for image in files.paths:
        if media_kind(image) == "image":
            found = _BOX.findall(of_image.get(stem(image), ""))
            # The images without objects are numbered again, in a folder of their own.
            boxes = [(of_corners(*map(int, corners)), label) for *corners, label in found]
            is_without = "negative" in image
            yield with_boxes(image, () if is_without else boxes)


def landmarks(files: Files, path: str) -> Iterator[Row]:
    images = {each.rpartition(".")[0]: each for each in files.paths if media_kind(each) == "image"}
    for each in files.paths:
        if suffix(each) == "pts" and (image := images.get(each.rpartition(".")[0])):
            points = read_text(files.path(each)).partition("{")[2].partition("}")[0]
            yield {"image": image, "landmarks": [*map(float, points.split())]}


def fiftyone(files: Files, path: str) -> Iterator[Row]:
    content = read_json(path)
    names = content.get("classes") or []
    said = {name: _first_label(fields) for name, fields in content.get("labels", {}).items()}
    for sample in content.get("samples", ()):  # by field
        labels = (each for each in sample.values() if isinstance(each, dict) and "_cls" in each)
        said[sample["filepath"]] = next(filter(None, map(_first_label, labels)), [])
    for name, found in said.items():
        image = files.find(name)
        if isinstance(found, list):
            boxes = [
                (of_fractions(files.size(image), x, y, x + w, y + h), _named(each["label"], names))
                for each in found
                for x, y, w, h in [each["bounding_box"]]
            ]
            yield with_boxes(image, boxes)
        else:
            yield {"image": image, "label": _named(found, names)}


def _first_label(found: Any) -> Any:
    """A class, or a list of boxes."""
    return found.get("detections", found.get("label")) if isinstance(found, dict) else found


def _named(label: Any, names: list[str]) -> str:
    return names[label] if isinstance(label, int) else label


def labelbox(files: Files, path: str) -> Iterator[Row]:
    text = read_text(path).strip()
    items = json.loads(text) if text[0] == "[" else map(json.loads, text.splitlines())
    rows = [*map(_of_labelbox, items)]
    has_boxes = any(boxes for _, boxes, _ in rows)
    for name, boxes, label in rows:
        image = files.find(name)
        yield with_boxes(image, boxes) if has_boxes else {"image": image, "label": label}


def _of_labelbox(item: dict[str, Any]) -> tuple[str, list[tuple[Any, ...]], str]:
    """The name, boxes and class of an image, in the exports of now and of 2023."""
    if (row := item.get("data_row")) is None:
        name, label, box, of_object, answer = (
            item["External ID"],
            item["Label"],
            "bbox",
            "title",
            "answer",
        )
    else:
        name, box, of_object, answer = row["external_id"], "bounding_box", "name", "radio_answer"
        labels = (each for project in item["projects"].values() for each in project["labels"])
        label = next((each["annotations"] for each in labels), {})
    sides = ("left", "top", "width", "height")
    boxes = [
        ([each[box][side] for side in sides], each[of_object])
        for each in label.get("objects", ())
        if each.get(box)
    ]
    said: Any = next(
        (each[answer] for each in label.get("classifications", ()) if each.get(answer)), {}
    )
    return name, boxes, said.get(of_object, "") if isinstance(said, dict) else said
