"""YOLO trees become records: which image has which label file, and which split."""

import pytest

from beam_pipeline.errors import ConfigError
from beam_pipeline.records import DeclaredClasses, Record, Rejected
from beam_pipeline.sources.yolo.files import list_yolo, listed_places, origin_of, pair_key
from beam_pipeline.sources.yolo.read import ReadYolo, list_checked, read_config, read_pairs

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
            "train.txt": "",
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
    from beam_pipeline.files import storage

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


def test_a_root_that_does_not_exist(tmp_path, run_transform):
    for name in ("nowhere", "nowhere.yaml"):
        with pytest.raises(ConfigError, match=f"{name}' does not exist"):
            run_transform(ReadYolo(str(tmp_path / name)))


def test_what_cvat_exports_as_yolo(make_tree):
    root = make_tree(
        {
            "obj.data": "classes = 1\ntrain = data/train.txt\nnames = data/obj.names\n",
            "obj.names": "cat\n",
            "train.txt": "data/obj_train_data/1.jpg\ndata/obj_train_data/2.jpg\n",
            "obj_train_data/1.jpg": "",
            "obj_train_data/1.txt": BOX,
            "obj_train_data/2.jpg": "",
        }
    )
    records, rejected = read(root)
    assert splits(records) == {"obj_train_data/1.jpg": "train", "obj_train_data/2.jpg": "train"}
    assert records["obj_train_data/1.jpg"].features["boxes"].labels == ("cat",)
    assert records["obj_train_data/2.jpg"].features["boxes"].labels == ()
    assert {reason for reason, _ in rejected.values()} <= {"not an image file"}


def test_keypoints_of_which_nothing_says_so_stop_the_build(make_tree):
    tree = {
        "data.yaml": "names: [a]\n",
        "images/a.jpg": "",
        "labels/a.txt": "0 .5 .5 .2 .4 .45 .4 .55 .6 0 0 .5 .5\n",
    }
    for shape, boxes in (("", None), ("[4, 2]", (0.5, 0.5, 0.2, 0.4)), ("[]", (0, 0, 0.55, 0.6))):
        root = make_tree({**tree, "data.yaml": f"names: [a]\nkpt_shape: {shape}\n"})
        config = read_config(root)
        if boxes is None:
            with pytest.raises(
                ConfigError, match=r"13 numbers, .*kpt_shape: \[4, 2\] for keypoints"
            ):
                list(list_checked(origin_of(config), config))
        else:
            list(list_checked(origin_of(config), config))
            assert read(root)[0]["images/a.jpg"].features["boxes"].coordinates == (boxes,)


def test_a_label_file_has_a_bound(make_tree, monkeypatch):
    monkeypatch.setattr("beam_pipeline.sources.yolo.read.MAX_BYTES", 100)
    root = make_tree({"images/a.jpg": "", "labels/a.txt": BOX * 9})
    assert read(root)[1] == {"labels/a.txt": ("file too large", True)}
