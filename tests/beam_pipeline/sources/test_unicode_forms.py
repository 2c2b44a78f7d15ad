"""The Unicode forms NFC and NFD of a name are treated as equal."""

import json

import pytest
from cases.reading import elements_of
from inspecting import inspect_record

from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.kinds.kind import Rules
from beam_pipeline.records import ClassLabel, ClassLabels, DeclaredClasses, Objects, Record

NFC, NFD = "caf\u00e9", "cafe\u0301"
XML = (
    "<annotation><object><name>{}</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax>"
    "<ymax>2</ymax></bndbox></object></annotation>"
)


def coco(name):
    images = [{"id": 1, "file_name": f"{name}.jpg"}]
    return json.dumps({"images": images, "annotations": [], "categories": []})


YOLO_BOX = "0 0.5 0.5 0.1 0.1\n"
# (layout, files, key); {s} is the name in the annotation, {t} the name on disk.
ANNOTATIONS = {
    "csv": ("csv", {"rows.csv": "image,label\n{s}.jpg,a\n"}, "{t}.jpg"),
    "coco": ("coco", {"labels.json": coco("{s}")}, "{t}.jpg"),
    "voc": ("voc", {"{s}.xml": XML}, "{t}.jpg"),
    "an image set of voc": (
        "voc",
        {"Annotations/{t}.xml": XML, "ImageSets/Main/train.txt": "{s}\n"},
        "JPEGImages/{t}.jpg",
    ),
    "yolo": ("yolo", {"labels/{s}.txt": YOLO_BOX}, "images/{t}.jpg"),
    "a list of yolo": (
        "yolo",
        {"train.txt": "images/{s}.jpg\n", "labels/{s}.txt": YOLO_BOX},
        "images/{t}.jpg",
    ),
}


@pytest.mark.parametrize(("stated", "there"), [(NFC, NFD), (NFD, NFC)], ids=["NFC", "NFD"])
@pytest.mark.parametrize(("layout", "files", "key"), ANNOTATIONS.values(), ids=ANNOTATIONS)
def test_an_annotation_finds_its_image(make_tree, layout, files, key, stated, there):
    def filled(text):
        return text.replace("{s}", stated).replace("{t}", there)

    tree = {filled(key): ""} | {filled(path): filled(files[path]) for path in files}
    elements = elements_of(make_tree(tree), layout=layout)
    (record,) = (element for element in elements if isinstance(element, Record))
    assert record.key == filled(key)
    assert record.features["image"].file.path.endswith(f"/{filled(key)}")


def test_classes_that_differ_by_form_are_one():
    features = {
        "label": ClassLabel(NFD),
        "labels": ClassLabels((NFD, "a")),
        "text": NFD,
        "boxes": Objects(
            boxes=((0, 0, 1, 1),), labels=(NFD,), format="rel_xyxy", image_size=(9, 9)
        ),
    }
    inspected = inspect_record(Record(key="1", features=features), Rules()).features
    assert inspected["label"] == ClassLabel(NFC)
    assert inspected["labels"] == ClassLabels((NFC, "a"))
    assert inspected["text"] == NFD
    assert inspected["boxes"].labels == (NFC,)
    statistics = Statistics()
    statistics.add_declared(DeclaredClasses(feature="boxes", names={0: NFD}))
    assert statistics.declared == {"boxes": {0: {NFC}}}
