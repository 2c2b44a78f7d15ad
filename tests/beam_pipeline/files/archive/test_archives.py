"""Files in zips and tars by path: reading, and errors that name the file."""

import io
import itertools
import os
import random
import re
import stat
import struct
import tarfile
import zipfile

import pytest
from file_bytes import tar_bytes, zip_bytes
from tiers import first_in_ci

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.files.archive.member_paths import inside, top_of
from beam_pipeline.records import FileRef

CONTENTS = {
    "a.jpg": b"0123456789" * 100,
    "cat/1.jpg": random.Random(1).randbytes(400_000),
    "cat/deep/2.jpg": b"",
    "ä/ö.txt": b"text " * 90_000,
}


PACKED = {
    "stored.zip": lambda: zip_bytes(CONTENTS, zipfile.ZIP_STORED),
    "deflated.zip": lambda: zip_bytes(CONTENTS),
    "plain.tar": lambda: tar_bytes(CONTENTS),
    "after a program.zip": lambda: b"#!/bin/sh\n" * 50 + zip_bytes(CONTENTS),
    "with a comment.ZIP": lambda: commented(zip_bytes(CONTENTS)),
    "large.zip": lambda: large(),
    "streamed.zip": lambda: streamed(),
}


def commented(data):
    buffer = io.BytesIO(data)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.comment = b"a comment " * 90
    return buffer.getvalue()


def large():
    """A zip with Zip64 fields, as for members of unknown size."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in CONTENTS.items():
            with archive.open(name, "w", force_zip64=True) as member:
                member.write(data)
    return buffer.getvalue()


class Pipe(io.BytesIO):
    def seekable(self):
        return False

    def seek(self, *_):
        raise io.UnsupportedOperation

    def tell(self):
        raise io.UnsupportedOperation


def streamed():
    """A zip with sizes after the members, as written to a pipe."""
    buffer = Pipe()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in CONTENTS.items():
            archive.writestr(name, data)
    return buffer.getvalue()


@pytest.fixture(params=["local", "s3"])
def folder(request, tmp_path):
    if request.param == "local":
        return str(tmp_path)
    url, _ = request.getfixturevalue("bucket")
    return f"{url}/in"


@pytest.mark.parametrize(
    ("folder", "name"),
    [*itertools.product(["local"], PACKED), *first_in_ci([*itertools.product(["s3"], PACKED)], 3)],
    indirect=["folder"],
)
def test_files_in_an_archive_are_files(folder, name):
    archive = f"{folder}/{name}"
    storage.write_bytes(archive, PACKED[name]())
    top = top_of(archive)
    assert storage.is_directory(top)
    assert {file.relative for file in storage.list_files(top)} == {*CONTENTS}
    for name, data in CONTENTS.items():
        path = f"{top}/{name}"
        assert storage.exists(path)
        assert storage.size(path) == len(data)
        assert storage.version(path)
        for each in (path, storage.resolved(path)):
            assert storage.read_bytes(FileRef(path=each)) == data
            assert storage.read_start(each, 7) == data[:7]
            part = FileRef(path=each, offset=400, length=min(50, max(0, len(data) - 400)))
            assert storage.read_bytes(part) == data[400:450]
            with storage.opened(each) as handle:
                assert handle.seek(-3, os.SEEK_END) == max(0, len(data) - 3)
                assert handle.read() == data[-3:]
                handle.seek(2)
                assert handle.read(4) == data[2:6]
    for missing in (f"{top}/b.jpg", f"{top}/cat", f"{folder}/none.zip:/a.jpg"):
        with pytest.raises(RecordError, match="missing file"):
            storage.read_bytes(FileRef(path=missing))
    assert not storage.is_directory(f"{folder}/none.zip:")


def test_an_npz_in_an_archive(tmp_path):
    inner = zip_bytes(CONTENTS)
    for pack, name in ((zip_bytes, "x.zip"), (tar_bytes, "x.tar")):
        (tmp_path / name).write_bytes(pack({"deep/y.npz": inner, "z": b"1"}))
        path = f"{tmp_path}/{name}:/deep/y.npz:/cat/1.jpg"
        resolved = storage.resolved(path)
        assert "/y.npz:@" in resolved
        assert ":/" not in resolved
        for each in (path, resolved):
            assert storage.read_bytes(FileRef(path=each)) == CONTENTS["cat/1.jpg"]
        assert len(list(storage.list_files(f"{tmp_path}/{name}:/deep/y.npz:"))) == len(CONTENTS)


def test_nothing_is_written_into_an_archive(tmp_path):
    (tmp_path / "x.zip").write_bytes(zip_bytes(CONTENTS))
    for call in (
        lambda: storage.write_bytes(f"{tmp_path}/x.zip:/b", b"1"),
        lambda: storage.delete([f"{tmp_path}/x.zip:/a.jpg"]),
        lambda: storage.make_dirs(f"{tmp_path}/x.zip:/b"),
    ):
        with pytest.raises(OSError, match="Archives are read-only"):
            call()


def test_an_archive_that_changes_is_read_anew(folder):
    path = f"{folder}/x.zip"
    storage.write_bytes(path, zip_bytes({"a": b"1"}))
    assert [file.relative for file in storage.list_files(f"{path}:")] == ["a"]
    storage.write_bytes(path, zip_bytes({"b": b"two"}))
    assert [file.relative for file in storage.list_files(f"{path}:")] == ["b"]
    assert storage.read_bytes(FileRef(path=f"{path}:/b")) == b"two"


def info(name, **fields):
    made = zipfile.ZipInfo(name)
    for field, value in fields.items():
        setattr(made, field, value)
    return made


def zip_with(*members):
    return zip_bytes(members, zipfile.ZIP_STORED)


def encrypted():
    """A zip with the flag of an encrypted member in both headers, which zipfile cannot write."""
    data = bytearray(zip_bytes({"a": b"12"}))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


def renamed(name):
    """A zip with a name that zipfile would repair."""
    return zip_bytes({"x" * len(name): b"1"}).replace(b"x" * len(name), name.encode())


def overlapping():
    """A zip whose two members share their bytes, so that it could unpack to any size."""
    data = bytearray(zip_bytes({"aa": b"1" * 99, "bb": b"1" * 99}))
    first, second = (match.start() for match in re.finditer(b"PK\x01\x02", bytes(data)))
    data[second + 42 : second + 46] = data[first + 42 : first + 46]
    return bytes(data)


def member_twice():
    with pytest.warns(UserWarning, match="Duplicate name"):
        return zip_with(("a", b"1"), ("a", b"2"))


def tar_with_link():
    link = tarfile.TarInfo("cat/1.jpg")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    return tar_bytes([(link, b"")])


REFUSED = {
    "encrypted member: 'a' needs a password": encrypted,
    "unsafe path: '../a'": lambda: renamed("../a"),
    "unsafe path: '/etc/a'": lambda: renamed("/etc/a"),
    "unsafe path: 'C:/a'": lambda: renamed("C:/a"),
    r"unsafe path: 'cat\\1.jpg'": lambda: renamed("cat\\1.jpg"),
    "unsafe path: 'a//b'": lambda: renamed("a//b"),
    "damaged archive: 'a' is there twice": member_twice,
    "damaged archive: 'a' is a file and a folder": lambda: zip_bytes({"a": b"1", "a/b": b"2"}),
    "damaged archive: members share bytes": overlapping,
    "unsupported member: 'a' is compressed by method 12": lambda: zip_bytes(
        {"a": b"1" * 99}, zipfile.ZIP_BZIP2
    ),
    "unsupported member: 'a' is a symbolic link": lambda: zip_with(
        (info("a", create_system=3, external_attr=(stat.S_IFLNK | 0o777) << 16), b"/etc/passwd")
    ),
    "file too large: 'a' unpacks to over 256 MiB": lambda: changed(24, "<L", 1 << 31),
    "damaged archive: it has no complete index (File is not a zip": lambda: zip_bytes(CONTENTS)[
        :-30
    ],
    "damaged archive: 'a' would be outside the members": lambda: zip_bytes({"a": b"1"})[20:],
    "unsupported member: 'a' is in another part of a split zip": lambda: changed(34, "<H", 2),
    "unsupported member: 'cat/1.jpg' is a link": tar_with_link,
    "unsafe path: '../a' leads outside": lambda: tar_bytes({"../a": b"1"}),
    "damaged archive: 'b/a' is there twice": lambda: tar_bytes({"b/a": b"1", "./b/a": b"2"}),
    "truncated file": lambda: tar_bytes(CONTENTS)[:5000],
}


def changed(offset, form, value):
    """A zip with a wrong value in its index."""
    data = bytearray(zip_bytes({"a": b"1" * 99}))
    struct.pack_into(form, data, data.index(b"PK\x01\x02") + offset, value)
    return bytes(data)


@pytest.mark.parametrize("expected", REFUSED)
def test_what_is_refused(tmp_path, expected):
    made = REFUSED[expected]()
    path = tmp_path / ("x.tar" if made[257:262] == b"ustar" else "x.zip")
    path.write_bytes(made)
    with pytest.raises(RecordError, match=re.escape(expected)):
        list(storage.list_files(f"{path}:"))


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_checksum_is_held_against_what_is_read(tmp_path, method):
    content = random.Random(2).randbytes(1 << 19)
    data = bytearray(zip_bytes({"a": content}, method))
    data[2000] ^= 1
    (tmp_path / "x.zip").write_bytes(data)
    path = f"{tmp_path}/x.zip:/a"
    with pytest.raises(RecordError, match="damaged archive: a is damaged in its"):
        storage.read_bytes(FileRef(path=path))
    with pytest.raises(RecordError, match="damaged archive: a is damaged in its"):
        read_on(path)


def read_on(path):
    with storage.opened(path) as handle:
        while handle.read(70_000):
            pass


def test_a_member_that_is_larger_than_it_states_is_damaged(tmp_path):
    (tmp_path / "x.zip").write_bytes(changed(24, "<L", 50))
    path = f"{tmp_path}/x.zip:/a"
    with pytest.raises(RecordError, match="damaged archive: a is damaged"):
        storage.read_bytes(FileRef(path=path))
    with pytest.raises(RecordError, match="damaged archive: a"), storage.opened(path) as handle:
        handle.read()


def test_neighbouring_files_are_fetched_together(bucket):
    url, store = bucket
    contents = {f"cat/{number}.jpg": bytes([number]) * 5000 for number in range(40)}
    storage.write_bytes(f"{url}/x.zip", zip_bytes(contents, zipfile.ZIP_STORED))
    files = [FileRef(path=storage.resolved(f"{url}/x.zip:/{name}")) for name in contents]
    store.calls.clear()
    reader = storage.PrefetchingReader(files)
    assert [reader.read(file) for file in files] == list(contents.values())
    assert store.calls["get"] == 1


def test_the_index_of_a_large_zip_is_all_that_a_listing_fetches(bucket):
    url, store = bucket
    storage.write_bytes(f"{url}/x.zip", zip_bytes({"a": bytes(9 << 20)}, zipfile.ZIP_STORED))
    assert [file.relative for file in storage.list_files(f"{url}/x.zip:")] == ["a"]
    assert store.fetched_bytes < 2 << 20


@pytest.mark.parametrize(
    "path",
    ["/a/b.zip", "/a/b:/c", "s3://b/x.zip/a", "/x.zip:c", "/x.zip:@1,2,3,stored/a", "C:/x.jpg"],
)
def test_other_paths_are_not_inside(path):
    assert inside(path) is None


def test_what_is_not_there_keeps_its_path(tmp_path):
    (tmp_path / "x.zip").write_bytes(zip_bytes(CONTENTS))
    for path in (f"{tmp_path}/x.zip:/none.jpg", f"{tmp_path}/none.zip:/a.jpg", f"{tmp_path}/a"):
        assert storage.resolved(path) == path
