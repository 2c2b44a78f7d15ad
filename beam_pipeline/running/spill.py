"""What waits between the stages of a job on this machine lies in a file.

Beam's local runner holds all that its shuffles hand on, and copies it when it groups: of ten
million records that was the memory of the machine. Of what is spilled it holds 16 bytes a table.
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
    """Bytes on their way through a shuffle: references to a file of this process, or themselves.

    Attributes:
        file: The descriptor of the file; -1 where elements cross to other machines.
        folder: Where the file lies.
    """

    file: int = _NO_FILE
    folder: str = ""

    def put(self, data: bytes) -> bytes:
        """The element that stands for `data`.

        Raises:
            OSError: The disk is full.
        """
        if self.file == _NO_FILE:
            return data
        with _APPENDING, naming_full_disk(self.folder):
            offset = os.lseek(self.file, 0, os.SEEK_END)
            left = memoryview(data)
            while left:
                left = left[os.write(self.file, left) :]
        return _REFERENCE.pack(offset, len(data))

    def get(self, element: bytes) -> bytes:
        """What `put` took."""
        if self.file == _NO_FILE:
            return element
        return read_at(self.file, *_REFERENCE.unpack(element))

    def all(self, elements: Iterable[bytes]) -> Iterable[bytes]:
        """What `put` took, one after the other, as often as it is gone through."""
        return elements if self.file == _NO_FILE else Again(lambda: map(self.get, elements))


@dataclasses.dataclass(frozen=True, slots=True)
class Again(Iterable[_T]):
    """What is made anew whenever it is gone through."""

    make: Callable[[], Iterator[_T]]

    def __iter__(self) -> Iterator[_T]:
        return self.make()


# Elements are what they stand for.
NOT_SPILLED = Spill()


def spill_of(values: Any) -> Spill:
    """The spill of the job whose pipeline `values` are in; none in a pipeline of the user's."""
    spill: Spill = getattr(values.pipeline, "spill", NOT_SPILLED)
    return spill


@contextlib.contextmanager
def spilling(folder: str | None = None) -> Iterator[Spill]:
    """A file without a name, which goes with its process, however that ends.

    Args:
        folder: Where it lies, on this machine; None for the system's temporary one.
    """
    folder = folder or tempfile.gettempdir()
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        yield Spill(file.fileno(), folder)
