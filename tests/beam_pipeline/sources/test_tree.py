"""Files of an input, and the layout detected by listing few of them."""

import gzip
import os
from pathlib import Path

import pytest

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError
from beam_pipeline.problems import ProblemError
from beam_pipeline.sources.inputs import detect
from beam_pipeline.sources.paths import stem, suffix
from beam_pipeline.sources.tree import Ignored, Tree, find_files
from tfrecord_dataset.format.frames import framed


def is_tar(name):
    return name.endswith(".tar")


def found(path):
    return {file.relative: file.path for file in find_files(str(path), is_tar)}


@pytest.fixture
def tars(tmp_path):
    for name in ("b/1.tar", "a/2.tar", "3.tar", "README", ".hidden.tar", "odd [1].tar"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    return tmp_path


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("", ["3.tar", "a/2.tar", "b/1.tar", "odd [1].tar"], id="tars"),
        pytest.param("a/2.tar", ["2.tar"], id="file"),
        pytest.param("README", ["README"], id="a file of another name, given itself"),
        pytest.param("odd [1].tar", ["odd [1].tar"], id="a file that looks like a pattern"),
        pytest.param("*.tar", ["3.tar", "odd [1].tar"], id="pattern"),
        pytest.param("[ab]/?.tar", ["a/2.tar", "b/1.tar"], id="pattern of folders"),
        pytest.param("**/*", ["3.tar", "a/2.tar", "b/1.tar", "odd [1].tar"], id="all levels"),
        pytest.param("a/*.tar", ["2.tar"], id="keys start behind the last whole tars"),
    ],
)
def test_find_files(tars, path, expected):
    files = found(tars / path if path else tars)
    assert list(files) == expected
    assert all(absolute.endswith(relative) for relative, absolute in files.items())


@pytest.mark.parametrize("path", ["x.tar", "*.npz", "a/*.txt"])
def test_no_such_file(tars, path):
    with pytest.raises(ConfigError, match="has no such file"):
        found(tars / path)


def detected(path, layout="auto"):
    return detect(BuildConfig(input=str(path), layout=layout))


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
def test_tfrecords_are_recognised_by_their_content(tmp_path, names, compress):
    for name in names:
        write_tfrecord(tmp_path / name, compress)
    found = detected(str(tmp_path))
    assert (found.layout, found.path) == ("tfrecord", str(tmp_path))
    assert found.summary == f"tfrecord: 2 files ({', '.join(names)}) in train, val"
    assert detected(str(tmp_path), "tfrecord") == found
    one = detected(str(tmp_path / names[0]))
    assert (one.layout, one.path) == ("tfrecord", str(tmp_path / names[0]))


def test_detection_lists_few_of_many_folders(make_tree, monkeypatch):
    root = make_tree({f"class{n}/{m}/1.jpg": "" for n in range(150) for m in range(3)})
    listed = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: listed.append(path) or scandir(path))
    found = detected(root)
    assert found.summary.startswith("folders: 150 class folders")
    assert len(listed) == len(set(listed)) < 300


def test_a_link_to_itself_is_a_file(make_tree):
    root = make_tree({"cat/1.jpg": "", "dog/1.jpg": ""})
    Path(root, "cat/2.jpg").symlink_to("2.jpg")
    assert detected(root).layout == "folders"
    assert Tree(root).look("cat").files == ("1.jpg", "2.jpg")


def test_each_remote_folder_is_listed_once(bucket):
    url, store = bucket
    for name in ("readme.txt", "VOC/Annotations/a.xml", "VOC/JPEGImages/a.jpg"):
        store.put(f"{url}/{name}", b"1")
    tree = Tree(url)
    assert {relative: str(listing) for relative, listing in tree.walked.items()} == {
        "": "1 folder (VOC) and 1 file (readme.txt)",
        "VOC": "2 folders (Annotations, JPEGImages) and 0 files",
        "VOC/Annotations": "0 folders and 1 file (a.xml)",
        "VOC/JPEGImages": "0 folders and 1 file (a.jpg)",
    }
    assert str(tree.look("nowhere")) == "0 folders and 0 files"
    assert tree.look("VOC/Annotations").files == ("a.xml",)
    assert store.calls == {"list": 5}


def test_a_large_remote_folder_is_not_listed_whole(bucket):
    url, store = bucket
    for number in range(150):
        for file in range(30):
            store.put(f"{url}/{number:03d}/{file}.jpg", b"1")
    store.latency_s = 0.3  # long enough for all threads to overlap
    assert Tree(url).walked
    assert store.calls["list"] == 2 + 40  # a page of the top, its folders, 40 of them
    assert store.most_at_once > 20


def test_a_remote_level_is_looked_at_with_few_requests(bucket):
    url, store = bucket
    for number in range(1500):
        store.put(f"{url}/images/{number:04}.jpg", b"1")
    store.put(f"{url}/labels.csv", b"1")
    store.forget()
    tree = Tree(url)
    assert (tree.look().folders, tree.look().files) == (("images",), ("labels.csv",))
    assert store.calls["list"] <= 2
    assert 200 < len(tree.look("images").files) < 600


def test_of_many_files_a_part_is_kept_and_of_few_all(tmp_path):
    for number in range(1000):
        (tmp_path / f"{number:06}.jpg").touch()
        (tmp_path / f"{number:06}.txt").touch()
    (tmp_path / "labels.csv").touch()
    (tmp_path / "masks").mkdir()
    tree = Tree(str(tmp_path))
    listing = tree.look()
    assert listing.folders == ("masks",)
    assert "labels.csv" in listing.files
    by_suffix = {
        ending: {stem(name) for name in listing.files if suffix(name) == ending}
        for ending in ("jpg", "txt")
    }
    assert 200 < len(by_suffix["jpg"]) < 600
    assert by_suffix["jpg"] == by_suffix["txt"]
    assert (listing.is_whole, tree.at_least) == (False, "at least ")


def test_a_table_with_more_rows_than_there_are_recordings_is_a_question(make_tree):
    houses = "price,rooms\n" + "".join(f"{1000 * n},{n % 7 + 1}\n" for n in range(100))
    root = make_tree({"houses.csv": houses, **{f"sounds/{n}.wav": "" for n in range(1, 8)}})
    with pytest.raises(ProblemError, match=r"7 audio files .*csv \(houses.csv\).* folders or csv"):
        detected(root)
    assert detected(root, "csv").reads == ("houses.csv",)


def test_a_short_table_next_to_images_raises_no_question(make_tree):
    notes = "day,weather\nmonday,rain\ntuesday,sun\n"
    root = make_tree({"notes.csv": notes, **{f"images/{n}.jpg": "" for n in range(10)}})
    assert detected(root).layout == "folders"


@pytest.mark.parametrize(
    ("pattern", "left_out"),
    [
        ("a.txt", ["a.txt", "old/a.txt", "x/old/a.txt"]),
        ("old", ["old/a.txt", "x/old/a.txt"]),
        ("old/*.txt", ["old/a.txt", "x/old/a.txt"]),
        ("/a.txt", ["a.txt"]),
        ("/old", ["old/a.txt"]),
        ("/*/old", ["x/old/a.txt"]),
        ("/x/old/a.txt/", ["x/old/a.txt"]),
    ],
)
def test_patterns_to_ignore(pattern, left_out):
    paths = ["a.txt", "old/a.txt", "x/old/a.txt", "x/b.txt"]
    assert [path for path in paths if Ignored((pattern,))(path)] == left_out
    assert Ignored((pattern,), base="x")("b.txt") is False


def test_the_pattern_of_one_file_is_exact():
    inner = Ignored(base="x").only("[1].txt")
    assert [Ignored((inner,))(path) for path in ("x/[1].txt", "[1].txt", "y/x/[1].txt")] == [
        True,
        False,
        False,
    ]
