"""Apache Beam FileSystems for the stores that this package reads: gs://, s3:// and others.

Beam's sinks and transforms such as ReadFromText open files through its FileSystems, which find
the subclass of FileSystem for a path's scheme. Schemes that Beam supports itself stay with Beam:
s3:// always, gs:// if apache-beam[gcp] is installed.
"""

from collections.abc import Iterator, Sequence
from typing import Any

# This import registers Beam's own file systems.
import apache_beam.io.filesystems  # noqa: F401
from apache_beam.io.filesystem import CompressedFile, CompressionTypes, FileMetadata, FileSystem

from beam_pipeline.files import storage
from beam_pipeline.files.remote import REMOTE
from beam_pipeline.files.remote_handles import Upload
from tfrecord_dataset.store import remote_listing, requests
from tfrecord_dataset.store.urls import OBJECT_SCHEMES, split_object

_MIME_TYPE = "application/octet-stream"
_BLOCK_BYTES = 1 << 20


class ObjectFileSystem(FileSystem):
    """Beam's interface to a store; subclasses name the scheme."""

    @classmethod
    def scheme(cls) -> str:
        """The URLs' scheme; none for this base class."""
        return "no scheme"

    def join(self, basepath: str, *paths: str) -> str:
        return storage.join(basepath, *(path.lstrip("/") for path in paths))

    def split(self, path: str) -> tuple[str, str]:
        bucket, key = split_object(path)
        folder, _, name = key.rpartition("/")
        return storage.join(bucket, folder), name

    def mkdirs(self, path: str) -> None:
        """Do nothing: folders of a store are prefixes of its keys."""

    def has_dirs(self) -> bool:
        return False

    def _list(self, dir_or_prefix: str) -> Iterator[FileMetadata]:
        for url, meta in remote_listing.list_objects(dir_or_prefix.rpartition("/")[0]):
            if url.startswith(dir_or_prefix):
                yield FileMetadata(url, meta["size"], meta["last_modified"].timestamp())

    def create(
        self,
        path: str,
        mime_type: str = _MIME_TYPE,
        compression_type: str = CompressionTypes.AUTO,
    ) -> Any:
        return _compressed(_Upload(path), path, compression_type)

    def open(
        self,
        path: str,
        mime_type: str = _MIME_TYPE,
        compression_type: str = CompressionTypes.AUTO,
    ) -> Any:
        return _compressed(REMOTE.open_reader(path), path, compression_type)

    def copy(self, source_file_names: Sequence[str], destination_file_names: Sequence[str]) -> None:
        for source, destination in zip(source_file_names, destination_file_names, strict=True):
            with storage.opened(source) as handle, storage.writing(destination) as copy:
                while data := handle.read(_BLOCK_BYTES):
                    copy.write(data)

    def rename(
        self, source_file_names: Sequence[str], destination_file_names: Sequence[str]
    ) -> None:
        self.copy(source_file_names, destination_file_names)
        storage.delete_all(source_file_names)

    def exists(self, path: str) -> bool:
        return storage.exists(path)

    def size(self, path: str) -> int:
        return REMOTE.status(path).size

    def last_updated(self, path: str) -> float:
        return float(self.metadata(path).last_updated_in_seconds)

    def checksum(self, path: str) -> str:
        return REMOTE.status(path).version

    def metadata(self, path: str) -> FileMetadata:
        meta = requests.head(path)
        return FileMetadata(path, meta["size"], meta["last_modified"].timestamp())

    def delete(self, paths: Sequence[str]) -> None:
        storage.delete(paths)


class _Upload(Upload):
    """An upload that Beam closes once it is complete."""

    closed = False

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.put()
            super().close()


def _compressed(handle: Any, path: str, compression_type: str) -> Any:
    if compression_type == CompressionTypes.AUTO:
        compression_type = CompressionTypes.detect_compression_type(path)
    if compression_type == CompressionTypes.UNCOMPRESSED:
        return handle
    return CompressedFile(handle, compression_type)


def _make_subclasses() -> list[type[ObjectFileSystem]]:
    schemes = {each.scheme() for each in FileSystem.get_all_subclasses()}
    return [_subclass(scheme) for scheme in sorted(OBJECT_SCHEMES - schemes)]


def _subclass(name: str) -> type[ObjectFileSystem]:
    return type(f"{name}FileSystem", (ObjectFileSystem,), {"scheme": classmethod(lambda cls: name)})


# Beam finds subclasses only as long as they are referenced.
FILE_SYSTEMS = _make_subclasses()
