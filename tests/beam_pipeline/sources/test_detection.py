"""Which layout is found in which tree, and what is said of it."""

import os

import pytest

from beam_pipeline.sources import detection

XML = "<annotation><filename>a.jpg</filename></annotation>"
BOX = "0 0.5 0.5 0.2 0.4\n"
COCO = '{"info": {}, "images": [], "annotations": [], "categories": []}'
CSV = "image,label\nimages/a.jpg,cat\n"
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
        {"bed/1.wav": "", "validation_list.txt": "bed/1.wav\n", "words.txt": ""},
        "folders",
        "",
        "1 class folder (bed); lists such as validation_list.txt are not read, so there are no "
        "splits",
        id="lists beside class folders",
    ),
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
        "1 audio file without class folders, so without labels",
        id="a flat folder one level deeper",
    ),
    pytest.param(
        {"cat/a/b/1.jpg": "", "dog/2.jpg": ""},
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
        "",
        "labels.json",
        id="coco and another JSON file",
    ),
    pytest.param(
        {
            "labels.json": COCO,
            "dataset-metadata.json": '{"id": "a/b", "licenses": [{"name": "CC0-1.0"}], "info": {}}',
            "notes.json": '{"categories": [{"id": 0, "name": "cat"}], "info": {"year": 2023}}',
            "data/1.jpg": "",
        },
        "coco",
        "",
        "labels.json",
        id="coco of FiftyOne, and JSON with some of its keys",
    ),
    pytest.param(
        {
            "notes.json": '{"categories": [{"id": 0, "name": "cat"}], "info": {"year": 2023}}',
            "classes.txt": "cat\n",
            "images/1.jpg": "",
            "labels/1.txt": BOX,
        },
        "yolo",
        "",
        "1 label file in labels/, class names in classes.txt",
        id="yolo of Label Studio",
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
        "2 images without class folders, so without labels",
        id="an array beside images",
    ),
    pytest.param(
        {"labels.tsv": CSV.replace(",", "\t"), "images/a.jpg": "", "sizes.csv": "a,b\n1,2\n"},
        "csv",
        "labels.tsv",
        "labels.tsv",
        id="tsv, and a table without images",
    ),
    pytest.param(
        {"train.csv": CSV, "test.csv": CSV, "images/a.jpg": ""},
        "csv",
        "",
        "test.csv, train.csv",
        id="a csv a split",
    ),
    pytest.param(
        {"mnist_train.csv": "x,y\n1,2\n", "mnist_test.csv": "x,y\n1,2\n"},
        "csv",
        "",
        "mnist_test.csv, mnist_train.csv",
        id="tables called in part after a split",
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
        {"rows.ndjson": JSON_LINES, "images/a.jpg": "", "images/b.jpg": ""},
        "jsonl",
        "rows.ndjson",
        "rows.ndjson",
        id="jsonl before a folder of images",
    ),
]


@pytest.mark.parametrize(("texts", "name", "path", "what"), TREES)
def test_detect(make_tree, texts, name, path, what):
    root = make_tree(texts)
    found = detection.detect(root)
    assert (found.layout.name, found.path, found.summary) == (
        name,
        os.path.normpath(f"{root}/{path}"),
        f"{name}: {what}",
    )


@pytest.mark.parametrize(("texts", "name", "path", "what"), TREES)
def test_resolve_agrees_where_nothing_lies_deeper(make_tree, texts, name, path, what):
    root = make_tree(texts)
    inside = f"{root}/{path}" if os.path.isdir(f"{root}/{path}") else root
    assert detection.resolve(inside, name) == detection.detect(inside)
