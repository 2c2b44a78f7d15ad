"""Listing of class folders: relative roots, links and remote folders."""

from pathlib import Path

from eager_runner import yielded

from beam_pipeline.config import BuildConfig
from beam_pipeline.records import Record, Rejected
from beam_pipeline.sources.folders.read_folders import ReadClassFolders
from beam_pipeline.sources.inputs import detect


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


def test_lists_of_splits_are_splits(make_tree):
    images = dict.fromkeys(("cat/1.jpg", "dog/1.jpg", "dog/2.jpg"), "")
    root = make_tree({"train.txt": "cat/1.jpg\ndog/1.jpg\n", "test.txt": "dog/2.jpg\n"} | images)
    assert ("splits", "test, train") in detect(BuildConfig(input=root)).understood


def test_a_remote_folder_is_listed_in_parts(bucket):
    url, store = bucket
    for name in ("train/cat/1.jpg", "train/dog/2.jpg", "test/cat/3.jpg", "4.jpg", "note.txt"):
        store.put(f"{url}/in/{name}", b"1")
    store.forget()
    elements = yielded(ReadClassFolders(f"{url}/in"))
    records = {element.key: element.split for element in elements if isinstance(element, Record)}
    assert records == {
        "train/cat/1.jpg": "train",
        "train/dog/2.jpg": "train",
        "test/cat/3.jpg": "test",
    }
    rejects = {
        element.source: element.reason for element in elements if isinstance(element, Rejected)
    }
    assert rejects == {"4.jpg": "no class folder"}
    # Each file is listed once: is_directory, the top level, train and test.
    assert store.calls["list"] <= 4
