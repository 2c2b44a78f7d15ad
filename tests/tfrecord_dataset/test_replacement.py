"""Replacement of a folder by another one; power cuts are tested in write/."""

import os

import pytest

from tfrecord_dataset import replacement


def folders(tmp_path):
    """A new folder with the content "new", and the path of an older one with "old"."""
    new, place = tmp_path / "work/new", tmp_path / "place"
    for folder, text in ((new, "new"), (place, "old")):
        folder.mkdir(parents=True)
        (folder / "file").write_text(text)
    return new, place


def test_two_folders_are_exchanged(tmp_path):
    new, place = folders(tmp_path)
    assert replacement.exchange(str(new), str(place))
    assert (new / "file").read_text() == "old"
    assert not replacement.exchange(str(new), str(tmp_path / "nowhere"))


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_new_folder_takes_the_place(tmp_path, monkeypatch, can_exchange):
    new, place = folders(tmp_path)
    place.chmod(0o750)
    if not can_exchange:
        monkeypatch.setattr(replacement, "exchange", lambda *_: False)
    replacement.replace_folder(str(new), str(place))
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
        replacement, "exchange", lambda *_: monkeypatch.setattr(os, "rename", rename_once)
    )
    with pytest.raises(OSError, match="Input/output"):
        replacement.replace_folder(str(new), str(place))
    assert not place.exists()
    monkeypatch.undo()
    replacement.restore_folder(str(new), str(place))
    assert (place / "file").read_text() == "old"
    assert (new / "file").read_text() == "new"
