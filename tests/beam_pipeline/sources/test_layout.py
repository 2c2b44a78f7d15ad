"""Which layout is found in which tree, and what is said where none or several are."""

import gzip
import os
import re
from pathlib import Path

import pytest

from beam_pipeline.errors import ConfigError
from beam_pipeline.frames import framed
from beam_pipeline.sources import layout
from beam_pipeline.sources.tree import Tree

XML = "<annotation><filename>a.jpg</filename></annotation>"
BOX = "0 0.5 0.5 0.2 0.4\n"
COCO = '{"info": {}, "images": [], "annotations": [], "categories": []}'
CSV = "image,label\npictures/a.jpg,cat\n"
JSON_LINES = '{"file_name": "a.jpg", "label": "cat"}\n'

CLASS_FOLDERS = {"cat/1.jpg": "", "dog/2.jpg": ""}

# Tree, layout, path below the input, what is said of it.
TREES = [
    pytest.param(CLASS_FOLDERS, "folders", "", "2 class folders (cat, dog)", id="class folders"),
    pytest.param(
        {f"{split}/{name}/1.jpg": "" for split in ("train", "val") for name in "abcde"},
        "folders",
        "",
        "5 class folders (a, b, c, d, …) in train, val",
        id="class folders in splits",
    ),
    pytest.param(
        {"flowers/rose/1.jpg": "", "flowers/lily/1.jpg": ""},
        "folders",
        "flowers",
        "2 class folders (lily, rose)",
        id="class folders one level deeper",
    ),
    pytest.param({"cat/1.jpg": ""}, "folders", "", "1 class folder (cat)", id="one class"),
    pytest.param(
        {"a/1.wav": "", "b/2.FLAC": "", "cover.jpg": ""},
        "folders",
        "",
        "2 class folders (a, b)",
        id="class folders of sounds",
    ),
    pytest.param(
        {"train/a/1.npy": "", "test/a/2.npy": ""},
        "folders",
        "",
        "1 class folder (a) in test, train",
        id="class folders of arrays in splits",
    ),
    pytest.param(
        {"1.jpg": "", "2.jpg": "", "README.md": ""},
        "folders",
        "",
        "2 images without class folders, so without labels",
        id="a flat folder",
    ),
    pytest.param(
        {"wavs/1.wav": "", "README.md": ""},
        "folders",
        "wavs",
        "1 sound without class folders, so without labels",
        id="a flat folder one level deeper",
    ),
    pytest.param(
        {"cat/a/b/1.jpg": "", "dog/c/2.jpg": ""},
        "folders",
        "",
        "2 class folders (cat, dog)",
        id="deep class folders",
    ),
    pytest.param(
        {
            "Annotations/a.xml": XML,
            "Annotations/b.xml": XML,
            "JPEGImages/a.jpg": "",
            "ImageSets/Main/train.txt": "a\n",
            "ImageSets/Main/val.txt": "b\n",
            "ImageSets/Main/trainval.txt": "a\nb\n",
            "ImageSets/Main/dog_train.txt": "a 1\n",
            "test.csv": CSV,
        },
        "voc",
        "",
        "2 XML files in Annotations/, image sets train, val",
        id="voc, and a manifest",
    ),
    pytest.param(
        {f"VOCdevkit/VOC20{year}/Annotations/a.xml": XML for year in ("07", "12")},
        "voc",
        "",
        "2 XML files in VOCdevkit/VOC2007/Annotations/, VOCdevkit/VOC2012/Annotations/",
        id="two years of voc",
    ),
    pytest.param(
        {"train/a.xml": XML, "train/a.jpg": "", "valid/b.xml": XML, "valid/b.jpg": ""},
        "voc",
        "",
        "2 XML files in train/, valid/",
        id="voc beside the images",
    ),
    pytest.param(
        {"data.yaml": "train: images\nnames: [a, b]\n", "images/1.jpg": "", "labels/1.txt": BOX},
        "yolo",
        "",
        "data.yaml with 2 classes, splits train",
        id="yolo",
    ),
    pytest.param(
        {"coco8/coco8.yaml": "names: {0: a}\n", "coco8/images/1.jpg": ""},
        "yolo",
        "coco8",
        "coco8.yaml with 1 class",
        id="yolo one level deeper",
    ),
    pytest.param(
        {"data.yaml": "train: nowhere\nnames: [a]\n", "images/1.jpg": ""},
        "yolo",
        "",
        "data.yaml",
        id="yolo that reading will refuse",
    ),
    pytest.param(
        {"images/train/1.jpg": "", "labels/train/1.txt": BOX, "classes.txt": "a\n"},
        "yolo",
        "",
        "1 label file in labels/train/, class names in classes.txt",
        id="yolo without data.yaml",
    ),
    pytest.param(
        {"1.jpg": "", "1.txt": "0 0.1 0.1 0.9 0.1 0.5 0.5"},
        "yolo",
        "",
        "1 label file in the top folder, no class names",
        id="yolo beside the images",
    ),
    pytest.param(
        {
            "annotations/instances_train2017.json": COCO,
            "annotations/captions_train2017.json": COCO,
            "train2017/1.jpg": "",
        },
        "coco",
        "",
        "annotations/instances_train2017.json (train)",
        id="coco",
    ),
    pytest.param(
        {f"{split}/_annotations.coco.json": COCO for split in ("train", "valid")},
        "coco",
        "",
        "train/_annotations.coco.json (train), valid/_annotations.coco.json (valid)",
        id="coco of Roboflow",
    ),
    pytest.param(
        {"labels.json": COCO, "package.json": '{"name": "a"}', "images/1.jpg": ""},
        "coco",
        "labels.json",
        "labels.json",
        id="coco and another JSON file",
    ),
    pytest.param(
        {"metadata.csv": "file_name,x\n", "other.csv": CSV, "a.jpg": ""},
        "csv",
        "metadata.csv",
        "metadata.csv",
        id="csv of Hugging Face",
    ),
    pytest.param(
        {"train/metadata.jsonl": JSON_LINES, "test/metadata.jsonl": JSON_LINES, "train/a.jpg": ""},
        "jsonl",
        "",
        "metadata.jsonl in test, train",
        id="jsonl of Hugging Face in splits",
    ),
    pytest.param(
        {"train-0.tar": "", "train-1.tar": "", "val-0.tar": "", "0_stats.json": "{}"},
        "tar",
        "",
        "3 files (train-0.tar, train-1.tar, val-0.tar) in train, val",
        id="tars",
    ),
    pytest.param(
        {"train-0.tar": "", "validate-0.tar": ""},
        "tar",
        "",
        "2 files (train-0.tar, validate-0.tar); no splits, since train-0.tar states one and "
        "validate-0.tar none",
        id="tars of which some state splits",
    ),
    pytest.param(
        {"shards/0.tar": "", "shards/1.tar": ""},
        "tar",
        "",
        "2 files (shards/0.tar, shards/1.tar)",
        id="tars in a folder",
    ),
    pytest.param({"x.npy": "", "y.npy": ""}, "arrays", "", "2 files (x.npy, y.npy)", id="npy"),
    pytest.param(
        {"train/x.npy": "", "test/x.npy": ""},
        "arrays",
        "",
        "2 files (test/x.npy, train/x.npy) in test, train",
        id="arrays in splits",
    ),
    pytest.param(
        {"mnist/mnist.npz": "", "mnist/readme.md": ""},
        "arrays",
        "mnist",
        "1 file (mnist.npz)",
        id="arrays one level deeper",
    ),
    pytest.param(
        {"cat/1.npy": "", "dog/1.npz": ""},
        "folders",
        "",
        "2 class folders (cat, dog)",
        id="arrays by class",
    ),
    pytest.param(
        {"1.jpg": "", "2.jpg": "", "mean.npy": ""},
        "folders",
        "",
        "3 images without class folders, so without labels",
        id="an array beside pictures",
    ),
    pytest.param(
        {"labels.tsv": CSV.replace(",", "\t"), "pictures/a.jpg": "", "sizes.csv": "a,b\n1,2\n"},
        "csv",
        "labels.tsv",
        "labels.tsv",
        id="tsv, and a table without images",
    ),
    pytest.param(
        {"train.csv": CSV, "test.csv": CSV, "pictures/a.jpg": ""},
        "csv",
        "",
        "test.csv, train.csv",
        id="a csv a split",
    ),
    pytest.param(
        {"rows.csv": "x,y\n1,2\n", "README": ""}, "csv", "rows.csv", "rows.csv", id="a table"
    ),
    pytest.param(
        {"train.jsonl": "{}\n", "test.jsonl": "{}\n"},
        "jsonl",
        "",
        "test.jsonl, train.jsonl",
        id="a table a split",
    ),
    pytest.param(
        {"sounds.csv": "x,y\n1.wav,2\n", "1.wav": ""},
        "csv",
        "sounds.csv",
        "sounds.csv",
        id="csv of sounds",
    ),
    pytest.param(
        {"rows.ndjson": JSON_LINES} | CLASS_FOLDERS,
        "jsonl",
        "rows.ndjson",
        "rows.ndjson",
        id="jsonl before class folders",
    ),
]


@pytest.mark.parametrize(("texts", "name", "path", "what"), TREES)
def test_detect(make_tree, texts, name, path, what):
    root = make_tree(texts)
    found = layout.detect(root)
    assert found == layout.Layout(
        name=name, path=os.path.normpath(f"{root}/{path}"), found=f"{name}: {what}"
    )


@pytest.mark.parametrize(("texts", "name", "path", "what"), TREES)
def test_resolve_agrees_where_nothing_lies_deeper(make_tree, texts, name, path, what):
    root = make_tree(texts)
    inside = f"{root}/{path}" if os.path.isdir(f"{root}/{path}") else root
    assert layout.resolve(inside, name) == layout.detect(inside)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("rows.csv", CSV, "csv"),
        ("rows.TSV", CSV, "csv"),
        ("rows.jsonl", JSON_LINES, "jsonl"),
        ("rows.ndjson", JSON_LINES, "jsonl"),
        ("instances.json", COCO, "coco"),
        ("coco8.yaml", "names: [a]", "yolo"),
        ("train-0.tar", "", "tar"),
        ("mnist.npz", "", "arrays"),
        ("x.NPY", "", "arrays"),
    ],
)
def test_detect_a_file(make_tree, name, text, expected):
    path = f"{make_tree({name: text})}/{name}"
    found = layout.Layout(name=expected, path=path, found=f"{expected}: {name}")
    assert layout.detect(path) == layout.resolve(path, expected) == found


def write_tfrecord(path, compress=bytes):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(compress(framed(b"one record")))


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
@pytest.mark.parametrize(
    "names",
    [
        ["train.tfrecord", "val.tfrecord"],
        ["x-train.tfrecord-00000-of-00001", "x-val.tfrecord-00000-of-00001"],
        ["train-00000-of-00001", "val-00000-of-00001"],
        ["train/part.bin", "val/part.bin"],
    ],
)
def test_tfrecords_are_told_by_their_content(tmp_path, names, compress):
    for name in names:
        write_tfrecord(tmp_path / name, compress)
    found = layout.detect(str(tmp_path))
    assert (found.name, found.path) == ("tfrecord", str(tmp_path))
    assert found.found == f"tfrecord: 2 files ({', '.join(names)}) in train, val"
    assert layout.resolve(str(tmp_path), "tfrecord") == found
    one = layout.detect(str(tmp_path / names[0]))
    assert (one.name, one.path) == ("tfrecord", str(tmp_path / names[0]))


@pytest.mark.parametrize(
    ("names", "pattern", "expected"),
    [
        (["train-0.tar", "train-1.tar", "x.txt"], "train-*.tar", "tar"),
        (["a/x.npy", "b/y.npz"], "**/*.np?", "arrays"),
        (["a.tfrecord", "b.tfrecord"], "[ab].tfrecord", "tfrecord"),
    ],
)
def test_patterns(tmp_path, names, pattern, expected):
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write_tfrecord(tmp_path / name)
    found = layout.detect(f"{tmp_path}/{pattern}")
    assert (found.name, found.path) == (expected, f"{tmp_path}/{pattern}")
    assert found.found.startswith(f"{expected}: 2 files (")
    assert layout.resolve(f"{tmp_path}/{pattern}", expected).path == found.path


def test_a_compressed_manifest_is_looked_into(make_tree):
    root = make_tree({"a.jpg": "", "b.csv": "x\n"})
    Path(root, "rows.csv.gz").write_bytes(gzip.compress(CSV.encode() * 1000))
    assert layout.detect(root).found == "csv: rows.csv.gz"
    assert layout.detect(f"{root}/rows.csv.gz").name == "csv"


@pytest.mark.parametrize(
    ("texts", "below", "message"),
    [
        pytest.param({}, "nowhere", "the input '.*nowhere' does not exist", id="no such path"),
        pytest.param({"a.bin": ""}, "a.bin", r"no suffix of these: looked for \.csv", id="suffix"),
        pytest.param({"a.jpg": ""}, "*.png", "does not exist", id="a pattern of nothing"),
        pytest.param(
            {"a.tar": "", "b.npz": ""}, "*", r"fits 2 files .* not all \.tar", id="mixed pattern"
        ),
        pytest.param({"a.jpg": ""}, "*.jpg", "cannot tell the layout", id="a pattern of pictures"),
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
        pytest.param({"a.json": "[]"}, "a.json", "without COCO's keys", id="another JSON"),
        pytest.param(
            {"a.bin": "", "b/c.bin": ""},
            "",
            r"cannot tell .* holds 1 folder \(b\) and 1 file \(a\.bin\); looked for .*"
            r"\(voc\).*--layout",
            id="nothing known",
        ),
        pytest.param({"images/1.jpg": "", "masks/1.bin": ""}, "", "cannot tell", id="annotated"),
        pytest.param({"a.csv": "x,y\n", "b.bin": ""}, "", "cannot tell", id="what is the data"),
        pytest.param({"train/1.jpg": "", "test/1.jpg": ""}, "", "cannot tell", id="only splits"),
        pytest.param({"images/1.jpg": "", "labels/1.png": ""}, "", "cannot tell", id="masks"),
        pytest.param(
            {"Annotations/a.xml": XML, "labels/a.txt": BOX, "images/a.jpg": ""},
            "",
            r"2 ways: voc: 1 XML file in Annotations/; yolo: 1 label file .*--layout",
            id="two layouts",
        ),
        pytest.param(
            {"a.csv": CSV, "b.csv": CSV}, "", r"2 ways: csv: a\.csv; csv: b\.csv", id="two tables"
        ),
    ],
)
def test_what_cannot_be_told(make_tree, texts, below, message):
    root = make_tree(texts)
    with pytest.raises(ConfigError, match=message):
        layout.detect(f"{root}/{below}" if below else root)


@pytest.mark.parametrize(
    ("texts", "name", "found"),
    [
        pytest.param(
            {"train/1.jpg": "", "test/1.jpg": ""}, "folders", r"(train|test)/1\.jpg", id="folders"
        ),
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
    resolved = layout.resolve(root, name)
    assert (resolved.name, resolved.path) == (name, root)
    assert re.fullmatch(f"{name}: {found}", resolved.found)


@pytest.mark.parametrize("name", ["coco", "voc", "yolo", "csv", "jsonl", "tar", "arrays"])
def test_class_folders_are_nothing_else(make_tree, name):
    with pytest.raises(ConfigError):
        layout.resolve(make_tree(CLASS_FOLDERS), name)


@pytest.mark.parametrize(
    ("name", "below", "message"),
    [
        pytest.param(
            "voc", "", r"--layout voc does not fit .* holds 0 folders and 1 file", id="voc"
        ),
        pytest.param("folders", "rows.csv", "wants a folder", id="a file for folders"),
        pytest.param("yolo", "rows.csv", "wants a folder", id="a file for yolo"),
        pytest.param("parquet", "", "'parquet' is unknown; choose from folders", id="unknown"),
        pytest.param("csv", "nowhere.csv", "does not exist", id="no such path"),
        pytest.param("csv", "*.csv", "--layout csv takes no pattern", id="pattern"),
        pytest.param("tar", "", "--layout tar does not fit", id="tar"),
    ],
)
def test_what_does_not_fit(make_tree, name, below, message):
    root = make_tree({"rows.csv": CSV})
    with pytest.raises(ConfigError, match=message):
        layout.resolve(f"{root}/{below}", name)


def test_detection_lists_few_of_many_folders(make_tree, monkeypatch):
    root = make_tree({f"class{n}/{m}/1.jpg": "" for n in range(150) for m in range(3)})
    listed = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: listed.append(path) or scandir(path))
    found = layout.detect(root)
    assert found.found.startswith("folders: 150 class folders")
    assert len(listed) == len(set(listed)) < 300


def test_a_link_to_itself_is_a_file(make_tree):
    root = make_tree({"cat/1.jpg": "", "dog/1.jpg": ""})
    Path(root, "cat/2.jpg").symlink_to("2.jpg")
    assert layout.detect(root).name == "folders"
    assert Tree(root).look("cat").files == ("1.jpg", "2.jpg")


def test_a_remote_tree_is_listed_once(monkeypatch):
    from beam_pipeline import storage

    names = ["readme.txt", "VOC/Annotations/a.xml", "VOC/JPEGImages/a.jpg"]
    files = [storage.StoredFile(path=f"gs://b/{n}", relative=n, size=1) for n in names]
    listings = []
    monkeypatch.setattr(storage, "list_files", lambda root: listings.append(root) or iter(files))
    tree = Tree("gs://b")
    assert {relative: str(listing) for relative, listing in tree.walk()} == {
        "": "1 folder (VOC) and 1 file (readme.txt)",
        "VOC": "2 folders (Annotations, JPEGImages) and 0 files",
        "VOC/Annotations": "0 folders and 1 file (a.xml)",
        "VOC/JPEGImages": "0 folders and 1 file (a.jpg)",
    }
    assert str(tree.look("nowhere")) == "0 folders and 0 files"
    assert listings == ["gs://b"]
