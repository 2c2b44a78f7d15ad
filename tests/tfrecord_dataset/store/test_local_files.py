"""Files of this machine that are held open: what they were is read, whatever takes their names."""

import os

import pytest

from tfrecord_dataset.errors import DatasetChangedError
from tfrecord_dataset.store import pinned_files
from tfrecord_dataset.store.pinned_files import LocalFiles


def contents(files):
    with files.open(0) as read:
        return read(99, 0)


@pytest.fixture
def replaced(tmp_path):
    """replaced() -> files, of which another has taken the name."""

    def run():
        path = tmp_path / "a"
        path.write_bytes(b"old")
        files = LocalFiles([str(path)])
        (tmp_path / "b").write_bytes(b"new")
        os.replace(tmp_path / "b", path)
        return files

    return run


def test_what_is_held_is_read_again_and_again_and_nothing_else_is_opened(replaced):
    files = replaced()
    before = len(os.listdir("/proc/self/fd"))
    assert [contents(files) for _ in range(3)] == [b"old"] * 3
    assert len(os.listdir("/proc/self/fd")) == before


def test_what_is_opened_each_time_is_found_to_have_changed(replaced, monkeypatch):
    monkeypatch.setattr(pinned_files, "most_open_files", lambda: 0)
    with pytest.raises(DatasetChangedError, match="was changed or deleted while it was read"):
        contents(replaced())
