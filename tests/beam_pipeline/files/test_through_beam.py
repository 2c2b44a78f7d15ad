"""Files of a scheme that Beam alone knows: one that the test gives it, on the local disk."""

import os

import pytest
from apache_beam.io.filesystem import FileMetadata
from apache_beam.io.localfilesystem import LocalFileSystem

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef


class Attic(LocalFileSystem):
    """attic:///path is /path."""

    @classmethod
    def scheme(cls):
        return "attic"

    def _list(self, folder):
        for each in super()._list(_local(folder)):
            yield FileMetadata(f"attic://{each.path}", each.size_in_bytes)

    def metadata(self, path):
        found = super().metadata(_local(path))
        return FileMetadata(path, found.size_in_bytes, found.last_updated_in_seconds)

    def open(self, path, *arguments, **options):
        return super().open(_local(path), *arguments, **options)

    def create(self, path, *arguments, **options):
        return super().create(_local(path), *arguments, **options)

    def mkdirs(self, path):
        super().mkdirs(_local(path))

    def exists(self, path):
        return super().exists(_local(path))

    def rename(self, sources, destinations):
        super().rename([*map(_local, sources)], [*map(_local, destinations)])

    def delete(self, paths):
        for path in paths:
            os.remove(_local(path))


def _local(path):
    return path.removeprefix("attic://")


@pytest.fixture
def url(tmp_path):
    """A URL of an empty folder."""
    return f"attic://{tmp_path}"


def test_a_file_is_written_read_renamed_and_deleted(url, tmp_path):
    with storage.writing(f"{url}/new/x.gz") as handle:
        handle.write(b"0123456789")
    assert (tmp_path / "new/x.gz").read_bytes() == b"0123456789"
    file = FileRef(path=f"{url}/new/x.gz", offset=2, length=3)
    assert storage.read_bytes(file) == b"234"
    assert storage.sizes([file.path, f"{url}/nowhere"]) == [10, None]
    for _ in range(2):
        storage.place_all([(file.path, f"{url}/out/y")])
    assert storage.exists(f"{url}/out/y")
    storage.delete_all([f"{url}/out/y", f"{url}/out/y"])
    assert not storage.exists(f"{url}/out/y")


def test_listing(url, tmp_path):
    for name in ("a.jpg", "cat/1.jpg", "cat/.hidden"):
        storage.write_bytes(f"{url}/{name}", b"1")
    assert sorted(file.relative for file in storage.list_files(url)) == ["a.jpg", "cat/1.jpg"]
    assert storage.list_folder(url) == (("cat",), ("a.jpg",))
    assert storage.list_dir(f"{url}/cat") == [".hidden", "1.jpg"]
    assert storage.match_files(f"{url}/*.jpg") == [f"{url}/a.jpg"]
    assert [storage.is_directory(f"{url}/{name}") for name in ("cat", "dog")] == [True, False]


def test_what_is_not_there(url):
    with pytest.raises(RecordError, match="missing file: x"):
        storage.read_bytes(FileRef(path=f"{url}/x"))
    with pytest.raises(RecordError, match="missing file: x"), storage.opened(f"{url}/x"):
        pass


@pytest.mark.parametrize("scheme", ["hdfs", "nosuch"])
def test_a_scheme_that_cannot_be_opened_here(scheme):
    with pytest.raises(ConfigError, match=f"cannot read {scheme}:// here"):
        storage.exists(f"{scheme}://bucket/a.csv")
