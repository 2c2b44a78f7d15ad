"""Shapes beyond the cases: labels, sizes and texts that no tool writes."""

import json

import pytest

from beam_pipeline.errors import RecordError
from beam_pipeline.sources.annotations.json_item_files import createml_item, vott_item
from beam_pipeline.sources.annotations.json_side_files import parse_labelme, parse_supervisely
from beam_pipeline.sources.annotations.label_studio import parse_task
from beam_pipeline.sources.annotations.shapes import Shapes

HUGE = 10**400
SIDES = dict.fromkeys(("left", "top", "x", "y", "width", "height"), 1)
CORNERS = [[1, 2], [3, 4]]


def createml(label, size):
    annotations = [{"label": label, "coordinates": SIDES}]
    return createml_item({"image": "a.jpg", "annotations": annotations}, Shapes())


def label_studio(label, size):
    value = {**SIDES, "rectanglelabels": [label]}
    result = {"value": value, "original_width": size, "original_height": size}
    task = {"data": {"image": "a.jpg"}, "annotations": [{"result": [result]}]}
    return parse_task(task, Shapes())


def vott(label, size):
    region = {"type": "RECTANGLE", "tags": [label], "boundingBox": SIDES}
    return vott_item({"asset": {"name": "a.jpg"}, "regions": [region]}, Shapes())


def labelme(label, size):
    shapes = [
        {"label": label, "points": CORNERS, "shape_type": "rectangle"},
        {"label": "tip", "points": CORNERS[:1], "shape_type": "point"},
    ]
    value = {"shapes": shapes, "imageWidth": size, "imageHeight": size}
    return parse_labelme(json.dumps(value).encode(), "a.json")


def supervisely(label, size):
    box = {"classTitle": label, "geometryType": "rectangle", "points": {"exterior": CORNERS}}
    value = {"size": {"width": size, "height": size}, "objects": [box]}
    return parse_supervisely(json.dumps(value).encode(), "ann/a.jpg.json")


@pytest.mark.parametrize("read", [createml, label_studio, vott, labelme, supervisely])
def test_a_label_of_null_is_malformed(read):
    read("cat", 10)
    with pytest.raises(RecordError, match="the label '' is not text"):
        read(None, 10)


@pytest.mark.parametrize("read", [label_studio, labelme])
def test_a_size_that_is_no_float_is_malformed(read):
    with pytest.raises(RecordError, match="not a number"):
        read("cat", HUGE)


def test_a_text_that_is_no_address_is_not_the_image_of_a_task():
    data = {"text": "see http://[1]/ and http://[x", "url": "http://[x", "image": "a.jpg"}
    assert parse_task({"data": data, "annotations": []}, Shapes()).name == "a.jpg"


@pytest.mark.parametrize("choice", [None, " "])
def test_a_choice_without_a_name_is_no_class(choice):
    result = {"type": "choices", "value": {"choices": ["a", choice]}}
    with pytest.raises(RecordError, match="a class of the image has no name"):
        parse_task({"data": {"image": "a.jpg"}, "annotations": [{"result": [result]}]}, Shapes())
