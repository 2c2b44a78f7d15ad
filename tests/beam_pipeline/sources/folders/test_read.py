"""Class folders: which folder is a class or a split, links, and folders of a store."""

from pathlib import Path

import pytest
from eager_runner import yielded

from beam_pipeline.records import Record, Rejected
from beam_pipeline.sources.folders.profile import (
    main_kind,
    merge_profiles,
    profile_of,
)
from beam_pipeline.sources.folders.read import ReadClassFolders, placed

# Which folder of a path is its class.
CLASSES = 0
SPLITS = 1


def named(path):
    """A listing of one file."""
    folder, _, name = path.rpartition("/")
    return folder, [name]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(["cat/1.jpg", "dog/2.jpg"], False, id="classes"),
        pytest.param(["train/cat/1.jpg", "val/dog/2.jpg"], True, id="splits"),
        pytest.param(["Train/cat/1.jpg", "TEST2017/dog/2.jpg"], True, id="any case, with a year"),
        pytest.param(["training_set/cat/1.jpg", "dev/cat/2.jpg"], True, id="other names"),
        pytest.param(["train/1.jpg", "test/2.jpg"], False, id="no folder below the splits"),
        pytest.param(["train/cat/1.jpg", "bus/red/2.jpg"], False, id="train is a class"),
        pytest.param(["train/cat/1.jpg", "test/2.jpg"], True, id="one image lies too high"),
        pytest.param(["train/cat/1.jpg", "logo.png"], True, id="an image at the top"),
        pytest.param([], False, id="nothing"),
    ],
)
def test_in_splits(files, expected):
    parts = [profile_of([named(file)]) for file in files]
    merged = merge_profiles(parts)
    assert merged["image"].in_splits is expected
    assert merged == profile_of(map(named, files))


@pytest.mark.parametrize(
    ("folder", "class_depth", "expected"),
    [
        pytest.param("cat", CLASSES, (None, "cat"), id="class"),
        pytest.param("cat/indoor/new", CLASSES, (None, "cat"), id="the first folder is it"),
        pytest.param("Val/cat", SPLITS, ("Val", "cat"), id="split as written"),
        pytest.param("train/cat/a", SPLITS, ("train", "cat"), id="the first below the split"),
        pytest.param("black cat", CLASSES, (None, "black cat"), id="a space"),
        pytest.param("", CLASSES, None, id="at the top"),
        pytest.param("train", SPLITS, None, id="in a split alone"),
    ],
)
def test_placed(folder, class_depth, expected):
    place = placed(folder, class_depth)
    assert (place and (place[0], place[1]["label"].name)) == expected


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        pytest.param(["a/1.jpg", "a/2.png", "a/3.wav"], "image", id="images"),
        pytest.param(["a/1.jpg", "a/2.mp3", "a/3.WAV"], "audio", id="sounds"),
        pytest.param(["a/1.au", "a/2.au", "a/3.jpg"], "audio", id="sounds to be refused by name"),
        pytest.param(["a/1.npy", "a/2.npz", "3.jpg"], "array", id="arrays"),
        pytest.param(["a/1.npy", "a/2.wav", "3.jpg"], "image", id="as many of each"),
        pytest.param(["README", "jpg", "a/wav"], "image", id="none"),
    ],
)
def test_main_kind(files, kind):
    assert main_kind(profile_of(map(named, files))) == kind


def test_a_relative_root_gives_absolute_paths(make_tree, monkeypatch):
    root = make_tree({"cat/1.jpg": ""})
    monkeypatch.chdir(root)
    (record,) = yielded(ReadClassFolders(".", one_class=True))
    assert (record.key, record.features["image"].file.path) == ("cat/1.jpg", f"{root}/cat/1.jpg")


def test_links_are_followed_but_not_back_up(make_tree):
    root = Path(make_tree({"cat/1.jpg": "", "dog/2.jpg": ""}))
    (root / "cat/all").symlink_to(root)
    (root / "bird").symlink_to(root / "dog")
    elements = yielded(ReadClassFolders(str(root)))
    assert {record.key for record in elements} == {"cat/1.jpg", "dog/2.jpg", "bird/2.jpg"}


def test_a_remote_folder_is_listed_in_parts(bucket):
    url, store = bucket
    for name in ("train/cat/1.jpg", "train/dog/2.jpg", "test/cat/3.jpg", "4.jpg", "note.txt"):
        store.put(f"{url}/in/{name}", b"1")
    store.forget()
    elements = yielded(ReadClassFolders(f"{url}/in"))
    records = {each.key: each.split for each in elements if isinstance(each, Record)}
    assert records == {
        "train/cat/1.jpg": "train",
        "train/dog/2.jpg": "train",
        "test/cat/3.jpg": "test",
    }
    rejects = {each.source: each.reason for each in elements if isinstance(each, Rejected)}
    assert rejects == {"4.jpg": "no class folder", "note.txt": "data not read"}
    # Whether it is a folder; its own level; train and test: each file is listed once.
    assert store.calls["list"] <= 4
