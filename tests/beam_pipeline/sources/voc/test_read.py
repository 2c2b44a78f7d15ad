"""Pascal VOC trees become records: images, their image sets, and what is left over."""

import collections

import pytest
from without_beam import voc_pairs

from beam_pipeline.errors import ConfigError
from beam_pipeline.records import Record, Rejected
from beam_pipeline.running.buckets import gather
from beam_pipeline.sources.side_files import read as side_files
from beam_pipeline.sources.side_files.files import Pair
from beam_pipeline.sources.side_files.image_sets import choose_lists, is_class_list, listed_names
from beam_pipeline.sources.voc.layout import ReadVoc, VocFiles

SPLITS = ("train", "valid", "test")


def annotation(*names: str, filename: str = "") -> str:
    """Things of these names, each in a box."""
    box = "<bndbox><xmin>1</xmin><ymin>2</ymin><xmax>30</xmax><ymax>40</ymax></bndbox>"
    things = "".join(f"<object><name>{name}</name>{box}</object>" for name in names)
    return f"<annotation><filename>{filename}</filename>{things}</annotation>"


def read(root):
    """What the source yields, without a pipeline around: records by key, rejects by source."""
    elements = list(side_files.read_pairs(voc_pairs(root), VocFiles(), root))
    records = {item.key: item for item in elements if isinstance(item, Record)}
    rejected = {
        item.source: (item.reason, item.bad) for item in elements if isinstance(item, Rejected)
    }
    assert len(records) + len(rejected) == len(elements)
    return records, rejected


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


def test_a_devkit_with_image_sets(make_tree):
    voc = "VOCdevkit/VOC2007"
    root = make_tree(
        {f"{voc}/Annotations/{name}.xml": annotation("dog") for name in "abcde"}
        | {f"{voc}/JPEGImages/{name}.jpg": "" for name in "abcdef"}
        | {f"{voc}/JPEGImages/listed.jpg": ""}
        | {
            f"{voc}/ImageSets/Main/train.txt": "a\nb\nlisted\n",
            f"{voc}/ImageSets/Main/val.txt": "c\nb\n",
            f"{voc}/ImageSets/Main/test.txt": "d\ngone\n",
            f"{voc}/ImageSets/Main/trainval.txt": "a\nb\nc\nlisted\n",
            f"{voc}/ImageSets/Main/dog_train.txt": "a 1\nb -1\n",
            f"{voc}/ImageSets/Layout/train.txt": "e\n",
            f"{voc}/SegmentationClass/a.png": "",
            f"{voc}/README": "",
        }
    )
    records, rejected = read(root)
    assert {key: item.split for key, item in records.items()} == {
        f"{voc}/JPEGImages/a.jpg": "train",
        f"{voc}/JPEGImages/c.jpg": "val",
        f"{voc}/JPEGImages/d.jpg": "test",
    }
    assert rejected == {
        f"{voc}/Annotations/b.xml": ("in two splits", True),
        f"{voc}/Annotations/e.xml": ("in no image set", False),
        f"{voc}/ImageSets/Main/train.txt:3": ("missing annotation", True),
        f"{voc}/ImageSets/Main/test.txt:2": ("missing annotation", True),
        f"{voc}/JPEGImages/f.jpg": ("no annotation", False),
        f"{voc}/SegmentationClass/a.png": ("unused image", False),
        f"{voc}/README": ("not an image file", False),
    }


def test_two_years_of_a_devkit_keep_their_own_sets(make_tree):
    root = make_tree(
        {
            "VOC2007/Annotations/a.xml": annotation(),
            "VOC2007/JPEGImages/a.jpg": "",
            "VOC2007/ImageSets/Main/trainval.txt": "a\n",
            "VOC2012/Annotations/a.xml": annotation(),
            "VOC2012/JPEGImages/a.jpg": "",
            "VOC2012/ImageSets/Main/test.txt": "a\n",
        }
    )
    records, rejected = read(root)
    assert {key: item.split for key, item in records.items()} == {
        "VOC2007/JPEGImages/a.jpg": "trainval",
        "VOC2012/JPEGImages/a.jpg": "test",
    }
    assert not rejected


@pytest.mark.parametrize(
    ("file", "filename", "images", "expected"),
    [
        pytest.param("Annotations/a.xml", "", ["JPEGImages/a.png"], "JPEGImages/a.png", id="voc"),
        pytest.param("annotations/a.xml", "", ["images/a.jpg"], "images/a.jpg", id="lower case"),
        pytest.param(
            "annotations/xmls/a.xml", "", ["images/a.jpg"], "images/a.jpg", id="a folder deeper"
        ),
        pytest.param(
            "Annotations/s1/a.xml",
            "",
            ["JPEGImages/a.jpg", "JPEGImages/s1/a.jpg"],
            "JPEGImages/s1/a.jpg",
            id="the same folder deeper",
        ),
        pytest.param("Annotations/a.xml", "", ["a.jpg"], "a.jpg", id="beside Annotations"),
        pytest.param("a.xml", "", ["a.jpg"], "a.jpg", id="beside the image"),
        pytest.param("xmls/a.xml", "", ["images/a.jpg"], "images/a.jpg", id="folders side by side"),
        pytest.param(
            "Annotations/a.xml",
            "b.jpg",
            ["JPEGImages/b.jpg"],
            "JPEGImages/b.jpg",
            id="only the file name tells",
        ),
        pytest.param(
            "Annotations/a.xml",
            "b.jpg",
            ["JPEGImages/b.png"],
            "JPEGImages/b.png",
            id="file name with another suffix",
        ),
        pytest.param(
            "Annotations/a.xml",
            "b.jpg",
            ["JPEGImages/a.jpg", "JPEGImages/b.jpg"],
            "JPEGImages/a.jpg",
            id="its own name before the file name",
        ),
    ],
)
def test_the_image_of_an_annotation(make_tree, file, filename, images, expected):
    root = make_tree({file: annotation(filename=filename)} | dict.fromkeys(images, ""))
    records, _ = read(root)
    assert list(records) == [expected]
    assert records[expected].source == file
    assert records[expected].features["image"].file.path == f"{root}/{expected}"


def test_what_does_not_pair(make_tree):
    root = make_tree(
        {
            "Annotations/alone.xml": annotation(filename="nowhere.jpg"),
            "Annotations/broken.xml": "<annotation>",
            "Annotations/broken_alone.xml": "<annotation>",
            "Annotations/one.xml": annotation(filename="shared.jpg"),
            "Annotations/two.xml": annotation(filename="shared.jpg"),
            "Annotations/fine.xml": annotation(),
            "JPEGImages/broken.jpg": "",
            "JPEGImages/shared.jpg": "",
            "JPEGImages/fine.jpg": "",
            "JPEGImages/bare.jpg": "",
            "logo.png": "",
            "project.xml": "<project/>",
        }
    )
    records, rejected = read(root)
    assert list(records) == ["JPEGImages/fine.jpg"]
    assert rejected == {
        "Annotations/alone.xml": ("missing image", True),
        "Annotations/broken.xml": ("malformed annotation", True),
        "Annotations/broken_alone.xml": ("malformed annotation", True),
        "Annotations/one.xml": ("two annotations", True),
        "Annotations/two.xml": ("two annotations", True),
        "JPEGImages/bare.jpg": ("no annotation", True),
        "logo.png": ("unused image", False),
        "project.xml": ("not an image file", False),
    }


@pytest.mark.parametrize(
    ("folders", "splits"),
    [
        pytest.param(["train", "valid"], ["train", "valid"], id="all are splits"),
        pytest.param(["train", "other"], [None, None], id="not all are"),
        pytest.param(
            ["Annotations/train", "Annotations/test"], ["train", "test"], id="below Annotations"
        ),
    ],
)
def test_splits_by_folder(make_tree, folders, splits):
    texts = {f"{path}/{n}.xml": annotation() for n, path in enumerate(folders)}
    images = {f"{path}/{n}.jpg": "" for n, path in enumerate(folders)}
    records, rejected = read(make_tree(texts | images))
    assert [records[f"{path}/{n}.jpg"].split for n, path in enumerate(folders)] == splits
    assert not rejected


def test_an_image_set_that_cannot_be_read(make_tree, tmp_path):
    root = make_tree(
        {"Annotations/a.xml": annotation(), "JPEGImages/a.jpg": "", "ImageSets/val.txt": ""}
    )
    (tmp_path / "input/ImageSets/val.txt").write_bytes(b"\xff\xff")
    _, rejected = read(root)
    assert rejected == {"ImageSets/val.txt": ("not UTF-8", True)}


def test_the_transform_reads_a_tree_of_which_no_worker_holds_all(
    make_tree, run_transform, monkeypatch
):
    count, size = 600, 100
    by_filename = range(0, count, 5)
    images = [f"{'other' * (n in by_filename)}{n}.jpg" for n in range(count)]
    root = make_tree(
        {
            f"Annotations/{n}.xml": annotation("dog", "cat", filename=image)
            for n, image in enumerate(images)
        }
        | {f"JPEGImages/{image}": "" for image in images}
        | {"ImageSets/Main/train.txt": "".join(f"{n}\n" for n in range(count)), "README": ""}
    )
    held = []
    monkeypatch.setattr(
        side_files, "gather", lambda batches: held.append(list(gather(batches))) or held[-1]
    )
    elements = run_transform(ReadVoc(root, files_per_bucket=size))
    records = [item for item in elements if isinstance(item, Record)]
    assert {record.key for record in records} == {f"JPEGImages/{image}" for image in images}
    assert {record.split for record in records} == {"train"}
    labels = collections.Counter(
        label for record in records for label in record.features["boxes"].labels
    )
    assert labels == {"dog": count, "cat": count}
    assert len(elements) == count + 1
    assert sum(map(len, held)) >= 4 * count  # files twice, and lines
    assert max(map(len, held)) < 3 * size


# Trees of many forms: what some buckets say of them is what one says.
TREES = {
    "a devkit": {f"VOC/Annotations/{name}.xml": annotation("dog") for name in "abcde"}
    | {f"VOC/JPEGImages/{name}.jpg": "" for name in "abcdfgh"}
    | {
        "VOC/ImageSets/Main/train.txt": "a\nb\ng\n",
        "VOC/ImageSets/Main/val.txt": "c\nb\ngone\ngone\n",
        "VOC/ImageSets/Main/all.txt": "a\n",
        "VOC/ImageSets/Main/dog_train.txt": "a 1\n",
        "VOC/SegmentationClass/a.png": "",
    },
    "names in folders": {f"Annotations/{s}/a.xml": annotation() for s in ("s1", "s2")}
    | {f"JPEGImages/{s}/a.jpg": "" for s in ("s1", "s2", "s3")}
    | {"ImageSets/train.txt": "s1/a\n", "ImageSets/val.txt": "s2/a.jpg\ns3/a\n"},
    "file names": {
        "Annotations/1.xml": annotation(filename="a.jpg"),
        "Annotations/2.xml": annotation(filename="b.png"),
        "Annotations/3.xml": annotation(filename="c.jpg"),
        "Annotations/4.xml": annotation(filename="c.jpg"),
        "Annotations/5.xml": annotation(filename="e.jpg"),
        "Annotations/6.xml": annotation(filename="nowhere.jpg"),
        "Annotations/7.xml": "<annotation>",
        "Annotations/e.xml": annotation(),
        "Annotations/x/e.xml": annotation(),
        "more/project.xml": "<project/>",
    }
    | {f"pictures/{name}.jpg": "" for name in "abcdef"}
    | {f"JPEGImages/{name}.jpg": "" for name in "abcdef"},
    "splits by folder": {f"{split}/{n}.xml": annotation() for n, split in enumerate(SPLITS)}
    | {f"{split}/{n}.jpg": "" for n, split in enumerate(SPLITS)}
    | {f"{split}/images/bare{n}.jpg": "" for n, split in enumerate(SPLITS)},
    "folders of images known by their images alone": {
        "one/a.xml": annotation(),
        "two/b.xml": annotation(filename="c.jpg"),
    }
    | {f"{home}/{name}.jpg": "" for home in ("one", "two", "three") for name in "acdef"},
    "nothing": {"README": ""},
}


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_neither_buckets_nor_the_order_of_the_listing_matter(make_tree, in_any_buckets, tree):
    root = make_tree(tree)
    in_any_buckets(root, lambda size: voc_pairs(root, size))


def test_an_image_has_the_annotation_of_its_own_name(make_tree):
    root = make_tree(
        {
            "Annotations/a.xml": annotation(),
            "Annotations/b.xml": annotation(filename="a.jpg"),
            "JPEGImages/a.jpg": "",
        }
    )
    pair, rejected = sorted(voc_pairs(root), key=lambda each: isinstance(each, Rejected))
    assert pair == Pair("JPEGImages/a.jpg", "Annotations/a.xml", None)
    assert rejected == Rejected(
        source="Annotations/b.xml",
        reason="two annotations",
        detail="its <filename> names JPEGImages/a.jpg, which has Annotations/a.xml",
    )


def test_a_root_that_does_not_exist(tmp_path, run_transform):
    with pytest.raises(ConfigError, match="nowhere' does not exist"):
        run_transform(ReadVoc(str(tmp_path / "nowhere")))
