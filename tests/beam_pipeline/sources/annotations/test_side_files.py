"""Side files beyond the cases: limits, and that no worker holds a whole tree."""

import dataclasses
import json
from collections import Counter

import pytest
from eager_runner import yielded

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.records import Record
from beam_pipeline.running.buckets import Buckets, gather
from beam_pipeline.sources import file_index
from beam_pipeline.sources.annotations import json_side_files, side_files
from beam_pipeline.sources.annotations.json_side_files import parse_labelme
from beam_pipeline.sources.annotations.line_files import KITTI_FILES
from beam_pipeline.sources.annotations.side_files import ReadSideFiles, pair, tree_facts
from beam_pipeline.sources.annotations.voc import FILES as VOC_FILES
from beam_pipeline.sources.annotations.yolo import (
    YoloConfig,
    class_names,
    parse_labels,
    read_config,
    yolo_files,
)
from beam_pipeline.sources.paths import folder
from beam_pipeline.sources.tree import Tree

COUNT, BUCKETS = 300, 6
BOX = "0 0.5 0.5 0.2 0.4\n"
XML = (
    "<annotation><filename>{}</filename><object><name>dog</name><bndbox><xmin>1</xmin>"
    "<ymin>2</ymin><xmax>3</xmax><ymax>4</ymax></bndbox></object></annotation>"
)


def images_of_voc(number):
    """Every fifth image is named differently from its annotation."""
    return f"{'' if number % 5 else 'other'}{number}.jpg"


@pytest.mark.parametrize(
    ("files", "tree", "held_of_each"),
    [
        pytest.param(
            lambda root: VOC_FILES,
            {f"Annotations/{n}.xml": XML.format(images_of_voc(n)) for n in range(COUNT)}
            | {f"JPEGImages/{images_of_voc(n)}": "" for n in range(COUNT)},
            3,
            id="voc",
        ),
        pytest.param(
            lambda root: yolo_files(root, YoloConfig()),
            {f"images/{n}.jpg": "" for n in range(COUNT)}
            | {f"labels/{n}.txt": BOX for n in range(COUNT)},
            2,
            id="yolo",
        ),
    ],
)
def test_no_worker_holds_all_of_a_tree(make_tree, monkeypatch, files, tree, held_of_each):
    held = []
    monkeypatch.setattr(side_files, "buckets_of_names", lambda *_: Buckets(BUCKETS))
    monkeypatch.setattr(side_files, "_PATHS_PER_BATCH", 7)
    monkeypatch.setattr(
        side_files, "gather", lambda batches: held.append(list(gather(batches))) or iter(held[-1])
    )
    root = make_tree(tree)
    elements = yielded(ReadSideFiles.of(Tree(root), files(root)))
    records = [element for element in elements if isinstance(element, Record)]
    assert len(records) == len({record.key for record in records}) == COUNT
    assert sum(map(len, held)) >= held_of_each * COUNT
    assert max(map(len, held)) < held_of_each * COUNT * 2 / BUCKETS


def test_a_label_file_has_a_bound(make_tree, monkeypatch):
    root = make_tree({"images/a.jpg": "", "labels/a.txt": BOX * 9})
    files = dataclasses.replace(yolo_files(root, YoloConfig()), max_bytes=100)
    (reject,) = yielded(ReadSideFiles.of(Tree(root), files))
    assert (reject.source, reject.reason) == ("labels/a.txt", "file too large")


def test_texts_elsewhere_are_not_labels_of_kitti(make_tree):
    car = "Car 0.50 1 -1.57 10 20.5 30 40 1.5 1.6 3.9 1.8 1.5 8.4 -1.6"
    tree = Tree(make_tree({"labels.txt": car, "image_2/a.png": "", "label_3/a.txt": car}))
    assert tree_facts(tree, KITTI_FILES)[1] == []


def test_the_image_in_a_file_of_labelme_is_not_parsed(monkeypatch):
    monkeypatch.setattr(json_side_files, "MAX_BYTES", 400)

    def made(**members):
        shape = {"label": "cat", "points": [[1, 2], [9, 3], [4, 8]], "shape_type": "polygon"}
        return json.dumps({"shapes": [shape], **members})

    def parsed(text):
        return parse_labelme(text.encode(), "")

    assert parsed(made(imageData="abc/+=" * 1000).replace("/", "\\/")) == parsed(made())
    with pytest.raises(RecordError, match="over 400 bytes without imageData"):
        parsed(made(other="x" * 400))


def test_thousands_of_images_of_one_name_are_not_compared_with_each_annotation(monkeypatch):
    calls = Counter()

    def counted(folders, others):
        calls["/".join(folders)] += 1
        return num_shared(folders, others)

    num_shared = file_index._num_shared
    monkeypatch.setattr(file_index, "_MOST_ALIKE", 5)
    monkeypatch.setattr(file_index, "_num_shared", counted)
    images = [(f"{n}/pictures/x/image.jpg", "", "") for n in range(9)]
    annotations = [("", f"{n}/xml/y/{n}.xml", "image.jpg") for n in range(9)]
    assert {*pair([*images, *annotations], VOC_FILES)} == {*images, *annotations}
    assert max(calls[folder(image)] for image, _, _ in images) < 4


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ("names: [" + "a, " * 400_000, "file too large"),
        ("kpt_shape: [1000000000000, 3]\nflip_idx: [0]\nnames: []", "from 0 to 999999999999 once"),
    ],
)
def test_a_description_of_yolo_has_a_bound(make_tree, stated, message):
    with pytest.raises(ConfigError, match=message):
        read_config(Tree(make_tree({"data.yaml": stated})))


def test_a_label_file_has_a_bound_of_boxes(monkeypatch):
    monkeypatch.setattr("beam_pipeline.kinds.boxes.MAX_BOXES", 10)
    assert len(parse_labels(BOX * 10, YoloConfig()).boxes) == 10
    with pytest.raises(RecordError, match="more than 10 boxes of one image"):
        parse_labels(BOX * 11, YoloConfig())


def test_classes_of_which_nothing_is_said():
    assert class_names(None, "", "data.yaml") is None
    assert class_names({"0": "a", "7": "b"}, "", "data.yaml") == {0: "a", 7: "b"}
