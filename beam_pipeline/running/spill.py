"""Data that waits between the stages of a local job, in a file.

Beam's local runner holds everything that its shuffles pass on, and copies it to group it: for ten
million records that was the machine's memory. For spilled data it holds 16 bytes per table.
"""

import contextlib
import dataclasses
import os
import struct
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from beam_pipeline.files.local import read_at
from tfrecord_dataset.durable import naming_full_disk

_T = TypeVar("_T")

# (offset, length) in the file.
_REFERENCE = struct.Struct("<QQ")
_APPENDING = threading.Lock()
_NO_FILE = -1


@dataclasses.dataclass(frozen=True, slots=True)
class Spill:
    """Replaces bytes in shuffles by references to a file; without a file they stay as they are."""

    file: int = _NO_FILE
    folder: str = ""

    def put(self, data: bytes) -> bytes:
        """Return the element for `data`; OSError if the disk is full."""
        if self.file == _NO_FILE:
            return data
        with _APPENDING, naming_full_disk(self.folder):
            offset = os.lseek(self.file, 0, os.SEEK_END)
            left = memoryview(data)
            while left:
                left = left[os.write(self.file, left) :]
        return _REFERENCE.pack(offset, len(data))

    def get(self, element: bytes) -> bytes:
        """Return the data of an element from `put`."""
        if self.file == _NO_FILE:
            return element
        return read_at(self.file, *_REFERENCE.unpack(element))

    def all(self, elements: Iterable[bytes]) -> Iterable[bytes]:
        """Return the data of elements; can be iterated repeatedly."""
        return elements if self.file == _NO_FILE else Repeatable(lambda: map(self.get, elements))


@dataclasses.dataclass(frozen=True, slots=True)
class Repeatable(Iterable[_T]):
    """Iterable that makes a new iterator each time."""

    make: Callable[[], Iterator[_T]]

    def __iter__(self) -> Iterator[_T]:
        return self.make()


NOT_SPILLED = Spill()


def spill_of(values: Any) -> Spill:
    """Return the spill of the job that `values` are in; a user's own pipeline has none."""
    spill: Spill = getattr(values.pipeline, "spill", NOT_SPILLED)
    return spill


@contextlib.contextmanager
def spilling(folder: str | None = None) -> Iterator[Spill]:
    """Open an unnamed file in a local folder, which the system deletes with its process."""
    folder = folder or tempfile.gettempdir()
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        yield Spill(file.fileno(), folder)
