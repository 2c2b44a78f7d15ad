"""Pascal VOC trees become records: images, their image sets, and what is left over."""

import collections

import pytest

from beam_pipeline.errors import ConfigError
from beam_pipeline.records import Record, Rejected
from beam_pipeline.sources.voc.files import list_voc
from beam_pipeline.sources.voc.read import ReadVoc, read_pairs
from beam_pipeline.sources.voc.sets import choose_lists, is_class_list, listed_names


def annotation(*names: str, filename: str = "") -> str:
    """Things of these names, each in a box."""
    box = "<bndbox><xmin>1</xmin><ymin>2</ymin><xmax>30</xmax><ymax>40</ymax></bndbox>"
    things = "".join(f"<object><name>{name}</name>{box}</object>" for name in names)
    return f"<annotation><filename>{filename}</filename>{things}</annotation>"


def read(root):
    """What the source yields, without a pipeline around: records by key, rejects by source."""
    elements = [item for batch in list_voc(root) for item in read_pairs(batch, root)]
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
    lists, ignored = choose_lists({f"VOC/ImageSets/{name}.txt": "a\n" for name in names})
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


def test_the_transform_reads_a_tree(make_tree, run_transform):
    count = 600  # more than a batch
    root = make_tree(
        {f"Annotations/{n}.xml": annotation("dog", "cat") for n in range(count)}
        | {f"JPEGImages/{n}.jpg": "" for n in range(count)}
        | {"README": ""}
    )
    elements = run_transform(ReadVoc(root))
    records = [item for item in elements if isinstance(item, Record)]
    assert {record.key for record in records} == {f"JPEGImages/{n}.jpg" for n in range(count)}
    labels = collections.Counter(
        label for record in records for label in record.features["boxes"].labels
    )
    assert labels == {"dog": count, "cat": count}
    assert len(elements) == count + 1


def test_the_listing_order_does_not_matter(make_tree, monkeypatch):
    from beam_pipeline.files import storage

    root = make_tree(
        {
            "Annotations/a.xml": annotation(filename="b.jpg"),
            "Annotations/c.xml": annotation(filename="b.jpg"),
        }
        | {"images/a.jpg": "", "images/a.png": "", "images/b.jpg": "", "x.jpg": ""}
    )
    there = list(storage.list_files(root))
    results = []
    for files in (there, there[::-1]):
        monkeypatch.setattr(storage, "list_files", lambda _, files=files: iter(files))
        results.append([item for batch in list_voc(root) for item in batch])
    assert results[0] == results[1]


def test_a_root_that_does_not_exist(tmp_path, run_transform):
    with pytest.raises(ConfigError, match="nowhere' does not exist"):
        run_transform(ReadVoc(str(tmp_path / "nowhere")))
