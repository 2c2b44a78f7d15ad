"""Unicode's forms NFC and NFD of a name are one name."""

import dataclasses
import json

import pytest

from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.inspect.record import inspect_record, with_composed_classes
from beam_pipeline.inspect.rules import Rules
from beam_pipeline.records import Boxes, ClassLabel, ClassLabels, DeclaredClasses, Record
from beam_pipeline.sources.coco.read import ReadCoco
from beam_pipeline.sources.manifest.read import ReadCsv
from beam_pipeline.sources.voc.read import ReadVoc
from beam_pipeline.sources.yolo.read import ReadYolo

NFC, NFD = "caf\u00e9", "cafe\u0301"
XML = (
    "<annotation><object><name>{}</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax>"
    "<ymax>2</ymax></bndbox></object></annotation>"
)


def coco(name):
    images = [{"id": 1, "file_name": f"{name}.jpg"}]
    return json.dumps({"images": images, "annotations": [], "categories": []})


@pytest.mark.parametrize(("stated", "there"), [(NFC, NFD), (NFD, NFC)], ids=["NFC", "NFD"])
@pytest.mark.parametrize(
    ("read", "tree", "key"),
    [
        pytest.param(ReadCsv, {"rows.csv": "image,label\n{s}.jpg,a\n"}, "{t}.jpg", id="csv"),
        pytest.param(ReadCoco, {"labels.json": coco("{s}")}, "{t}.jpg", id="coco"),
        pytest.param(ReadVoc, {"{s}.xml": XML}, "{t}.jpg", id="voc"),
        pytest.param(
            ReadVoc,
            {"Annotations/{t}.xml": XML, "ImageSets/Main/train.txt": "{s}\n"},
            "JPEGImages/{t}.jpg",
            id="an image set of voc",
        ),
        pytest.param(
            ReadYolo, {"labels/{s}.txt": "0 0.5 0.5 0.1 0.1\n"}, "images/{t}.jpg", id="yolo"
        ),
        pytest.param(
            ReadYolo,
            {"train.txt": "images/{s}.jpg\n", "labels/{s}.txt": "0 0.5 0.5 0.1 0.1\n"},
            "images/{t}.jpg",
            id="a list of yolo",
        ),
    ],
)
def test_an_annotation_finds_its_image(make_tree, run_transform, read, tree, key, stated, there):
    def filled(text):
        return text.replace("{s}", stated).replace("{t}", there)

    root = make_tree({filled(key): ""} | {filled(path): filled(tree[path]) for path in tree})
    elements = run_transform(read(root))
    [record] = [each for each in elements if isinstance(each, Record)]
    assert record.key == filled(key)
    assert record.features["image"].file.path == f"{root}/{filled(key)}"


def test_classes_that_differ_by_form_are_one():
    features = {
        "label": ClassLabel(NFD),
        "labels": ClassLabels((NFD, "a")),
        "text": NFD,
    }
    inspected = inspect_record(Record(key="1", features=features), Rules()).features
    assert inspected["label"] == ClassLabel(NFC)
    assert inspected["labels"] == ClassLabels((NFC, "a"))
    assert inspected["text"] == NFD
    boxes = Boxes(coordinates=((0, 0, 1, 1),), labels=(NFD,), format="rel_xyxy")
    assert with_composed_classes(boxes) == dataclasses.replace(boxes, labels=(NFC,))
    statistics = Statistics()
    statistics.add_declared(DeclaredClasses(feature="boxes", names={0: NFD}))
    assert statistics.declared == {"boxes": {0: {NFC}}}
