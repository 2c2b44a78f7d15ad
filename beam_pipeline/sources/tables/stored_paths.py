"""Paths of files by their names, for as many files as an input may have.

A name is a number of 64 bits: 28 of its hash, 36 of the place of its path in the text of all paths.
The sorted numbers are searched, and the paths that they lead to are compared. Many paths are in
files without names, whose pages the system keeps in memory only while there is room.
"""

import bisect
import contextlib
import mmap
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from beam_pipeline.records import composed
from beam_pipeline.sources.paths import stem
from tfrecord_dataset.durable import naming_full_disk

_PLACE_BITS = 36
_BYTES_IN_MEMORY = 1 << 20
_PAIR = struct.Struct("=QQ")
_END = b"\0"


class StoredPaths:
    """Paths by their name without suffix and by their last folder and name: 16 bytes and its text.

    Attributes:
        number: Number of paths.
        folders: Names of the folders in them.
        is_one_folder: Whether all of them are in one folder.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self.number = 0
        self.folders: set[str] = set()
        with contextlib.closing(_Bytes()) as text, contextlib.closing(_Bytes()) as numbers:
            self.is_one_folder = self._add(keys, text, numbers)
            self._text, sorted_numbers = text.all(), numbers.all()
        np.frombuffer(sorted_numbers, np.uint64).sort()
        self._numbers = memoryview(sorted_numbers).cast("Q")

    def _add(self, keys: Iterable[str], text: "_Bytes", numbers: "_Bytes") -> bool:
        """Add paths; return whether all of them are in one folder."""
        homes = list[str]()  # of consecutive paths, at most two
        for self.number, key in enumerate(keys, 1):
            home, _, base = key.rpartition("/")
            if home not in homes[-1:]:
                homes = [*homes, home][-2:]
                self.folders.update(home.split("/"))
            names = stem(composed(base)), _tail(home, base)
            numbers.add(_PAIR.pack(*(_hash(name) << _PLACE_BITS | text.size for name in names)))
            text.add(key.encode(errors="surrogatepass") + _END)
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


class _Bytes:
    """Bytes in memory, and in a file once there are many.

    Attributes:
        size: Number of bytes.
    """

    def __init__(self) -> None:
        self.size = 0
        self._waiting = bytearray()
        self._file: Any = None

    def add(self, data: bytes) -> None:
        self._waiting += data
        self.size += len(data)
        if len(self._waiting) >= _BYTES_IN_MEMORY:
            self._file = self._file or tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
            self._write()

    def all(self) -> bytearray | mmap.mmap:
        """Return all bytes."""
        if self._file is None:
            return self._waiting
        self._write()
        return mmap.mmap(self._file.fileno(), self.size)

    def close(self) -> None:
        if self._file:
            self._file.close()  # a map of it stays

    def _write(self) -> None:
        with naming_full_disk(tempfile.gettempdir()):
            left = memoryview(self._waiting)
            while left:
                left = left[self._file.write(left) :]
        self._waiting = bytearray()


def _tail(home: str, base: str) -> str:
    return f"{home.rpartition('/')[2]}/{composed(base)}"


def _hash(name: str) -> int:
    return zlib.crc32(name.encode(errors="surrogatepass")) >> 4
