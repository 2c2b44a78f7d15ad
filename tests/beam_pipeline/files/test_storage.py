"""Files by path: list, read, write atomically, move and delete."""

import contextlib
import errno
import gc
import os
import shutil
import subprocess

import pytest

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.files.local import LOCAL
from beam_pipeline.records import FileRef
from tfrecord_dataset.store.listing import paths_in


@pytest.mark.parametrize(
    ("base", "parts", "expected"),
    [
        ("/a", ("b", "c"), "/a/b/c"),
        ("/a", ("../b",), "/b"),
        ("/a", ("/b",), "/b"),
        ("/a", ("gs://x/b",), "gs://x/b"),
        ("/a", ("",), "/a"),
        ("/a", ("file:///b%20c/d e",), "/b c/d e"),
        ("gs://x", ("file:///b",), "/b"),
        ("gs://x", ("a", "b"), "gs://x/a/b"),
        ("gs://x/a/", ("b.jpg",), "gs://x/a/b.jpg"),
        ("s3://x/a", ("../b/./c",), "s3://x/b/c"),
        ("s3://x", ("../../y",), "s3://x/y"),
        ("s3://x/a", ("",), "s3://x/a"),
        ("gs://x/a", ("/b",), "/b"),
        ("gs://x/a", ("s3://y",), "s3://y"),
    ],
)
def test_join(base, parts, expected):
    assert storage.join(base, *parts) == expected


def test_a_file_url_is_a_local_path():
    assert storage.absolute("file:///a/100%.png") == "/a/100%.png"
    assert storage.absolute("file://localhost/a%25") == "/a%"


@pytest.mark.parametrize("scheme", ["hdfs", "nosuch"])
def test_a_scheme_of_which_nothing_is_read(scheme):
    with pytest.raises(ConfigError, match=f"{scheme}:// is not supported; copy"):
        storage.exists(f"{scheme}://bucket/a.csv")
    with pytest.raises(
        RecordError, match=rf"unreadable file: a\.png: {scheme}:// is not supported"
    ):
        storage.read_bytes(FileRef(path=f"{scheme}://bucket/a.png"))


def listed(root):
    return sorted(file.relative for file in storage.list_files(str(root)))


def test_list_files_follows_links_but_not_in_circles(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real/x.jpg").write_bytes(b"")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real/up").symlink_to(tmp_path)

    assert "link/x.jpg" in listed(tmp_path)
    assert "real/x.jpg" in listed(tmp_path)


def test_list_files_in_more_folders_than_python_calls(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        for _ in range(1200):
            os.mkdir("d")
            os.chdir("d")
        open("x", "wb").close()
        assert listed(tmp_path) == ["d/" * 1200 + "x"]
    finally:  # pytest's own removal recurses
        subprocess.run(["rm", "-r", tmp_path / "d"], check=True)


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        pytest.param("nowhere", "missing file", id="git-annex has not fetched it"),
        pytest.param("dead.jpg", "unreadable file", id="a link to itself"),
    ],
)
def test_a_link_that_leads_nowhere_is_listed_and_not_read(tmp_path, target, reason):
    (tmp_path / "dead.jpg").symlink_to(target)
    [file] = storage.list_files(str(tmp_path))
    assert file.relative == "dead.jpg"
    with pytest.raises(RecordError, match=f"{reason}: dead.jpg"):
        storage.read_bytes(FileRef(path=file.path))


@pytest.mark.slow
def test_a_file_that_is_missing_leaves_nothing_in_memory(tmp_path):
    """Otherwise its traceback would keep the error and all objects of the callers alive."""
    missing = FileRef(path=str(tmp_path / "nowhere"))
    with contextlib.suppress(RecordError):
        storage.read_bytes(missing)
    while gc.collect():  # garbage of other tests takes several rounds
        pass
    gc.disable()
    try:
        with contextlib.suppress(RecordError):
            storage.read_bytes(missing)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_a_folder_that_is_deleted_while_its_tree_is_listed_is_absent(tmp_path):
    for path in ("1.txt", "a/2.txt", "b/3.txt"):
        storage.make_dirs(str((tmp_path / path).parent))
        (tmp_path / path).write_bytes(b"")
    names = storage.list_names(str(tmp_path))
    first = next(names)  # the folders below are known by now
    shutil.rmtree(tmp_path / "a")
    assert [*paths_in([first, *names])] == ["1.txt", "b/3.txt"]


def test_list_files_of_no_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        storage.list_files(str(tmp_path / "nowhere"))


def test_read_text(tmp_path):
    (tmp_path / "mark").write_bytes("\ufeffä".encode())
    (tmp_path / "latin").write_bytes("ä".encode("latin-1"))
    assert storage.read_text(str(tmp_path / "mark")) == "ä"
    with pytest.raises(RecordError, match="not UTF-8"):
        storage.read_text(str(tmp_path / "latin"))


def test_a_failed_write_leaves_only_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x"
    path.write_bytes(b"old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        storage.write_bytes(str(path), b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["x"]


def test_a_second_name_is_a_link_and_may_be_given_again(tmp_path):
    source, target = tmp_path / "a", tmp_path / "new/b"
    source.write_bytes(b"1")
    for _ in range(2):
        LOCAL.link_all([(str(source), str(target))], instead=os.rename)
    assert source.samefile(target)
    (tmp_path / "c").write_bytes(b"2")
    with pytest.raises(FileExistsError):
        LOCAL.link_all([(str(tmp_path / "c"), str(target))], instead=os.rename)


def test_without_links_files_are_renamed(tmp_path, monkeypatch):
    def no_links(*_, **__):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    (tmp_path / "a").write_bytes(b"1")
    LOCAL.link_all([(str(tmp_path / "a"), str(tmp_path / "b"))], instead=os.rename)
    assert (os.listdir(tmp_path), (tmp_path / "b").read_bytes()) == (["b"], b"1")


def test_pipes_and_devices_are_listed(tmp_path):
    os.mkfifo(tmp_path / "pipe.jpg")
    (tmp_path / "zeros.jpg").symlink_to("/dev/zero")
    assert listed(tmp_path) == ["pipe.jpg", "zeros.jpg"]


def test_version_changes_with_the_file(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"1")
    before = storage.version(str(path))
    assert storage.version(str(path)) == before
    os.utime(path, ns=(0, 7))
    assert storage.version(str(path)) != before


def test_no_file_is_read_whole_beyond_a_gibibyte(tmp_path):
    with open(tmp_path / "x", "wb") as file:
        file.truncate(2 << 30)  # without data
    with pytest.raises(RecordError, match="file too large: x has over 1,073,741,8"):
        storage.read_text(str(tmp_path / "x"))


def test_a_read_takes_no_more_memory_than_the_file(tmp_path):
    """Damaged headers state lengths of terabytes."""
    (tmp_path / "x").write_bytes(b"abc")
    with storage.opened(str(tmp_path / "x")) as handle:
        assert handle.read(1) == b"a"
        assert handle.read(1 << 44) == b"bc"
        assert handle.read(1 << 44) == b""


def test_no_file_has_a_nul_in_its_name(tmp_path):
    path = f"{tmp_path}/a\0b"
    for read in (
        lambda: storage.read_bytes(FileRef(path=path)),
        lambda: storage.read_start(path, 1),
    ):
        with pytest.raises(RecordError, match="missing file: 'a"):
            read()
