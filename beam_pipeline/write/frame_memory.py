"""Shared memory for encoded records of worker processes; a pipe would copy them three times.

The memory is in unnamed files that this process creates and the worker opens as /proc/PID/fd/N,
so that a killed process leaves nothing behind. On systems without it, such as macOS, records go
through the pipe.

No Beam here: worker processes import this module.
"""

import contextlib
import itertools
import os
import uuid
from typing import NamedTuple

# A read returns at most 2 GiB.
_MOST = 1 << 30
# Memory kept for the next chunk; larger files are truncated.
_KEPT = 4 << 20


class MemoryFile(NamedTuple):
    """An in-memory file as seen by another process.

    Attributes:
        path: Valid while the file is open; later it may name another file.
        mark: Unique mark of the file.
    """

    path: str
    mark: str


class FrameMemory(contextlib.ExitStack):
    """In-memory files for concurrent calls, used in turn, with results in order.

    Args:
        count: Number of files; one more than the calls in flight when a new one starts.
    """

    def __init__(self, count: int):
        super().__init__()
        files: list[tuple[int, MemoryFile]] = []
        for _ in range(count if hasattr(os, "memfd_create") else 0):
            mark = uuid.uuid4().hex
            number = os.memfd_create(mark)
            self.callback(os.close, number)
            files.append((number, MemoryFile(f"/proc/{os.getpid()}/fd/{number}", mark)))
        self._given = itertools.cycle(files)
        self._taken = itertools.cycle(files)

    def give(self) -> MemoryFile | None:
        """Return the file of the next call."""
        return next(self._given, (0, None))[1]

    def take(self, num_bytes: int) -> bytes:
        """Take the bytes of the next result; needed for every call."""
        number, file = next(self._taken, (0, None))
        if not file:
            return b""
        left = os.pread(number, num_bytes, 0)
        if num_bytes > _KEPT:
            os.truncate(number, 0)
        return left


def leave(frames: bytes, file: MemoryFile | None) -> bool:
    """Write bytes to a file of `FrameMemory`; return False if the pipe must carry them."""
    if not file or not 0 < len(frames) <= _MOST:
        return False
    try:
        with open(file.path, "r+b", buffering=0) as opened:
            if file.mark not in os.readlink(f"/proc/self/fd/{opened.fileno()}"):
                return False  # the parent has given up and opened another file
            return opened.write(frames) == len(frames)
    except OSError:
        return False
