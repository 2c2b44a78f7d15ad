"""What cases of side files cannot show: their rules for names and lists, and their bounds."""

import json

import pytest
from eager_runner import yielded

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.records import Record
from beam_pipeline.running.buckets import gather
from beam_pipeline.sources import labelme
from beam_pipeline.sources.folders.read import ReadClassFolders
from beam_pipeline.sources.kitti import KittiFiles
from beam_pipeline.sources.labelme import LabelMeFiles
from beam_pipeline.sources.side_files import read as side_files
from beam_pipeline.sources.side_files.image_sets import choose_lists, is_class_list, listed_names
from beam_pipeline.sources.side_files.layout import places_of
from beam_pipeline.sources.tree import Tree
from beam_pipeline.sources.unread import WithoutConsumed
from beam_pipeline.sources.voc import ReadVoc
from beam_pipeline.sources.yolo.files import YoloFiles, listed_places, pair_key
from beam_pipeline.sources.yolo.layout import ReadYolo

BOX = "0 0.5 0.5 0.2 0.4\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a\nb\n", False, id="names"),
        pytest.param("a  1\nb -1\n", True, id="a class"),
        pytest.param("my image\nb\n", False, id="names with spaces"),
        pytest.param("", False, id="empty"),
    ],
)
def test_is_class_list(text, expected):
    assert is_class_list(text) is expected


def test_listed_names():
    assert list(listed_names("a\n\n b.jpg \nv1.2\n")) == [(1, "a"), (3, "b"), (4, "v1.2")]


@pytest.mark.parametrize(
    ("names", "used", "unused"),
    [
        pytest.param(["Main/train", "Main/val", "Main/trainval"], ["train", "val"], [], id="voc"),
        pytest.param(["Main/trainval", "Main/test"], ["test", "trainval"], [], id="no train"),
        pytest.param(["train", "test"], ["test", "train"], [], id="without Main"),
        pytest.param(["Main/test", "Layout/val"], ["test"], [], id="another task"),
        pytest.param(["Main/train", "Main/all"], ["train"], ["all"], id="no split's name"),
    ],
)
def test_choose_lists(names, used, unused):
    lists, ignored = choose_lists(f"VOC/ImageSets/{name}.txt" for name in names)
    assert sorted(lists.values()) == [("VOC", name) for name in used]
    assert ignored == [f"VOC/ImageSets/Main/{name}.txt" for name in unused]


@pytest.mark.parametrize(
    ("image", "label"),
    [
        pytest.param("images/a.jpg", "labels/a.txt", id="side by side"),
        pytest.param("images/train/a.jpg", "labels/train/a.txt", id="split inside"),
        pytest.param("train/images/a.b.jpg", "train/labels/a.b.txt", id="split outside"),
        pytest.param("Images/a.jpg", "Labels/a.txt", id="capitals"),
        pytest.param("images/x/images/a.jpg", "images/x/labels/a.txt", id="the last one counts"),
        pytest.param("images/a.jpg", "images/a.txt", id="in the same folder"),
        pytest.param("data/a.jpg", "data/a.txt", id="no such folders"),
    ],
)
def test_pair_key(image, label):
    assert pair_key(image) == pair_key(label)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("./images/a.jpg", "lists/images/a.jpg", id="relative to the list"),
        pytest.param("/in/images/a.jpg", "images/a.jpg", id="absolute"),
        pytest.param("/else/images/a.jpg", "images/a.jpg", id="of another machine"),
        pytest.param("../images/a.jpg", "images/a.jpg", id="up"),
    ],
)
def test_listed_places(line, expected):
    assert expected in list(listed_places(line, "/in", ["lists"]))


COUNT, BUCKET = 300, 50
LINES = "".join(f"images/{n}.jpg\n" for n in range(COUNT))
XML = (
    "<annotation><filename>{}</filename><object><name>dog</name><bndbox><xmin>1</xmin>"
    "<ymin>2</ymin><xmax>3</xmax><ymax>4</ymax></bndbox></object></annotation>"
)


def images_of_voc(number):
    """Every fifth has another name than its annotation."""
    return f"{'' if number % 5 else 'other'}{number}.jpg"


@pytest.mark.parametrize(
    ("read", "tree", "boxes", "held_of_each"),
    [
        pytest.param(
            ReadVoc,
            {f"Annotations/{n}.xml": XML.format(images_of_voc(n)) for n in range(COUNT)}
            | {f"JPEGImages/{images_of_voc(n)}": "" for n in range(COUNT)}
            | {"ImageSets/train.txt": "".join(f"{n}\n" for n in range(COUNT)), "README": ""},
            COUNT,
            4,  # files twice, and lines
            id="voc",
        ),
        pytest.param(
            ReadYolo,
            {f"images/{n}.jpg": "" for n in range(COUNT)}
            | {f"labels/{n}.txt": BOX * (n % 4) for n in range(COUNT)}
            | {"train.txt": LINES, "data.yaml": "train: train.txt\nnames: [cell, dust]\n"},
            COUNT * 3 // 2,
            3,
            id="yolo",
        ),
    ],
)
def test_no_worker_holds_all_of_a_tree(make_tree, monkeypatch, read, tree, boxes, held_of_each):
    held = []
    monkeypatch.setattr(
        side_files, "gather", lambda batches: held.append(list(gather(batches))) or held[-1]
    )
    elements = yielded(WithoutConsumed(read(make_tree(tree), files_per_bucket=BUCKET)))
    records = [each for each in elements if isinstance(each, Record)]
    assert len({record.key for record in records}) == COUNT == len(elements) - 1
    assert {record.split for record in records} == {"train"}
    assert sum(len(record.features["boxes"].labels) for record in records) == boxes
    assert sum(map(len, held)) >= held_of_each * COUNT
    assert max(map(len, held)) < 3 * BUCKET


@pytest.mark.parametrize(
    ("read", "name"),
    [
        *((ReadVoc, "nowhere"), (ReadYolo, "nowhere"), (ReadYolo, "nowhere.yaml")),
        *((ReadClassFolders, "nowhere")),
    ],
)
def test_a_root_that_does_not_exist(tmp_path, read, name):
    with pytest.raises(ConfigError, match=f"{name}'? does not exist"):
        yielded(read(str(tmp_path / name)))


@pytest.mark.parametrize("read", [ReadVoc, ReadYolo, ReadClassFolders])
def test_a_root_that_is_a_file(make_tree, read):
    with pytest.raises(ConfigError, match=r"a\.jpg' is a file"):
        yielded(read(make_tree({"a.jpg": ""}) + "/a.jpg"))


def test_a_label_file_has_a_bound(make_tree, monkeypatch):
    monkeypatch.setattr(YoloFiles, "max_bytes", 100)
    (reject,) = yielded(ReadYolo(make_tree({"images/a.jpg": "", "labels/a.txt": BOX * 9})))
    assert (reject.source, reject.reason) == ("labels/a.txt", "file too large")


def test_texts_elsewhere_are_no_labels_of_kitti(make_tree):
    car = "Car 0.50 1 -1.57 10 20.5 30 40 1.5 1.6 3.9 1.8 1.5 8.4 -1.6"
    tree = Tree(make_tree({"labels.txt": car, "image_2/a.png": "", "label_3/a.txt": car}))
    assert places_of(tree, KittiFiles()) == []


def test_the_image_in_a_file_of_labelme_is_not_parsed(monkeypatch):
    monkeypatch.setattr(labelme, "MAX_BYTES", 400)

    def made(**members):
        shape = {"label": "cat", "points": [[1, 2], [9, 3], [4, 8]], "shape_type": "polygon"}
        return json.dumps({"shapes": [shape], **members})

    def parsed(text):
        return LabelMeFiles().parse(text.encode(), "")

    assert parsed(made(imageData="abc/+=" * 1000).replace("/", "\\/")) == parsed(made())
    with pytest.raises(RecordError, match="over 400 bytes besides imageData"):
        parsed(made(other="x" * 400))
