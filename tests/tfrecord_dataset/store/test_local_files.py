"""Local files that stay open are read as opened, even if their names are taken."""

import os

import pytest

from tfrecord_dataset.errors import DatasetChangedError
from tfrecord_dataset.store import pinned_files
from tfrecord_dataset.store.pinned_files import LocalFiles


def contents(files):
    with files.open(0) as read:
        return read(99, 0)


def test_replaced_files_are_read_if_they_are_held_and_else_named(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    held = LocalFiles([str(path)])
    monkeypatch.setattr(pinned_files, "most_open_files", lambda: 0)
    monkeypatch.chdir(tmp_path)
    opened_each_time = LocalFiles(["a"])
    monkeypatch.chdir("/")
    assert contents(opened_each_time) == b"old"
    (tmp_path / "b").write_bytes(b"new")
    os.replace(tmp_path / "b", path)

    before = len(os.listdir("/proc/self/fd"))
    assert [contents(held) for _ in range(3)] == [b"old"] * 3
    assert len(os.listdir("/proc/self/fd")) == before
    with pytest.raises(DatasetChangedError, match="was changed or deleted while it was read"):
        contents(opened_each_time)
