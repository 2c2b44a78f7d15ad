"""Files that are on disk before their names; power cuts are tested in write/."""

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
