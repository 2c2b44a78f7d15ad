"""What is said where no layout or several are found, and where the one asked for does not fit."""

import re

import pytest

from beam_pipeline.errors import ConfigError
from beam_pipeline.sources import detection

XML = "<annotation><filename>a.jpg</filename></annotation>"
BOX = "0 0.5 0.5 0.2 0.4\n"
CSV = "image,label\nimages/a.jpg,cat\n"
CLASS_FOLDERS = {"cat/1.jpg": "", "dog/2.jpg": ""}


@pytest.mark.parametrize(
    ("texts", "below", "message"),
    [
        pytest.param({}, "nowhere", "the input '.*nowhere' does not exist", id="no such path"),
        pytest.param({"a.bin": ""}, "a.bin", r"another suffix: looked for \.csv", id="suffix"),
        pytest.param({"a.jpg": ""}, "*.png", "does not exist", id="a pattern of nothing"),
        pytest.param(
            {"a.tar": "", "b.npz": ""},
            "*",
            r"fits 2 files .* not all of one of the layouts tar, arrays, tfrecord",
            id="mixed pattern",
        ),
        pytest.param({"a.jpg": ""}, "*.jpg", "cannot tell the layout", id="a pattern of images"),
        pytest.param(
            {"a.tar.gz": ""}, "a.tar.gz", "decompressing all before it; decompress it", id="tar.gz"
        ),
        pytest.param(
            {"a.tgz": "", "b.txt": ""}, "", r"a\.tgz: no byte range", id="tgz in a folder"
        ),
        pytest.param(
            {"flowers.tar": "", "flowers/rose/1.jpg": "", "flowers/lily/1.jpg": ""},
            "",
            r"2 ways: tar: 1 file \(flowers\.tar\); folders: 1 class folder",
            id="a tar beside what was in it",
        ),
        pytest.param(
            {"a.json": "[]"}, "a.json", "does not begin like coco files", id="another JSON"
        ),
        pytest.param(
            {"a.bin": "", "b/c.bin": ""},
            "",
            r"cannot tell .* holds 1 folder \(b\) and 1 file \(a\.bin\); looked for .*"
            r"\(voc\).*--layout",
            id="nothing known",
        ),
        pytest.param(
            {"images/1.jpg": "", "masks/1.bin": ""},
            "",
            "images/ is no class by its name; give .*/images alone",
            id="annotated",
        ),
        pytest.param(
            {"rows.csv": CSV} | CLASS_FOLDERS,
            "",
            r"2 ways: csv: rows\.csv; folders: 2 class folders \(cat, dog\); choose with --layout",
            id="a table beside class folders",
        ),
        pytest.param(
            {"annotations.xml": "<?xml?>\n<annotations>\n  <version>1.1", "images/1.jpg": ""},
            "",
            "its XML is CVAT's own, .* as COCO 1.0 or Pascal VOC",
            id="CVAT",
        ),
        pytest.param({"a.csv": "x,y\n", "b.bin": ""}, "", "cannot tell", id="what is the data"),
        pytest.param(
            {"train/1.jpg": "", "test/1.jpg": ""},
            "",
            r"test/, train/ are splits without class folders; pass --path-pattern '{split}/{_}'",
            id="only splits",
        ),
        pytest.param(
            {"images/1.jpg": "", "labels/1.png": ""}, "", "images/ is no class", id="masks"
        ),
        pytest.param(
            {"Annotations/a.xml": XML, "labels/a.txt": BOX, "images/a.jpg": ""},
            "",
            r"2 ways: voc: 1 XML file in Annotations/; yolo: 1 label file .*--layout",
            id="two layouts",
        ),
        pytest.param(
            {"a.csv": CSV, "b.csv": CSV},
            "",
            r"2 ways: csv: a\.csv; csv: b\.csv; give one of them, such as /.*/b\.csv, or "
            "move the others elsewhere$",
            id="two tables",
        ),
        pytest.param(
            {"train.csv": CSV, "test.csv": CSV, "sample_submission.csv": CSV},
            "",
            r"3 ways: .*; give one of them, such as /.*/train\.csv, or move "
            r"sample_submission\.csv elsewhere to read test\.csv and train\.csv$",
            id="Kaggle's tables",
        ),
    ],
)
def test_what_cannot_be_told(make_tree, texts, below, message):
    root = make_tree(texts)
    with pytest.raises(ConfigError, match=message):
        detection.detect(f"{root}/{below}" if below else root)


@pytest.mark.parametrize(
    ("texts", "name", "found"),
    [
        pytest.param({"a/b/c/d/e/f/1.xml": XML}, "voc", r"a/b/c/d/e/f/1\.xml", id="deep"),
        pytest.param(
            {"labels/1.txt": "", "images/1.jpg": ""}, "yolo", r"labels/1\.txt", id="empty"
        ),
        pytest.param(
            {"ids.csv": "id,label\n1,2\n", "a.bin": ""}, "csv", r"ids\.csv", id="no image names"
        ),
        pytest.param({"a.json": '{"x": 1}'}, "coco", r"a\.json", id="other keys first"),
    ],
)
def test_what_is_told_need_not_look_typical(make_tree, texts, name, found):
    root = make_tree(texts)
    resolved = detection.resolve(root, name)
    assert (resolved.layout.name, resolved.path) == (name, root)
    assert re.fullmatch(f"{name}: {found}", resolved.summary)


def test_naming_the_layout_of_several_tables_does_not_choose_one(make_tree):
    root = make_tree({"train.csv": CSV, "notes.csv": CSV})
    with pytest.raises(ConfigError, match=r"move notes\.csv elsewhere to read train\.csv$"):
        detection.resolve(root, "csv")


@pytest.mark.parametrize("name", ["coco", "voc", "yolo", "csv", "jsonl", "tar", "arrays"])
def test_class_folders_are_nothing_else(make_tree, name):
    with pytest.raises(ConfigError):
        detection.resolve(make_tree(CLASS_FOLDERS), name)


@pytest.mark.parametrize(
    ("name", "below", "message"),
    [
        pytest.param(
            "voc", "", r"--layout voc does not fit .* holds 0 folders and 1 file", id="voc"
        ),
        pytest.param("folders", "rows.csv", "needs a folder", id="a file for folders"),
        pytest.param(
            "parquet", "", "'parquet' cannot be used: choose from auto, folders", id="unknown"
        ),
        pytest.param("csv", "nowhere.csv", "does not exist", id="no such path"),
        pytest.param("csv", "*.csv", "--layout csv takes no pattern", id="pattern"),
        pytest.param("tar", "", "--layout tar does not fit", id="tar"),
    ],
)
def test_what_does_not_fit(make_tree, name, below, message):
    root = make_tree({"rows.csv": CSV})
    with pytest.raises(ConfigError, match=message):
        detection.resolve(f"{root}/{below}", name)
