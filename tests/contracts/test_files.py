"""Contract of files by path: local, on stores and web servers, and in archives."""

import functools
import http.server
import os
import threading
import zipfile

import pytest
from file_bytes import tar_bytes, zip_bytes

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef


@pytest.fixture(params=["local", "s3", "gs", "az"])
def folder(request, tmp_path):
    """The path of an empty folder."""
    if request.param == "local":
        return str(tmp_path)
    url, _ = request.getfixturevalue("bucket")
    return f"{request.param}{url.removeprefix('s3')}/in"


@pytest.fixture
def served(tmp_path):
    """URL of a folder on Python's own server, which does not support ranges."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


ARCHIVES = {
    "stored.zip": functools.partial(zip_bytes, method=zipfile.ZIP_STORED),
    "deflated.zip": zip_bytes,
    "plain.tar": tar_bytes,
}
LISTED = ["local", "s3", "gs", "az", *ARCHIVES]


@pytest.fixture(params=[*LISTED, "http", "http, no ranges"])
def lay(request, tmp_path):
    """lay(contents by name) -> path of a folder with these files."""
    kind = request.param

    def lay(contents):
        if kind in ARCHIVES:
            (tmp_path / kind).write_bytes(ARCHIVES[kind](contents))
            return f"{tmp_path}/{kind}:"
        if kind in ("local", "http, no ranges"):
            for name, data in contents.items():
                storage.write_bytes(f"{tmp_path}/{name}", data)
            return request.getfixturevalue("served") if "http" in kind else str(tmp_path)
        url, store = request.getfixturevalue("bucket")
        for name, data in contents.items():
            store.put(f"{url}/in/{name}", data)
        if kind == "http":
            return f"{store.endpoint}/{url.removeprefix('s3://')}/in"
        return f"{kind}{url.removeprefix('s3')}/in"

    return lay


@pytest.fixture
def put(lay):
    """put(data) -> path of a file named x with these bytes."""
    return lambda data: f"{lay({'x': data})}/x"


@pytest.fixture
def path(put):
    """A file of ten bytes."""
    return put(b"0123456789")


@pytest.mark.parametrize("name", ["a b.jpg", "ä#?%20+[1].jpg", "%41", "d/e=1/f&g.jpg"])
def test_names_survive(folder, name):
    storage.write_bytes(f"{folder}/{name}", b"0123456789")
    [file] = storage.list_files(folder)
    assert (file.path, file.relative) == (f"{folder}/{name}", name)
    assert storage.read_bytes(FileRef(path=file.path, offset=2, length=3)) == b"234"


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ({}, b"0123456789"),
        ({"offset": 4}, b"456789"),
        ({"offset": 2, "length": 3}, b"234"),
        ({"length": 0}, b""),
        ({"offset": 30}, b""),
        ({"offset": 8, "length": 5}, "truncated file: x ends 3 bytes before byte 13"),
        ({"offset": 20, "length": 3}, "truncated file: x ends 3 bytes before byte 23"),
    ],
)
def test_a_range(path, place, expected):
    file = FileRef(path=path, **place)
    if isinstance(expected, bytes):
        assert storage.read_bytes(file) == expected
    else:
        with pytest.raises(RecordError, match=expected):
            storage.read_bytes(file)


@pytest.mark.parametrize(
    ("place", "at_most"), [({}, 9), ({"length": 7}, 6), ({"offset": 5}, 4), ({"length": 1}, 0)]
)
def test_no_more_is_read_than_allowed(path, place, at_most):
    file = FileRef(path=path, **place)
    with pytest.raises(RecordError, match=f"file too large: x has over {at_most} bytes"):
        storage.read_bytes(file, at_most)
    assert storage.read_bytes(file, at_most + 1) == storage.read_bytes(file)


def test_a_handle(path):
    assert (storage.exists(path), storage.size(path)) == (True, 10)
    with storage.opened(path) as handle:
        handle.seek(-3, os.SEEK_END)
        assert (handle.read(), handle.read(3)) == (b"789", b"")
        handle.seek(2)
        assert handle.read(3) == b"234"
    sha256 = "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882"
    assert storage.sha256_of(path) == sha256


def test_ranges_that_are_known_before(path):
    files = [FileRef(path=path, offset=start, length=size) for start, size in ((6, 3), (1, 4))]
    assert list(map(storage.PrefetchingReader(files).read, files)) == [b"678", b"1234"]


def test_an_empty_file(put):
    path = put(b"")
    assert storage.read_bytes(FileRef(path=path)) == b""
    with storage.opened(path) as handle:
        assert handle.read(5) == b""


def test_what_is_not_next_to_a_file(path):
    with pytest.raises(RecordError, match=r"^missing file: xx"):
        storage.read_bytes(FileRef(path=f"{path}x"))
    assert not storage.exists(f"{path}x")


def test_what_is_not_there(folder):
    missing = f"{folder}/nowhere"
    for call in (
        lambda: storage.read_bytes(FileRef(path=missing)),
        lambda: storage.opened(missing).__enter__(),
        lambda: storage.read_start(missing, 3),
        lambda: storage.version(missing),
    ):
        with pytest.raises(RecordError, match=r"^missing file: nowhere"):
            call()
    assert (storage.exists(missing), storage.is_directory(missing)) == (False, False)
    assert (storage.list_folder(missing), storage.list_dir(missing)) == (((), ()), [])
    storage.delete([missing])
    storage.delete_all([missing])


def test_a_file_is_replaced_and_leaves_nothing_else(folder):
    path = f"{folder}/new/deep/x"
    for data in (b"one", b"and two"):
        before = storage.version(path) if storage.exists(path) else ""
        storage.write_bytes(path, data)
        assert storage.read_bytes(FileRef(path=path)) == data
        assert storage.version(path) == storage.version(path) != before
        assert storage.list_dir(f"{folder}/new/deep") == ["x"]


def test_what_was_not_finished_is_not_there(folder):
    def write_half():
        with storage.writing(f"{folder}/new/x.gz") as handle:
            handle.write(b"some")
            assert not storage.exists(f"{folder}/new/x.gz")
            raise ValueError("half")

    with pytest.raises(ValueError, match="half"):
        write_half()
    assert storage.list_dir(f"{folder}/new") == []
    with storage.writing(f"{folder}/new/x.gz") as handle:
        handle.write(b"all ")
        handle.write(b"of it")
    assert storage.read_bytes(FileRef(path=f"{folder}/new/x.gz")) == b"all of it"


@pytest.mark.parametrize("lay", LISTED, indirect=True)
def test_listing(lay):
    names = ["a.jpg", "cat/.hidden", "cat/1.jpg", "cat/Thumbs.db", "cats/4.jpg", "dog/2/3.jpg"]
    folder = lay(dict.fromkeys([*names, ".git/x", "__MACOSX/cat/._1.jpg"], b"1"))

    def listed(path):
        return sorted(file.relative for file in storage.list_files(path))

    assert listed(folder) == ["a.jpg", "cat/1.jpg", "cats/4.jpg", "dog/2/3.jpg"]
    assert (listed(f"{folder}/cat"), listed(f"{folder}/dog")) == (["1.jpg"], ["2/3.jpg"])
    assert storage.list_folder(folder) == (("cat", "cats", "dog"), ("a.jpg",))
    assert storage.list_folder(f"{folder}/cat/") == ((), ("1.jpg",))
    all_names = ["1.jpg"] if folder.endswith(":") else [".hidden", "1.jpg", "Thumbs.db"]
    assert storage.list_dir(f"{folder}/cat") == all_names
    there = [storage.is_directory(f"{folder}/{name}") for name in ("cat", "dog/2", "ca", "a.jpg")]
    assert there == [True, True, False, False]


@pytest.mark.parametrize("lay", LISTED, indirect=True)
def test_match_files(lay):
    names = ("a/1.tar", "a/b/2.tar", "a/.3.tar", "4.tar", "a/c.tar/x")
    folder = lay(dict.fromkeys(names, b"1"))

    def matched(pattern):
        return [path[len(folder) + 1 :] for path in storage.match_files(f"{folder}/{pattern}")]

    assert matched("a/*.tar") == ["a/1.tar"]
    assert matched("**/[12].tar") == ["a/1.tar", "a/b/2.tar"]
    assert matched("**/[!1].tar") == ["4.tar", "a/b/2.tar"]
    assert matched("?.tar") == ["4.tar"]
    assert matched("*.npz") == matched("[z-a].tar") == []


def test_many_files_are_measured_and_deleted(folder):
    paths = [f"{folder}/out/{number}" for number in range(9)]
    for number, path in enumerate(paths):
        storage.write_bytes(path, b"x" * (number + 1))
    assert storage.sizes([*paths, f"{folder}/nowhere"]) == [*range(1, 10), None]
    storage.delete_all([*paths[1:], paths[1]])
    assert storage.list_dir(f"{folder}/out") == ["0"]


def test_a_folder_is_deleted_with_all_it_holds(folder):
    for name in ("a/1", "a/b/2", "ab"):
        storage.write_bytes(f"{folder}/{name}", b"1")
    storage.delete([f"{folder}/a", f"{folder}/nowhere"])
    assert [file.relative for file in storage.list_files(folder)] == ["ab"]
