"""Unicode's forms NFC and NFD of a name are one name."""

import json

import apache_beam as beam

from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.inspect.record import inspect_record
from beam_pipeline.kinds.rules import Rules
from beam_pipeline.records import ClassLabel, ClassLabels, DeclaredClasses, Objects, Record
from beam_pipeline.sources.coco.read import ReadCoco
from beam_pipeline.sources.manifest.read import ReadCsv
from beam_pipeline.sources.voc.layout import ReadVoc
from beam_pipeline.sources.yolo.layout import ReadYolo

NFC, NFD = "caf\u00e9", "cafe\u0301"
XML = (
    "<annotation><object><name>{}</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax>"
    "<ymax>2</ymax></bndbox></object></annotation>"
)


def coco(name):
    images = [{"id": 1, "file_name": f"{name}.jpg"}]
    return json.dumps({"images": images, "annotations": [], "categories": []})


YOLO_BOX = "0 0.5 0.5 0.1 0.1\n"
# {s} is the name as the annotation states it, {t} as it is there: (reader, files, key).
ANNOTATIONS = {
    "csv": (ReadCsv, {"rows.csv": "image,label\n{s}.jpg,a\n"}, "{t}.jpg"),
    "coco": (ReadCoco, {"labels.json": coco("{s}")}, "{t}.jpg"),
    "voc": (ReadVoc, {"{s}.xml": XML}, "{t}.jpg"),
    "an image set of voc": (
        ReadVoc,
        {"Annotations/{t}.xml": XML, "ImageSets/Main/train.txt": "{s}\n"},
        "JPEGImages/{t}.jpg",
    ),
    "yolo": (ReadYolo, {"labels/{s}.txt": YOLO_BOX}, "images/{t}.jpg"),
    "a list of yolo": (
        ReadYolo,
        {"train.txt": "images/{s}.jpg\n", "labels/{s}.txt": YOLO_BOX},
        "images/{t}.jpg",
    ),
}


class ReadAll(beam.PTransform):
    """What each of these roots' readers yields, in one pipeline."""

    def __init__(self, reads):
        self._reads = reads

    def expand(self, pbegin):
        each = [pbegin | root >> read(root) for root, read in self._reads.items()]
        return each | beam.Flatten()


def test_an_annotation_finds_its_image(make_tree, run_transform):
    reads, keys = {}, {}
    for name, (read, files, key) in ANNOTATIONS.items():
        for stated, there in [(NFC, NFD), (NFD, NFC)]:

            def filled(text, stated=stated, there=there):
                return text.replace("{s}", stated).replace("{t}", there)

            tree = {filled(key): ""} | {filled(path): filled(files[path]) for path in files}
            root = f"{name}, {'NFC' if stated == NFC else 'NFD'}"
            made = make_tree({f"{root}/{path}": text for path, text in tree.items()})
            reads[f"{made}/{root}"] = read
            keys[f"{made}/{root}/{filled(key)}"] = filled(key)

    elements = run_transform(ReadAll(reads))

    records = [each for each in elements if isinstance(each, Record)]
    assert {record.features["image"].file.path: record.key for record in records} == keys
    assert len(records) == len(keys) == 12


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
