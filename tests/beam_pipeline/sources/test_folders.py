"""Class folders: what becomes a record, with which class and split, and what does not."""

import pytest

from beam_pipeline.errors import ConfigError
from beam_pipeline.records import ClassLabel, FileRef, Image, Record, Rejected
from beam_pipeline.sources.folders import (
    ReadClassFolders,
    has_split_folders,
    labelled_record,
    list_class_folders,
)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(["cat/1.jpg", "dog/2.jpg"], False, id="classes"),
        pytest.param(["train/cat/1.jpg", "val/dog/2.jpg"], True, id="splits"),
        pytest.param(["Train/cat/1.jpg", "TEST2017/dog/2.jpg"], True, id="any case, with a year"),
        pytest.param(["training_set/cat/1.jpg", "dev/cat/2.jpg"], True, id="other names"),
        pytest.param(["train/1.jpg", "test/2.jpg"], False, id="no folder below the splits"),
        pytest.param(["train/cat/1.jpg", "bus/red/2.jpg"], False, id="train is a class"),
        pytest.param(["train/cat/1.jpg", "docs/readme.txt"], True, id="a folder of no images"),
        pytest.param(["train/cat/1.jpg", "test/2.jpg"], True, id="one image lies too high"),
        pytest.param(["train/cat/1.jpg", "logo.png"], True, id="an image at the top"),
        pytest.param([], False, id="nothing"),
    ],
)
def test_has_split_folders(files, expected):
    assert has_split_folders(files) is expected


@pytest.mark.parametrize(
    ("relative", "has_splits", "split", "label"),
    [
        pytest.param("cat/1.jpg", False, None, "cat", id="class"),
        pytest.param("cat/indoor/new/1.JPG", False, None, "cat", id="the first folder is it"),
        pytest.param("Val/cat/1.webp", True, "Val", "cat", id="split as written"),
        pytest.param("train/cat/a/1.tiff", True, "train", "cat", id="the first below the split"),
        pytest.param("black cat/1.png", False, None, "black cat", id="a space"),
    ],
)
def test_labelled_record(relative, has_splits, split, label):
    assert labelled_record(f"/in/{relative}", relative, has_splits=has_splits) == Record(
        key=relative,
        features={
            "image": Image(file=FileRef(path=f"/in/{relative}")),
            "label": ClassLabel(label),
        },
        split=split,
    )


@pytest.mark.parametrize(
    ("relative", "has_splits", "reason", "bad"),
    [
        pytest.param("1.jpg", False, "no class folder", True, id="at the top"),
        pytest.param("train/1.jpg", True, "no class folder", True, id="below a split"),
        pytest.param("cat/README", False, "not an image file", False, id="no suffix"),
        pytest.param("cat/jpg", False, "not an image file", False, id="only called like one"),
        pytest.param("labels.txt", True, "not an image file", False, id="text"),
    ],
)
def test_what_is_no_record(relative, has_splits, reason, bad):
    rejected = labelled_record(f"/in/{relative}", relative, has_splits=has_splits)
    assert isinstance(rejected, Rejected)
    assert (rejected.source, rejected.reason, rejected.bad) == (relative, reason, bad)


def test_every_file_of_a_tree_is_accounted_for(make_tree, run_transform):
    root = make_tree(
        {
            "train/cat/1.jpg": "not looked at",
            "train/cat/2.jpg": "",
            "train/dog/1.png": "",
            "val/dog/1.jpg": "",
            "val/lost.jpg": "",
            "LICENSE": "",
            ".hidden/cat/1.jpg": "",
        }
    )
    elements = run_transform(ReadClassFolders(root))

    records = {item.key: item for item in elements if isinstance(item, Record)}
    assert {key: (item.split, item.features["label"].name) for key, item in records.items()} == {
        "train/cat/1.jpg": ("train", "cat"),
        "train/cat/2.jpg": ("train", "cat"),
        "train/dog/1.png": ("train", "dog"),
        "val/dog/1.jpg": ("val", "dog"),
    }
    assert records["val/dog/1.jpg"].features["image"].file == FileRef(path=f"{root}/val/dog/1.jpg")
    rejected = {item.source: item.reason for item in elements if isinstance(item, Rejected)}
    assert rejected == {"val/lost.jpg": "no class folder", "LICENSE": "not an image file"}


def test_a_relative_root_gives_absolute_paths(make_tree, run_transform, monkeypatch):
    root = make_tree({"cat/1.jpg": ""})
    monkeypatch.chdir(root)
    (record,) = run_transform(ReadClassFolders("."))
    assert (record.key, record.features["image"].file.path) == ("cat/1.jpg", f"{root}/cat/1.jpg")


@pytest.mark.parametrize(
    ("below", "message"),
    [
        pytest.param("missing", r"missing' does not exist", id="missing"),
        pytest.param("cat/1.jpg", r"1\.jpg' is a file", id="a file"),
    ],
)
def test_a_root_that_is_no_folder(make_tree, run_transform, below, message):
    root = make_tree({"cat/1.jpg": ""})
    with pytest.raises(ConfigError, match=message):
        run_transform(ReadClassFolders(f"{root}/{below}"))


def test_the_listing_order_does_not_matter(make_tree, monkeypatch):
    from beam_pipeline import storage

    root = make_tree({f"train/{name}/1.jpg": "" for name in "abc"} | {"x/1.jpg": ""})
    there = list(storage.list_files(root))
    results = []
    for files in (there, there[::-1]):
        monkeypatch.setattr(storage, "list_files", lambda _, files=files: iter(files))
        results.append(sorted(list_class_folders(root), key=lambda record: record.key))
    assert results[0] == results[1]
