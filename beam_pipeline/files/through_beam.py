"""Files of the schemes that only Apache Beam knows, such as hdfs://, through its FileSystems."""

import contextlib
import errno
import io
from collections.abc import Iterator
from typing import Any

from apache_beam.io.filesystem import BeamIOError
from apache_beam.io.filesystems import FileSystems

from beam_pipeline.files.backend import Backend, Note
from beam_pipeline.files.faults import UnknownSchemeError, bytes_to_read
from tfrecord_dataset.store.listing import FileNames, Status, names_by_folder
from tfrecord_dataset.store.urls import scheme_of

# Beam's name for a file that is read and written as it is, whatever its suffix.
_AS_IT_IS = "uncompressed"


def _systems(url: str) -> Any:
    """Beam's FileSystems, which know the scheme of `url`.

    Raises:
        UnknownSchemeError: They do not.
    """
    try:
        FileSystems.get_filesystem(url)
    except (ValueError, BeamIOError) as error:
        raise UnknownSchemeError(
            f"Apache Beam cannot read {scheme_of(url)}:// here; copy the data to a folder, or "
            "install what Beam needs for it"
        ) from error
    return FileSystems


@contextlib.contextmanager
def _os_errors(url: str) -> Iterator[None]:
    try:
        yield
    except BeamIOError as error:
        if not FileSystems.exists(url):
            raise FileNotFoundError(errno.ENOENT, "No such file", url) from error
        raise OSError(errno.EREMOTEIO, str(error), url) from error


class ThroughBeam(Backend):
    """Files that Beam's FileSystems know; what is written is durable."""

    calls = 1

    def read(
        self, path: str, offset: int, length: int | None, at_most: int, note: Note = None
    ) -> bytes:
        facts = self.status(path)
        if note:
            note(facts)
        length = bytes_to_read(path, facts.size, offset, length, at_most)
        with self.open_reader(path) as handle:
            handle.seek(offset)
            return bytes(handle.read(length))

    def open_reader(self, path: str) -> Any:
        systems = _systems(path)
        with _os_errors(path):
            return systems.open(path, compression_type=_AS_IT_IS)

    def create(self, path: str) -> Any:
        return _systems(path).create(path, compression_type=_AS_IT_IS)

    @contextlib.contextmanager
    def writing(self, path: str, durable: bool) -> Iterator[Any]:
        buffer = io.BytesIO()
        yield buffer
        self.make_folder(path.rpartition("/")[0])
        with self.create(path) as handle:
            handle.write(buffer.getvalue())

    def status(self, path: str) -> Status:
        with _os_errors(path):
            metadata = next(_matches(path), None)
        if metadata is None:
            raise FileNotFoundError(errno.ENOENT, "No such file", path)
        size = int(metadata.size_in_bytes)
        return Status(size, f"{size} {metadata.last_updated_in_seconds}")

    def exists(self, path: str) -> bool:
        return bool(_systems(path).exists(path))

    def is_folder(self, path: str) -> bool:
        return any(True for _ in _below(path))

    def make_folder(self, path: str) -> None:
        systems = _systems(path)
        with contextlib.suppress(OSError):  # it is there, or needs no making
            systems.mkdirs(path)

    def list_names(self, root: str) -> Iterator[FileNames]:
        return names_by_folder(_below(root))

    def scan_folder(self, path: str) -> Iterator[tuple[str, bool]]:
        names = (below.partition("/") for below in _below(path))
        yield from {(name, bool(slash)) for name, slash, _ in names}

    def match_files(self, pattern: str) -> list[str]:
        return [metadata.path for metadata in _matches(pattern)]

    def _place(self, pair: tuple[str, str]) -> None:
        """Renames a file, over another that is there."""
        path, name = pair
        if self.exists(path) or not self.exists(name):
            self.make_folder(name.rpartition("/")[0])
            with _os_errors(path):
                _systems(path).rename([path], [name])

    def delete(self, path: str) -> None:
        if self.exists(path):
            _systems(path).delete([path])

    def newest_change(self, folder: str) -> float:
        files = _matches(f"{folder.rstrip('/')}/**")
        return float(max((each.last_updated_in_seconds for each in files), default=0.0))


THROUGH_BEAM = ThroughBeam()


def _matches(pattern: str) -> Iterator[Any]:
    """What Beam says of the files that fit a pattern."""
    for match in _systems(pattern).match([pattern]):
        yield from match.metadata_list


def _below(url: str) -> Iterator[str]:
    """The paths of the files below a folder, in it."""
    root = url.rstrip("/")
    return (metadata.path[len(root) + 1 :] for metadata in _matches(f"{root}/**"))
