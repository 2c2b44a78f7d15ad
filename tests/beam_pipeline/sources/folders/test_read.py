"""Class folders: what becomes a record, with which class and split, and what does not."""

from pathlib import Path

import pytest

from beam_pipeline.errors import ConfigError
from beam_pipeline.records import Array, Audio, ClassLabel, FileRef, Record, Rejected
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


def test_every_file_of_a_tree_is_accounted_for(make_tree, run_transform):
    root = make_tree(
        {
            "train/cat/1.jpg": "not looked at",
            "train/cat/2.jpg": "",
            "train/dog/1.png": "",
            "val/dog/1.jpg": "",
            "val/lost.jpg": "",
            "LICENSE": "",
            "docs/jpg": "",
            "docs/song.wav": "",
            "__MACOSX/train/cat/1.jpg": "",
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
    rejected = {item.source: item for item in elements if isinstance(item, Rejected)}
    assert {source: (item.reason, item.bad) for source, item in rejected.items()} == {
        "val/lost.jpg": ("no class folder", True),
        "LICENSE": ("not an image file", False),
        "docs/jpg": ("not an image file", False),
        "docs/song.wav": ("not an image file", False),
    }


@pytest.mark.parametrize(
    ("suffix", "kind", "value"), [("flac", "audio", Audio), ("npz", "array", Array)]
)
def test_sounds_and_arrays(make_tree, run_transform, suffix, kind, value):
    root = make_tree({f"cat/1.{suffix}": "", f"dog/a/2.{suffix}": "", "cat/1.jpg": ""})
    elements = run_transform(ReadClassFolders(root))
    assert [item for item in elements if isinstance(item, Rejected)] == [
        Rejected(
            source="cat/1.jpg",
            reason=f"not an {kind} file",
            detail=f"its suffix is not an {kind}'s",
            bad=False,
        )
    ]
    records = {item.key: dict(item.features) for item in elements if isinstance(item, Record)}
    assert records == {
        path: {kind: value(file=FileRef(path=f"{root}/{path}")), "label": ClassLabel(label)}
        for path, label in ((f"cat/1.{suffix}", "cat"), (f"dog/a/2.{suffix}", "dog"))
    }


def test_files_in_one_folder_have_no_labels(make_tree, run_transform):
    root = make_tree({"1.wav": "", "2.wav": "", "notes.txt": ""})
    elements = run_transform(ReadClassFolders(root))
    records = {item.key: dict(item.features) for item in elements if isinstance(item, Record)}
    assert records == {
        name: {"audio": Audio(file=FileRef(path=f"{root}/{name}"))} for name in ("1.wav", "2.wav")
    }


def test_a_pattern_says_what_paths_mean(make_tree, run_transform):
    root = make_tree(
        {"0_theo_3.wav": "", "a/1_jackson_12.wav": "", "1_x.wav": "", "README_a_b.md": ""}
    )
    elements = run_transform(ReadClassFolders(root, path_pattern="{label}_{speaker}_{index}"))
    records = {item.key: dict(item.features) for item in elements if isinstance(item, Record)}
    assert records == {
        path: {
            "audio": Audio(file=FileRef(path=f"{root}/{path}")),
            "label": ClassLabel(label),
            "speaker": speaker,
            "index": index,
        }
        for path, label, speaker, index in (
            ("0_theo_3.wav", "0", "theo", 3),
            ("a/1_jackson_12.wav", "1", "jackson", 12),
        )
    }
    rejected = {item.source: item for item in elements if isinstance(item, Rejected)}
    assert {source: (item.reason, item.bad) for source, item in rejected.items()} == {
        "1_x.wav": ("does not match the pattern", True),
        "README_a_b.md": ("not an audio file", False),
    }
    assert rejected["1_x.wav"].detail == (
        "'1_x', which is it without folder and suffix, does not fit '{label}_{speaker}_{index}'"
    )


@pytest.mark.parametrize(
    ("files", "pattern", "columns", "splits"),
    [
        pytest.param(
            ["a/07.jpg", "a/1.jpg"], "{n}", [{"n": "07"}, {"n": "1"}], [None, None],
            id="zeros are text",
        ),
        pytest.param(
            ["1.5x.jpg", "2x.jpg"], "{n}x", [{"n": 1.5}, {"n": 2.0}], [None, None], id="float",
        ),
        pytest.param(
            ["test/1.jpg", "train/2.jpg"], "{n}", [{"n": 1}, {"n": 2}], ["test", "train"],
            id="folders of splits",
        ),
        pytest.param(
            ["1.jpg", "train/2.jpg"], "{n}", [{"n": 1}, {"n": 2}], [None, None], id="not all are",
        ),
        pytest.param(
            ["dev/cat/1.jpg", "train/dog/2.jpg"], "{split}/{label}/{_}",
            [{"label": ClassLabel("cat")}, {"label": ClassLabel("dog")}], ["dev", "train"],
            id="a split in the pattern",
        ),
        pytest.param(
            ["test/a/1.jpg", "train/a/2.jpg"], "{part}/{_}/{n}",
            [{"part": "test", "n": 1}, {"part": "train", "n": 2}], [None, None],
            id="folders that the pattern names",
        ),
    ],
)  # fmt: skip
def test_columns_and_splits_of_a_pattern(make_tree, run_transform, files, pattern, columns, splits):
    elements = run_transform(
        ReadClassFolders(make_tree(dict.fromkeys(files, "")), path_pattern=pattern)
    )
    elements.sort(key=lambda record: record.key)
    assert [record.key for record in elements] == files
    assert [record.split for record in elements] == splits
    assert [
        {name: value for name, value in record.features.items() if name != "image"}
        for record in elements
    ] == columns


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


def test_links_are_followed_but_not_back_up(make_tree, run_transform):
    root = Path(make_tree({"cat/1.jpg": "", "dog/2.jpg": ""}))
    (root / "cat/all").symlink_to(root)
    (root / "bird").symlink_to(root / "dog")
    elements = run_transform(ReadClassFolders(str(root)))
    assert {record.key for record in elements} == {"cat/1.jpg", "dog/2.jpg", "bird/2.jpg"}


def test_a_remote_folder_is_listed_in_parts(bucket, run_transform):
    url, store = bucket
    for name in ("train/cat/1.jpg", "train/dog/2.jpg", "test/cat/3.jpg", "4.jpg", "note.txt"):
        store.put(f"{url}/in/{name}", b"1")
    store.forget()
    elements = run_transform(ReadClassFolders(f"{url}/in"))
    records = {each.key: each.split for each in elements if isinstance(each, Record)}
    assert records == {
        "train/cat/1.jpg": "train",
        "train/dog/2.jpg": "train",
        "test/cat/3.jpg": "test",
    }
    rejects = {each.source: each.reason for each in elements if isinstance(each, Rejected)}
    assert rejects == {"4.jpg": "no class folder", "note.txt": "not an image file"}
    # Whether it is a folder; its own level; train and test: each file is listed once.
    assert store.calls["list"] <= 4
