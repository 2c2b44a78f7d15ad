"""YOLO: label lines, data.yaml, and which image has which label file."""

import pytest

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.records import Boxes, DeclaredClasses, Record, Rejected
from beam_pipeline.sources.yolo.config import class_names
from beam_pipeline.sources.yolo.files import list_yolo, listed_places, origin_of, pair_key
from beam_pipeline.sources.yolo.labels import parse_labels
from beam_pipeline.sources.yolo.read import ReadYolo, read_config, read_pairs

BOX = "0 0.5 0.5 0.2 0.4\n"


def read(root):
    """What the source yields, without a pipeline around: records by key, rejects by source."""
    config = read_config(root)
    origin = origin_of(config)
    elements = [
        item
        for batch in list_yolo(origin, config)
        for item in read_pairs(batch, origin, config)
        if not isinstance(item, DeclaredClasses)
    ]
    records = {item.key: item for item in elements if isinstance(item, Record)}
    rejected = {
        item.source: (item.reason, item.bad) for item in elements if isinstance(item, Rejected)
    }
    assert len(records) + len(rejected) == len(elements)
    return records, rejected


def splits(records):
    return {key: record.split for key, record in records.items()}


# One label file.


@pytest.mark.parametrize(
    ("text", "names", "keypoint_shape", "expected"),
    [
        pytest.param(
            "", {0: "a"}, None, Boxes(coordinates=(), format="rel_center_xywh"), id="none"
        ),
        pytest.param(
            "1 0.5 0.5 0.2 0.4\r\n\n0.0 1 1e-1 .25 1.0\n",
            {0: "a", 1: "b"},
            None,
            Boxes(
                coordinates=((0.5, 0.5, 0.2, 0.4), (1.0, 0.1, 0.25, 1.0)),
                format="rel_center_xywh",
                labels=("b", "a"),
            ),
            id="boxes",
        ),
        pytest.param(
            BOX * 2,
            None,
            None,
            Boxes(
                coordinates=((0.5, 0.5, 0.2, 0.4),) * 2,
                format="rel_center_xywh",
                labels=("0", "0"),
            ),
            id="equal lines, no names",
        ),
        pytest.param(
            "0 0.1 0.2 0.5 0.1 0.3 0.9\n0 0.5 0.5 0.5 0.25\n",
            {0: "a"},
            None,
            Boxes(
                coordinates=((0.1, 0.1, 0.5, 0.9), (0.25, 0.375, 0.75, 0.625)),
                format="rel_xyxy",
                labels=("a", "a"),
            ),
            id="a polygon among boxes",
        ),
        pytest.param(
            "0 0.5 0.5 0.2 0.4 0.1 0.2 2 0.3 0.4 0\n",
            {0: "a"},
            (2, 3),
            Boxes(
                coordinates=((0.5, 0.5, 0.2, 0.4),),
                format="rel_center_xywh",
                labels=("a",),
                keypoints=((0.1, 0.2, 2.0, 0.3, 0.4, 0.0),),
            ),
            id="keypoints",
        ),
        pytest.param(
            "0 0.5 0.5 0.2 0.4 0.1 0.2 0 0\n",
            {0: "a"},
            (2, 2),
            Boxes(
                coordinates=((0.5, 0.5, 0.2, 0.4),),
                format="rel_center_xywh",
                labels=("a",),
                keypoints=((0.1, 0.2, 2.0, 0.0, 0.0, 0.0),),
            ),
            id="keypoints without visibility",
        ),
    ],
)
def test_parse_labels(text, names, keypoint_shape, expected):
    assert parse_labels(text, names=names, keypoint_shape=keypoint_shape) == expected


@pytest.mark.parametrize(
    ("text", "keypoint_shape", "message"),
    [
        pytest.param(BOX + "0 0.5 0.5 0.2\n", None, "line 2: 4 numbers", id="too few"),
        pytest.param("0 0.5 0.5 0.2 0.4 0.9\n", None, "line 1: 6 numbers", id="a score"),
        pytest.param("0 .1 .1 .2 .2 .3 .3 .4\n", None, "line 1: 8 numbers", id="half a point"),
        pytest.param("2 0.5 0.5 0.2 0.4\n", None, r"class 2 .* 2 classes \(0 to 1\)", id="class"),
        pytest.param("-1 0.5 0.5 0.2 0.4\n", None, "class '-1'", id="negative class"),
        pytest.param("0.5 0.5 0.5 0.2 0.4\n", None, "class '0.5'", id="half a class"),
        pytest.param("dog 0.5 0.5 0.2 0.4\n", None, "'dog' is not a number", id="a word"),
        pytest.param("0 0.5 nan 0.2 0.4\n", None, "'nan' is not a number", id="not finite"),
        pytest.param("0 320 240 64 48\n", None, "320 is no fraction", id="pixels"),
        pytest.param(BOX, (17, 3), r"0 numbers .* makes 51", id="no keypoints"),
    ],
)
def test_malformed_labels(text, keypoint_shape, message):
    with pytest.raises(RecordError, match=message) as caught:
        parse_labels(text, names={0: "a", 1: "b"}, keypoint_shape=keypoint_shape)
    assert caught.value.reason == "malformed annotation"


# The description.


@pytest.mark.parametrize(
    ("names", "count", "expected"),
    [
        pytest.param(["a", "b"], "2", {0: "a", 1: "b"}, id="list"),
        pytest.param({"0": "a", "7": "b"}, "", {0: "a", 7: "b"}, id="mapping"),
        pytest.param(None, "2", {0: "0", 1: "1"}, id="only their count"),
        pytest.param(None, "", None, id="nothing"),
    ],
)
def test_class_names(names, count, expected):
    assert class_names(names, count, "data.yaml") == expected


@pytest.mark.parametrize(
    ("names", "count", "message"),
    [
        pytest.param(["a", "b"], "3", "nc is 3 but names has 2", id="count"),
        pytest.param(["a", "a"], "", "'a' twice", id="twice"),
        pytest.param({"x": "a"}, "", "no class numbers", id="keys"),
        pytest.param("person", "", "names is 'person'", id="text"),
    ],
)
def test_class_names_that_cannot_be(names, count, message):
    with pytest.raises(ConfigError, match=message):
        class_names(names, count, "data.yaml")


@pytest.mark.parametrize(
    ("yaml", "images"),
    [
        pytest.param(
            "train: images/train\nval: images/val\n", ("images/train", "images/val"), id="plain"
        ),
        pytest.param(
            "path: .\ntrain: [images/train]\nval: ./images/val/\ntest:\n",
            ("images/train", "images/val"),
            id="path, a list, an empty split",
        ),
        pytest.param(
            "train: ../train/images\nval: ../valid/images\n",
            ("train/images", "valid/images"),
            id="Roboflow",
        ),
        pytest.param(
            "path: /home/you/datasets/input\ntrain: images/train\nval: images/val\n",
            ("images/train", "images/val"),
            id="path of another machine",
        ),
        pytest.param(
            "train: C:\\data\\input\\images\\train\nval: /else/where/images/val\n",
            ("images/train", "images/val"),
            id="splits of another machine",
        ),
        pytest.param(
            "path: sub\ntrain: images/a\nval: images/b\n",
            ("sub/images/a", "sub/images/b"),
            id="sub",
        ),
    ],
)
def test_where_data_yaml_says_that_splits_are(make_tree, yaml, images):
    root = make_tree({"data.yaml": yaml} | {f"{path}/1.jpg": "" for path in images})
    config = read_config(root)
    assert config.splits == {
        "train": (f"{root}/{images[0]}",),
        "val": (f"{root}/{images[1]}",),
    }


def test_data_yaml_keeps_classes_as_they_are_written(make_tree):
    root = make_tree({"coco8-pose.yaml": "names:\n  0: no\n  1: 1.0\nkpt_shape: [17, 3]\n"})
    config = read_config(root)
    assert config.names == {0: "no", 1: "1.0"}
    assert config.keypoint_shape == (17, 3)
    assert config.splits is None


@pytest.mark.parametrize(
    ("files", "message"),
    [
        pytest.param(
            {"data.yaml": "train: images/training\nnames: [a]\n"},
            r"train: 'images/training' does not exist; tried .*/input/images/training, "
            r".*/input/training; mend the path",
            id="no such folder",
        ),
        pytest.param(
            {"data.yaml": "train: images\nval: images\n", "images/1.jpg": ""},
            "train and val are the same",
            id="one folder twice",
        ),
        pytest.param({"data.yaml": "names: [a\n"}, "is not YAML", id="no YAML"),
        pytest.param({"data.yaml": "names: [a]\nkpt_shape: 17\n"}, "kpt_shape is '17'", id="shape"),
        pytest.param({"a.yaml": "names: [a]", "b.yaml": "names: [b]"}, "several", id="which"),
        pytest.param({"classes.txt": "a\na\n"}, "'a' twice", id="classes.txt"),
    ],
)
def test_a_description_that_cannot_be_used(make_tree, files, message):
    with pytest.raises(ConfigError, match=message):
        read_config(make_tree(files))


def test_a_root_that_does_not_exist(tmp_path, run_transform):
    for name in ("nowhere", "nowhere.yaml"):
        with pytest.raises(ConfigError, match=f"{name}' does not exist"):
            run_transform(ReadYolo(str(tmp_path / name)))


# Which files belong together.


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


@pytest.mark.parametrize(
    ("folders", "expected"),
    [
        pytest.param(["images", "labels"], None, id="no splits"),
        pytest.param(["images/train", "labels/train"], "train", id="inside"),
        pytest.param(["valid/images", "valid/labels"], "valid", id="outside"),
        pytest.param(["images/train2017", "labels/train2017"], "train2017", id="with a year"),
    ],
)
def test_folders_without_data_yaml(make_tree, folders, expected):
    images, labels = folders
    root = make_tree(
        {
            f"{images}/a.jpg": "",
            f"{labels}/a.txt": BOX,
            f"{images}/background.png": "",
            f"{images}/empty.jpg": "",
            f"{labels}/empty.txt": "\n",
            f"{labels}/lonely.txt": BOX,
            f"{images}/wrong.jpg": "",
            f"{labels}/wrong.txt": "0 1\n",
            "obj.names": "cell\n",
            "results.png": "",
            "README.txt": "",
        }
    )
    records, rejected = read(root)
    assert splits(records) == dict.fromkeys(
        (f"{images}/a.jpg", f"{images}/background.png", f"{images}/empty.jpg"), expected
    )
    assert records[f"{images}/a.jpg"].features["boxes"].labels == ("cell",)
    assert records[f"{images}/a.jpg"].features["image"].file.path == f"{root}/{images}/a.jpg"
    assert not records[f"{images}/background.png"].features["boxes"].coordinates
    assert rejected == {
        f"{labels}/lonely.txt": ("missing image", True),
        f"{labels}/wrong.txt": ("malformed annotation", True),
        "results.png": ("unused image", False),
        "README.txt": ("not an image file", False),
    }


def test_labels_beside_their_images(make_tree):
    root = make_tree(
        {
            "a.jpg": "",
            "a.txt": BOX,
            "b.jpg": "",
            "classes.txt": "cell\n",
            "train.txt": "a.jpg\n",
            "README.dataset.txt": "",
            "gone.txt": BOX,
            "docs/logo.png": "",
            "docs/notes.txt": "",
        }
    )
    records, rejected = read(root)
    assert list(records) == ["a.jpg", "b.jpg"]
    assert rejected == {
        "gone.txt": ("missing image", True),
        "docs/logo.png": ("unused image", False),
        "train.txt": ("not an image file", False),
        "README.dataset.txt": ("not an image file", False),
        "docs/notes.txt": ("not an image file", False),
    }


def test_no_label_file_at_all_is_no_set_of_backgrounds(make_tree):
    root = make_tree({"data.yaml": "train: images\nnames: [a]", "images/a.jpg": ""})
    records, rejected = read(root)
    assert not records
    assert rejected["images/a.jpg"] == ("no label file", True)


def test_splits_of_data_yaml(make_tree):
    root = make_tree(
        {
            "data.yaml": "train: [images/a, images/b]\nval: lists/val.txt\ntest: images/t\n"
            "names: [cell]\n",
            "lists/val.txt": "../images/v/1.jpg\n\n/other/machine/images/v/2.jpg\n"
            "images/v/gone.jpg\n./../images/a/both.jpg\n",
            "labels/a/1.txt": BOX,
        }
        | {f"images/{name}.jpg": "" for name in ("a/1", "a/both", "b/1", "v/1", "v/2", "t/1")}
        | {"images/spare/1.jpg": ""}
    )
    records, rejected = read(root)
    assert splits(records) == {
        "images/a/1.jpg": "train",
        "images/b/1.jpg": "train",
        "images/v/1.jpg": "val",
        "images/v/2.jpg": "val",
        "images/t/1.jpg": "test",
    }
    assert rejected == {
        "lists/val.txt:4": ("missing image", True),
        "images/a/both.jpg": ("in two splits", True),
        "images/spare/1.jpg": ("in no split", False),
    }


def test_a_data_yaml_that_points_elsewhere(make_tree):
    root = make_tree(
        {
            "config/data.yaml": "path: ../cells\ntrain: images/train\nval: images/val\n",
            "cells/images/train/1.jpg": "",
            "cells/labels/train/1.txt": BOX,
            "cells/images/val/1.jpg": "",
            "other/1.jpg": "",
        }
    )
    records, rejected = read(f"{root}/config/data.yaml")
    assert splits(records) == {"images/train/1.jpg": "train", "images/val/1.jpg": "val"}
    assert records["images/train/1.jpg"].features["boxes"].labels == ("0",)
    assert not rejected


def test_the_transform_reads_a_tree(make_tree, run_transform):
    count = 600  # more than a batch
    root = make_tree(
        {f"images/{n}.jpg": "" for n in range(count)}
        | {f"labels/{n}.txt": BOX * (n % 3) for n in range(count)}
        | {"data.yaml": "train: images\nnames: [cell, dust]\n"}
    )
    elements = run_transform(ReadYolo(root))
    declared = [item for item in elements if isinstance(item, DeclaredClasses)]
    assert declared == [DeclaredClasses(feature="boxes", names={0: "cell", 1: "dust"})]
    records = [item for item in elements if isinstance(item, Record)]
    assert {record.key for record in records} == {f"images/{n}.jpg" for n in range(count)}
    assert sum(len(record.features["boxes"].labels) for record in records) == count
    assert len(elements) == count + 1


def test_the_listing_order_does_not_matter(make_tree, monkeypatch):
    from beam_pipeline import storage

    root = make_tree(
        {"images/a.jpg": "", "images/a.txt": BOX, "labels/a.txt": "", "x/b.jpg": "", "c.txt": ""}
    )
    config = read_config(root)
    there = list(storage.list_files(root))
    results = []
    for files in (there, there[::-1]):
        monkeypatch.setattr(storage, "list_files", lambda _, files=files: iter(files))
        results.append([item for batch in list_yolo(root, config) for item in batch])
    assert results[0] == results[1]
