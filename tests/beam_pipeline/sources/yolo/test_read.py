"""YOLO trees become records: which image has which label file, and which split."""

import pytest
from without_beam import yolo_pairs

from beam_pipeline.errors import ConfigError
from beam_pipeline.records import DeclaredClasses, Record, Rejected
from beam_pipeline.running.buckets import gather
from beam_pipeline.sources.side_files import read as side_files
from beam_pipeline.sources.yolo.files import YoloFiles, listed_places, origin_of, pair_key
from beam_pipeline.sources.yolo.layout import ReadYolo, read_config

SPLITS = ("train", "valid", "test")
BOX = "0 0.5 0.5 0.2 0.4\n"


def read(root, allowed=()):
    """What the source yields, without a pipeline around: records by key, rejects by source."""
    config = read_config(root, allowed)
    pairs, origin = yolo_pairs(config), origin_of(config)
    elements = [
        item
        for item in side_files.read_pairs(pairs, YoloFiles(origin, config), origin)
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
    assert not records[f"{images}/background.png"].features["boxes"].boxes
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
    with pytest.raises(ConfigError, match=f"pass --allow-outside {root}/cells; nothing was found"):
        read(f"{root}/config/data.yaml")
    records, rejected = read(f"{root}/config/data.yaml", [f"{root}/cells"])
    assert splits(records) == {"images/train/1.jpg": "train", "images/val/1.jpg": "val"}
    assert records["images/train/1.jpg"].features["boxes"].labels == ("0",)
    assert not rejected


def test_the_transform_reads_a_tree_of_which_no_worker_holds_all(
    make_tree, run_transform, monkeypatch
):
    count, size = 600, 100
    root = make_tree(
        {f"images/{n}.jpg": "" for n in range(count)}
        | {f"labels/{n}.txt": BOX * (n % 3) for n in range(count)}
        | {"train.txt": "".join(f"images/{n}.jpg\n" for n in range(count))}
        | {"data.yaml": "train: train.txt\nnames: [cell, dust]\n"}
    )
    held = []
    monkeypatch.setattr(
        side_files, "gather", lambda batches: held.append(list(gather(batches))) or held[-1]
    )
    elements = run_transform(ReadYolo(root, files_per_bucket=size))
    declared = [item for item in elements if isinstance(item, DeclaredClasses)]
    assert declared == [DeclaredClasses(feature="boxes", names={0: "cell", 1: "dust"})]
    records = [item for item in elements if isinstance(item, Record)]
    assert {record.key for record in records} == {f"images/{n}.jpg" for n in range(count)}
    assert {record.split for record in records} == {"train"}
    assert sum(len(record.features["boxes"].labels) for record in records) == count
    assert len(elements) == count + 1
    assert sum(map(len, held)) >= 3 * count
    assert max(map(len, held)) < 3 * size


# Trees of many forms: what some buckets say of them is what one says.
NAMES = ("a", "b", "c", "caf\u00e9", "cafe\u0301")
TREES = {
    "folders side by side": {f"images/{name}.jpg": "" for name in NAMES}
    | {f"labels/{name}.txt": BOX for name in "bcd"}
    | {"images/c.txt": BOX, "images/e.txt": BOX, "x/c.jpg": "", "x/notes.txt": ""},
    "in splits": {f"{split}/images/{name}.jpg": "" for split in SPLITS for name in NAMES}
    | {f"{split}/labels/{name}.txt": BOX for split in SPLITS for name in "ab"},
    "in splits, but for one": {f"images/{split}/1.jpg": "" for split in (*SPLITS, "more")}
    | {"labels/train/1.txt": BOX, "other/2.jpg": ""},
    "labels beside": {f"{home}/{name}.jpg": "" for home in "xyz" for name in NAMES}
    | {"x/a.txt": BOX, "x/alone.txt": BOX, "y/alone.txt": BOX, "y/readme.txt": ""},
    "labels beside, in splits": {f"{split}/{name}.jpg": "" for split in SPLITS for name in "ab"}
    | {f"{split}/a.txt": BOX for split in SPLITS}
    | {"other/a.jpg": ""},
    "no labels": {"images/a.jpg": "", "images/b.jpg": ""},
    "lists": {f"images/{name}.jpg": "" for name in NAMES}
    | {"labels/a.txt": BOX, "train.txt": "images/a.jpg\n/else/images/caf\u00e9.jpg\nc.jpg\n"}
    | {"val.txt": "images/a.jpg\nimages/gone.jpg\nimages/gone.jpg\n..\n", "classes.txt": "x"},
    "data.yaml": {f"{home}/images/{name}.jpg": "" for home in "xyz" for name in NAMES}
    | {"data.yaml": "names: [a]\ntrain: [x/images, y.txt]\nval: y/images\n"}
    | {"y.txt": "y/images/a.jpg\n", "x/labels/a.txt": BOX},
    "nothing": {"README": ""},
}


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_neither_buckets_nor_the_order_of_the_listing_matter(make_tree, in_any_buckets, tree):
    root = make_tree(tree)
    in_any_buckets(root, lambda size: yolo_pairs(read_config(root), size))


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
                yolo_pairs(config)
        else:
            assert read(root)[0]["images/a.jpg"].features["boxes"].boxes == (boxes,)


def test_names_of_keypoints_are_counted_as_not_kept(make_tree):
    root = make_tree(
        {
            "data.yaml": "names: [a]\nkpt_shape: [1, 2]\nkpt_names: {0: [nose]}\n",
            "images/a.jpg": "",
            "labels/a.txt": "0 .5 .5 .2 .4 .45 .4\n" * 2,
            "images/b.jpg": "",
        }
    )
    records, _ = read(root)
    assert records["images/a.jpg"].notes == {"not kept: keypoint names": 2}
    assert not records["images/b.jpg"].notes


def test_a_label_file_has_a_bound(make_tree, monkeypatch):
    monkeypatch.setattr(YoloFiles, "max_bytes", 100)
    root = make_tree({"images/a.jpg": "", "labels/a.txt": BOX * 9})
    assert read(root)[1] == {"labels/a.txt": ("file too large", True)}
