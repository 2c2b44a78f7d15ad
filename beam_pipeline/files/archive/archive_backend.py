"""Backend for the files of zips and tars, as if each archive were a read-only folder.

An index of folders and file locations takes about 65 bytes per file.
"""

import array
import errno
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from beam_pipeline.errors import RecordError
from beam_pipeline.files.archive import content
from beam_pipeline.files.archive.member_paths import (
    DAMAGED,
    UNSAFE,
    Inside,
    MemberLocation,
    inside,
    placed,
)
from beam_pipeline.files.archive.members import (
    LOCAL_HEADER_BYTES,
    MAX_NPZ_INDEX_BYTES,
    read_members,
    safe_name,
    zip_members,
)
from beam_pipeline.files.backend import Backend, bytes_to_read
from tfrecord_dataset.store.listing import (
    NAMES_AT_ONCE,
    FileNames,
    Status,
    fixed_folder,
    is_litter,
    paths_in,
    pattern_regex,
)
from tfrecord_dataset.store.urls import is_object

_ARCHIVES_HELD = 8


_METHODS = ("plain", "stored", "deflated")
# Member paths may be as long as a system allows, and contain many folders.
_MAX_FOLDERS = 1_000_000


class Index:
    """Files of an archive by path, and its folders, which have no location.

    Raises:
        RecordError: "damaged archive": a name occurs twice, or as a file and as a folder, or two
            members share bytes. Errors raised by `members` pass through.
    """

    def __init__(self, members: Iterable[tuple[str, MemberLocation | None]]):
        self._names: dict[str, bytearray] = {"": bytearray()}
        self._folders: dict[str, list[str]] = {"": []}
        hashes = array.array("q")
        places = array.array("Q")
        methods = bytearray()
        for name, place in members:
            if place is None:
                self._add_folder(name)
                continue
            folder, _, file = name.rpartition("/")
            self._add_folder(folder)
            self._names[folder] += file.encode(errors="surrogateescape") + b"\0"
            hashes.append(hash(name))
            places.extend((place.offset, place.packed, place.length, place.crc32))
            methods.append(_METHODS.index(place.method))
        unsorted = np.frombuffer(hashes, np.int64)
        order = np.argsort(unsorted, kind="stable")
        self._hashes = unsorted[order]
        self._places = np.frombuffer(places, np.uint64).reshape(-1, 4)[order]
        self._methods = np.frombuffer(bytes(methods), np.uint8)[order]
        self._check()

    def _add_folder(self, folder: str) -> None:
        while folder not in self._names:
            if len(self._names) > _MAX_FOLDERS:
                raise RecordError(DAMAGED, f"over {_MAX_FOLDERS:,} folders")
            self._names[folder] = bytearray()
            self._folders.setdefault(folder, [])
            folder, _, name = folder.rpartition("/")
            self._folders.setdefault(folder, []).append(name)

    def _check(self) -> None:
        twice = self._hashes[1:][self._hashes[1:] == self._hashes[:-1]]
        if twice.size:
            seen = set(twice.tolist())
            name = next(path for path in self.paths() if hash(path) in seen)
            raise RecordError(
                DAMAGED, f"{name!r} is there twice; pack the archive anew from its files"
            )
        for folder in self._names:
            if folder and self.find(folder):
                raise RecordError(
                    DAMAGED, f"{folder!r} is a file and a folder; pack the archive anew"
                )
        # Members that share bytes make a small archive that unpacks to any size.
        by_offset = self._places[np.argsort(self._places[:, 0], kind="stable")]
        ends = by_offset[:, 0] + by_offset[:, 1]
        has_header = bool(self._methods.any())
        ends += np.uint64(LOCAL_HEADER_BYTES if has_header else 0)
        if (ends[:-1] > by_offset[1:, 0]).any():
            raise RecordError(DAMAGED, "members share bytes of the archive; fetch it again")

    def find(self, name: str) -> MemberLocation | None:
        """Return the location of the file at this path, or None."""
        wanted = hash(name)
        at = int(np.searchsorted(self._hashes, wanted))
        if at == len(self._hashes) or int(self._hashes[at]) != wanted:
            return None
        offset, packed, length, crc32 = self._places[at].tolist()
        return MemberLocation(offset, packed, length, _METHODS[self._methods[at]], crc32)

    def is_folder(self, name: str) -> bool:
        """Whether there is a folder at this path."""
        return name in self._names

    def scan(self, folder: str) -> Iterator[tuple[str, bool]]:
        """Yield (name, whether it is a folder) for each entry of a folder."""
        for name in self._folders.get(folder, ()):
            yield name, True
        for name in self._files(folder):
            yield name, False

    def _files(self, folder: str) -> Iterator[str]:
        for name in self._names.get(folder, b"").split(b"\0")[:-1]:
            yield name.decode(errors="surrogateescape")

    def below(self, top: str) -> Iterator[FileNames]:
        """Yield the files below a folder, folder by folder."""
        prefix = f"{top}/" if top else ""
        for folder in self._names:
            if folder != top and not folder.startswith(prefix):
                continue
            names = list(self._files(folder))
            relative = folder[len(prefix) :]
            for start in range(0, len(names), NAMES_AT_ONCE):
                yield FileNames(relative, names[start : start + NAMES_AT_ONCE])

    def paths(self) -> Iterator[str]:
        """Yield the paths of all files."""
        for folder in self._names:
            yield from (f"{folder}/{name}" if folder else name for name in self._files(folder))


class Archives(Backend):
    """Read-only files in archives of any other backend; caches the index of each archive."""

    calls = 1

    def __init__(self, files_of: Callable[[str], Backend]):
        self._files_of = files_of
        self._lock = threading.RLock()  # an .npz may be in an archive
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
