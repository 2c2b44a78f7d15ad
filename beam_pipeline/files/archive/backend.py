"""Backend for the files of zips and tars, as if each archive were a read-only folder."""

import errno
import threading
from collections.abc import Callable, Iterator
from typing import Any

from beam_pipeline.errors import RecordError
from beam_pipeline.files.archive import content
from beam_pipeline.files.archive.index import Index
from beam_pipeline.files.archive.paths import UNSAFE, Inside, MemberLocation, inside, placed
from beam_pipeline.files.archive.tar_members import read_members
from beam_pipeline.files.archive.zip_members import MAX_NPZ_INDEX_BYTES, safe_name, zip_members
from beam_pipeline.files.backend import Backend
from beam_pipeline.files.faults import bytes_to_read
from tfrecord_dataset.store.listing import (
    FileNames,
    Status,
    fixed_folder,
    is_litter,
    paths_in,
    pattern_regex,
)
from tfrecord_dataset.store.urls import is_object

_ARCHIVES_HELD = 8


class Archives(Backend):
    """Read-only files in archives of any other backend; caches the index of each archive."""

    calls = 1

    def __init__(self, files_of: Callable[[str], Backend]):
        self._files_of = files_of
        self._lock = threading.RLock()  # archives may be nested
        self._indexes: dict[str, tuple[str, Index]] = {}
        self._statuses: dict[str, Status] = {}

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise OSError(errno.EROFS, "Archives are read-only", args[0])

    writing = make_folder = delete = _refuse

    def index(self, archive: str) -> Index:
        """Return an archive's index, read on first use and after each change."""
        with self._lock:
            version = self._status(archive).version
            known, index = self._indexes.get(archive, ("", None))
            if index is None or known != version:
                with self._files_of(archive).open_reader(archive) as handle:
                    index = Index(_members(archive, handle))
                while len(self._indexes) >= _ARCHIVES_HELD:
                    del self._indexes[next(iter(self._indexes))]
                self._indexes[archive] = version, index
            return index

    def _status(self, archive: str) -> Status:
        """Return an archive's status; that of an object is cached until its top is listed again."""
        if not is_object(archive):
            return self._files_of(archive).status(archive)
        if archive not in self._statuses:
            self._statuses[archive] = self._files_of(archive).status(archive)
        return self._statuses[archive]

    def place(self, path: str) -> tuple[str, MemberLocation]:
        """Return the archive and the location of the file's content in it."""
        where = _where(path)
        place = where.place
        if place is None and where.name:
            place = self.index(where.archive).find(where.name)
        if place is None:
            raise FileNotFoundError(errno.ENOENT, "No such file", path)
        return where.archive, place

    def resolved(self, path: str) -> str:
        """Return the path that states the file's location; `path` itself if no such file exists."""
        where = inside(path)
        if where is None or not where.name:
            return path
        try:
            place = self.index(where.archive).find(where.name)
        except (FileNotFoundError, NotADirectoryError):
            return path
        return placed(self.resolved(where.archive), where.name, place) if place else path

    def is_deflated(self, path: str) -> bool:
        """Whether the file at `path` is compressed in its archive."""
        return self.place(path)[1].method == "deflated"

    def read(self, path: str, offset: int, length: int | None, at_most: int) -> bytes:
        archive, place = self.place(path)
        wanted = bytes_to_read(path, place.length, offset, length, at_most)
        if wanted < place.length:
            with self.open_reader(path) as handle:
                handle.seek(offset)
                return bytes(handle.read(wanted))
        files = self._files_of(archive)

        def read(start: int, num_bytes: int) -> bytes:
            return files.read(archive, start, num_bytes, num_bytes)

        return content.whole(place, _name(path), read)

    def open_reader(self, path: str) -> Any:
        archive, place = self.place(path)
        handle = self._files_of(archive).open_reader(archive)
        return content.open_member(handle, place, _name(path))

    def status(self, path: str) -> Status:
        archive, place = self.place(path)
        return Status(place.length, self._status(archive).version)

    def exists(self, path: str) -> bool:
        try:
            self.place(path)
        except FileNotFoundError:
            return self.is_folder(path)
        return True

    def is_folder(self, path: str) -> bool:
        where = _where(path)
        if where.name == "":
            self._statuses.pop(where.archive, None)
        try:
            return where.name is not None and self.index(where.archive).is_folder(where.name)
        except (FileNotFoundError, NotADirectoryError):
            return False

    def list_names(self, root: str) -> Iterator[FileNames]:
        where = _where(root)
        if not self.is_folder(root):
            raise FileNotFoundError(errno.ENOENT, f"{root} is not a folder")
        return self.index(where.archive).below(where.name or "")

    def scan_folder(self, path: str) -> Iterator[tuple[str, bool]]:
        if self.is_folder(path):
            where = _where(path)
            yield from self.index(where.archive).scan(where.name or "")

    def match_files(self, pattern: str) -> list[str]:
        top = fixed_folder(pattern)
        regex = pattern_regex(pattern)
        names = self.list_names(top) if inside(top) and self.is_folder(top) else ()
        paths = (f"{top}/{path}" for path in paths_in(names))
        return [path for path in paths if regex.fullmatch(path)]


def _where(path: str) -> Inside:
    where = inside(path)
    assert where  # otherwise `backend_of` chose another backend
    return where


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _members(archive: str, handle: Any) -> Iterator[tuple[str, MemberLocation | None]]:
    suffix = archive.lower().rpartition(".")[2]
    if suffix == "npz":
        return zip_members(handle, MAX_NPZ_INDEX_BYTES)
    return zip_members(handle) if suffix == "zip" else _tar_members(handle)


def _tar_members(handle: Any) -> Iterator[tuple[str, MemberLocation | None]]:
    for member in read_members(handle):
        if member.problem and member.problem[0] == UNSAFE:
            raise RecordError(*member.problem)
        name = safe_name(member.name)
        if any(map(is_litter, name.split("/"))):
            continue
        if member.problem:
            raise RecordError(*member.problem)
        yield name, MemberLocation(member.offset, member.length, member.length, "plain")
