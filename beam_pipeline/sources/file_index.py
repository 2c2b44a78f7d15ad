"""Resolve the names of media files in tables and annotations to files."""

import bisect
import functools
import itertools
import logging
import mmap
import os
import re
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO

import numpy as np

from beam_pipeline.files import storage
from beam_pipeline.records import composed
from beam_pipeline.sources.paths import joined, media_kind, stem, without_upload_prefix
from beam_pipeline.sources.tree import NOTHING, Ignored
from tfrecord_dataset.durable import naming_full_disk
from tfrecord_dataset.format.split_names import is_split, split_in_name

# Files of one name that are compared if none of them is in the folder that is named.
_MOST_ALIKE = 1000
_LOG = logging.getLogger(__name__)
# What the numbers of `_Paths` have room for; a store lists them with 10^5 requests.
_MOST_FILES = 100_000_000
_DRIVE = re.compile(r"[A-Za-z]:(?=/)")
_PLACE_BITS = 36
_BUFFER_BYTES = 1 << 20
_PAIR = struct.Struct("=QQ")
_END = b"\0"


class FileIndex:
    """Media files of a tree by their names.

    A name may be a path below the tree, a path from another machine (`C:\\data\\cat\\1.jpg`,
    `/kaggle/input/pets/cat/1.jpg`, `../../media/1.jpg`), a bare name, or a stem (an id). It matches
    the file that shares the most parent folders; a file with another suffix must share at least
    one, unless all files are in one folder. The name of an upload to Label Studio
    (`fb7ad4ef-1.jpg`) that no file has is the name without its prefix.

    Args:
        keys: Paths of the files, relative to the tree.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self._paths = _Paths(keys)

    @classmethod
    def of(cls, root: str, ignored: Ignored = NOTHING) -> "FileIndex":
        """Index the images, audio and arrays below a folder, once per build (`forget`).

        The index of a folder of too many files is empty, with a warning.
        """
        return _index_of(root, ignored)

    @staticmethod
    def forget() -> None:
        """Forget the indexes of an earlier build in this process, whose files may have changed."""
        _index_of.cache_clear()

    def __len__(self) -> int:
        return self._paths.number

    def find(self, name: str, split: str = "") -> str | None:
        """Return the file that a name matches; None unless there is exactly one."""
        matches = self.matches(name, split)
        return matches[0] if len(matches) == 1 else None

    def matches(self, name: str, split: str = "") -> Sequence[str]:
        """Return all files that a name may match, relative to the tree.

        Args:
            name: Name in a table or annotation.
            split: In a tie, a file in a folder of this split wins.
        """
        wanted = _normal(name)
        base = wanted.rpartition("/")[2]
        # Looks up one of possibly thousands of folders with a file of this name.
        tail = "/".join(wanted.split("/")[-2:])
        same: Sequence[str] = [*self._paths.with_tail(tail)] if "/" in tail else []
        alike = self._paths.with_stem(stem(base) if media_kind(base) else base)
        keys = same or [*itertools.islice(alike, _MOST_ALIKE + 1)]
        if not keys and media_kind(base) and (bare := without_upload_prefix(wanted)):
            return self.matches(bare, split)
        if len(keys) > _MOST_ALIKE and not same:
            return keys
        same = same or [key for key in keys if composed(key).rpartition("/")[2] == base]
        must_share = bool(not same and media_kind(base) and not self._paths.is_one_folder)
        nearest = self._nearest(same or keys, wanted.split("/")[:-1], int(must_share))
        in_split = [key for key in nearest if split and split in _splits_of(key)]
        return in_split if len(in_split) == 1 else nearest

    def _nearest(self, keys: Sequence[str], folders: Sequence[str], least: int) -> Sequence[str]:
        """Return the files that share the most folders; none if `folders` exist elsewhere."""
        shared = [_num_shared(key.split("/")[:-1], folders) for key in keys]
        most = max(shared, default=0)
        if most < least or (folders and not most and folders[-1] in self._paths.folders):
            return []
        splits = set(filter(is_split, folders))
        nearest = [key for key, number in zip(keys, shared, strict=True) if number == most]
        return [
            key for key in nearest if not splits or splits >= set(filter(is_split, key.split("/")))
        ]


@functools.lru_cache(maxsize=4)
def _index_of(root: str, ignored: Ignored) -> FileIndex:
    def keys() -> Iterator[str]:
        number = 0
        for folder, names in storage.list_names(root):
            number += len(names)
            if number > _MOST_FILES:
                raise _TooManyError
            paths = (joined(folder, name) for name in names)
            yield from (key for key in paths if media_kind(key) and not ignored(key))

    if not storage.is_directory(root):
        return FileIndex(())
    try:
        return FileIndex(keys())
    except _TooManyError:
        _LOG.warning(
            "%s has over %s files, so names are not looked up in it; pass --image-root FOLDER, the "
            "folder of the named files",
            *(root, f"{_MOST_FILES:,}"),
        )
        return FileIndex(())


class _TooManyError(Exception):
    """A folder has more files than an index can hold."""


def _normal(name: str) -> str:
    """Normalize a path to forward slashes, without drive, `.` and `..`."""
    path = _DRIVE.sub("", composed(name.strip().replace("\\", "/")), count=1)
    return "/".join(part for part in path.split("/") if part not in ("", ".", ".."))


def _num_shared(one: Sequence[str], other: Sequence[str]) -> int:
    """Count the trailing folders that two paths share."""
    pairs = zip(reversed(one), reversed(other), strict=False)
    return len([*itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)])


def _splits_of(key: str) -> set[str | None]:
    return set(map(split_in_name, key.split("/")[:-1]))


class _Paths:
    """Paths by their name without suffix and by their last folder and name.

    A path takes its text and two numbers of 64 bits: 28 bits are of the hash of a name, 36 are the
    place of the path in the text of all paths. The sorted numbers are searched, and the paths that
    they lead to are compared. Both are in files without names, whose pages the system keeps in
    memory while there is room.

    Attributes:
        number: Number of paths.
        folders: Names of the folders in them.
        is_one_folder: Whether all of them are in one folder.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self.number = 0
        self.folders: set[str] = set()
        with (
            naming_full_disk(tempfile.gettempdir()),
            tempfile.TemporaryFile(buffering=_BUFFER_BYTES) as text,
            tempfile.TemporaryFile(buffering=_BUFFER_BYTES) as numbers,
        ):
            self.is_one_folder = self._add(keys, text, numbers)
            self._text, sorted_numbers = _mapped(text), _mapped(numbers)
        np.frombuffer(sorted_numbers, np.uint64).sort()
        self._numbers = memoryview(sorted_numbers).cast("Q")

    def _add(self, keys: Iterable[str], text: IO[bytes], numbers: IO[bytes]) -> bool:
        """Add paths; return whether all of them are in one folder."""
        homes = list[str]()  # of consecutive paths, at most two
        place = 0
        for self.number, key in enumerate(keys, 1):
            home, _, base = key.rpartition("/")
            if home not in homes[-1:]:
                homes = [*homes, home][-2:]
                self.folders.update(home.split("/"))
            names = stem(composed(base)), _tail(home, base)
            numbers.write(_PAIR.pack(*(_hash(name) << _PLACE_BITS | place for name in names)))
            place += text.write(key.encode(errors="surrogatepass") + _END)
        return len(homes) == 1

    def with_stem(self, name: str) -> Iterator[str]:
        """Yield the paths of files with a name without suffix."""
        return self._found(name, lambda key: stem(composed(key)) == name)

    def with_tail(self, tail: str) -> Iterator[str]:
        """Yield the paths that end with a folder and a name: "cat/1.jpg"."""
        return self._found(tail, lambda key: _tail(*key.rpartition("/")[::2]) == tail)

    def _found(self, name: str, fits: Callable[[str], bool]) -> Iterator[str]:
        wanted = _hash(name)
        at = bisect.bisect_left(self._numbers, wanted << _PLACE_BITS)
        before = -1
        while at < len(self._numbers) and self._numbers[at] >> _PLACE_BITS == wanted:
            place = self._numbers[at] & (1 << _PLACE_BITS) - 1
            text = self._text[place : self._text.find(_END, place)]
            key = text.decode(errors="surrogatepass")
            if place != before and fits(key):
                yield key
            at, before = at + 1, place


def _mapped(file: IO[bytes]) -> mmap.mmap | bytearray:
    """Return the bytes of a file, which stay when it is closed."""
    file.flush()
    size = os.fstat(file.fileno()).st_size
    return mmap.mmap(file.fileno(), size) if size else bytearray()


def _tail(home: str, base: str) -> str:
    return f"{home.rpartition('/')[2]}/{composed(base)}"


def _hash(name: str) -> int:
    return zlib.crc32(name.encode(errors="surrogatepass")) >> 4
