"""YOLO's description of a dataset: class names, splits, and paths of other machines."""

import pytest

from beam_pipeline.errors import ConfigError
from beam_pipeline.sources.yolo.config import class_names
from beam_pipeline.sources.yolo.layout import read_config


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
        pytest.param({"x": "a"}, "", "not class numbers", id="keys"),
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
            r".*/input/training; fix the path",
            id="no such folder",
        ),
        pytest.param(
            {"data.yaml": "train: images\nval: images\n", "images/1.jpg": ""},
            "train and val are the same",
            id="one folder twice",
        ),
        pytest.param({"data.yaml": "names: [a\n"}, "is not YAML", id="not a YAML"),
        pytest.param({"data.yaml": "names: [a]\nkpt_shape: 17\n"}, "kpt_shape is '17'", id="shape"),
        pytest.param({"a.yaml": "names: [a]", "b.yaml": "names: [b]"}, "several", id="which"),
        pytest.param({"classes.txt": "a\na\n"}, "'a' twice", id="classes.txt"),
        pytest.param(
            {"classes.txt": "a\nb\n", "labels/classes.txt": "b\na\n"},
            r"/classes\.txt and .*/labels/classes\.txt differ",
            id="two lists of names",
        ),
        pytest.param(
            {"obj.data": "train = data/train.txt\n"},
            r"train: 'data/train\.txt' does not exist",
            id="Darknet without its list",
        ),
        pytest.param(
            {"obj.data": "train = train.txt\nvalid = train.txt\n", "train.txt": "a.jpg\n"},
            "train and valid are the same",
            id="Darknet's list twice",
        ),
        pytest.param(
            {"a.data": "names = x.names\n", "b.data": "train = x.txt\n"},
            r"several of Darknet's descriptions: .*a\.data, .*b\.data",
            id="which of Darknet's",
        ),
        pytest.param({"data.yaml": "nc: 100000000\n" + "train: .\n"}, "at most 100,000", id="nc"),
        pytest.param({"data.yaml": "nc: " + "9" * 5000 + "\ntrain: .\n"}, "at most", id="digits"),
        pytest.param({"data.yaml": "names: [[a, b], c]\n"}, "one name a class", id="lists"),
        pytest.param({"data.yaml": "x: &x [a]\nnames: *x\n"}, "alias", id="aliases"),
        pytest.param({"data.yaml": "names: " + "[" * 999}, "nested too deep", id="deep"),
        pytest.param({"data.yaml": "names: [" + "a, " * 400_000}, "file too large", id="long"),
    ],
)
def test_a_description_that_cannot_be_used(make_tree, files, message):
    with pytest.raises(ConfigError, match=message):
        read_config(make_tree(files))


@pytest.mark.parametrize(
    "place",
    ["", "labels/", "labels/train/", "train/", "train/labels/"],
    ids=lambda path: path or ".",
)
def test_class_names_lie_in_the_root_or_beside_the_labels(make_tree, place):
    root = make_tree({f"{place}classes.txt": "cat\n\ndog\n", "images/1.jpg": ""})
    config = read_config(root)
    assert (config.names, config.source) == ({0: "cat", 1: "dog"}, f"{root}/{place}classes.txt")


def test_darknet(make_tree):
    root = make_tree(
        {
            "obj.data": "classes = 2\ntrain = data/train.txt\nvalid = data/valid.txt\n"
            "names = data/obj.names\nbackup = backup/\n",
            "obj.names": "cat\ndog\n",
            "train.txt": "data/obj_train_data/1.jpg\n",
            "valid.txt": "data/obj_train_data/2.jpg\n",
        }
    )
    config = read_config(root)
    assert config.names == {0: "cat", 1: "dog"}
    assert config.splits == {"train": (f"{root}/train.txt",), "valid": (f"{root}/valid.txt",)}


def test_lists_of_images_are_splits(make_tree):
    root = make_tree(
        {
            "train2017.txt": "./images/train2017/1.jpg\n",
            "val2017.txt": "\n./images/val2017/2.jpg\n",
            "test.txt": "0 0.5 0.5 0.1 0.1\n",
            "notes.txt": "1.jpg\n",
        }
    )
    assert read_config(root).splits == {
        "train2017": (f"{root}/train2017.txt",),
        "val2017": (f"{root}/val2017.txt",),
    }
