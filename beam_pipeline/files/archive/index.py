"""Index of an archive's folders and file locations, at about 65 bytes per file."""

import array
from collections.abc import Iterable, Iterator

import numpy as np

from beam_pipeline.errors import RecordError
from beam_pipeline.files.archive.paths import DAMAGED, MemberLocation
from beam_pipeline.files.archive.zip_members import LOCAL_HEADER_BYTES
from tfrecord_dataset.store.listing import NAMES_AT_ONCE, FileNames

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
