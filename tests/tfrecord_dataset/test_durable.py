"""Files that are on disk before their names; power cuts are tested in write/."""

import os

import pytest

from tfrecord_dataset import durable


def test_a_file_takes_its_name_whole(tmp_path):
    file = tmp_path / "a"
    durable.write(str(file), b"old")
    with pytest.raises(TypeError), durable.replacing(str(file)) as handle:
        handle.write("text")
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_tree_is_synced_from_the_ground_up(tmp_path, monkeypatch):
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/file").write_bytes(b"1")
    (tmp_path / "a/link").symlink_to("nowhere")
    synced = []
    monkeypatch.setattr(durable, "sync", synced.append)
    durable.sync_tree(str(tmp_path))
    assert synced == [str(tmp_path / each) for each in ("a/b/file", "a/b", "a", "")]


def test_folders_that_are_made_are_on_disk_with_those_above(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(durable, "sync", synced.append)
    for _ in range(2):
        durable.make_folders(str(tmp_path / "a/b/"))
    assert (tmp_path / "a/b").is_dir()
    assert synced == [str(tmp_path), str(tmp_path / "a")]
    monkeypatch.chdir(tmp_path)
    durable.make_folders("c/d")
    assert synced[2:] == ["", "c"]


def test_a_full_disk_is_named():
    with (
        pytest.raises(OSError, match="No space left on device: 'data/cells'"),
        durable.naming_full_disk("data/cells"),
        open("/dev/full", "wb", buffering=0) as file,
    ):
        file.write(b"a")


def folders(tmp_path):
    """A new folder with the content "new", and the path of an older one with "old"."""
    new, place = tmp_path / "work/new", tmp_path / "place"
    for folder, text in ((new, "new"), (place, "old")):
        folder.mkdir(parents=True)
        (folder / "file").write_text(text)
    return new, place


def test_two_folders_are_exchanged(tmp_path):
    new, place = folders(tmp_path)
    assert durable.exchange(str(new), str(place))
    assert (new / "file").read_text() == "old"
    assert not durable.exchange(str(new), str(tmp_path / "nowhere"))


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_new_folder_takes_the_place(tmp_path, monkeypatch, can_exchange):
    new, place = folders(tmp_path)
    place.chmod(0o750)
    if not can_exchange:
        monkeypatch.setattr(durable, "exchange", lambda *_: False)
    durable.replace_folder(str(new), str(place))
    assert (place / "file").read_text() == "new"
    assert place.stat().st_mode & 0o777 == 0o750
    assert os.listdir(tmp_path / "work") == (["new"] if can_exchange else [])


def test_a_rename_that_fails_is_undone(tmp_path, monkeypatch):
    new, place = folders(tmp_path)
    rename = os.rename

    def rename_once(*names):
        monkeypatch.setattr(os, "rename", failing)
        rename(*names)

    def failing(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(
        durable, "exchange", lambda *_: monkeypatch.setattr(os, "rename", rename_once)
    )
    with pytest.raises(OSError, match="Input/output"):
        durable.replace_folder(str(new), str(place))
    assert not place.exists()
    monkeypatch.undo()
    durable.restore_folder(str(new), str(place))
    assert (place / "file").read_text() == "old"
    assert (new / "file").read_text() == "new"
