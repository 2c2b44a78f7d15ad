"""Copies of what was read of a store serve the second read, as far as the disk allows."""

import dataclasses
import os
from pathlib import Path

import pytest

from beam_pipeline.files import kept, storage
from beam_pipeline.records import FileRef


@pytest.fixture
def object_of(bucket):
    """Put an object of ten bytes; return a reference to a range of it, and the store."""
    url, store = bucket
    store.put(f"{url}/x", b"0123456789")

    def refer(offset=0, length=None):
        return FileRef(path=f"{url}/x", offset=offset, length=length)

    return refer, store


@pytest.mark.parametrize(
    ("place", "data"), [((0, None), b"0123456789"), ((0, 3), b"012"), ((4, 3), b"456")]
)
def test_a_second_read_makes_no_request(object_of, tmp_path, place, data):
    refer, store = object_of
    with kept.keeping(str(tmp_path)) as copies:
        assert copies.keeping(storage.read_bytes)(refer(*place)) == data
        before = store.calls.total()
        assert copies.read(refer(*place)) == data
        assert store.calls.total() == before
        assert copies.read(refer(5, 2)) == b"56"  # another range
        assert store.calls.total() > before
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("most", ["bytes", "disk"])
def test_what_is_large_or_finds_no_room_is_fetched_again(object_of, tmp_path, monkeypatch, most):
    refer, store = object_of
    with kept.keeping(str(tmp_path)) as copies:
        if most == "bytes":
            monkeypatch.setattr(kept, "_MOST_BYTES", 9)
        else:
            copies = dataclasses.replace(copies, min_free_bytes=1 << 62)
        copies.keeping(storage.read_bytes)(refer())
        assert copies.read(refer()) == b"0123456789"
    assert store.calls["get"] == 2


def test_files_of_this_machine_are_not_copied(tmp_path):
    Path(tmp_path, "x").write_bytes(b"1")
    file = FileRef(path=str(tmp_path / "x"))
    with kept.keeping(str(tmp_path)) as copies:
        assert copies.keeping(storage.read_bytes)(file) == b"1"
        assert not os.listdir(copies.folder)
