"""Encoded records come from a worker process through memory; a pipe copies them three times.

The memory is that of files without a name, which this process makes and the worker process opens
as /proc/PID/fd/N, so that nothing is left behind by whichever is killed. Where there is none, as on
macOS, records come by the pipe.

No Beam here: worker processes import this module.
"""

import contextlib
import itertools
import os
import uuid
from typing import NamedTuple

# A read returns at most 2 GiB.
_MOST = 1 << 30
# So much is kept for the next chunk; what a large record took is given back.
_KEPT = 4 << 20


class MemoryFile(NamedTuple):
    """A file in memory, as another process finds it.

    Attributes:
        path: While it is open; later another file may be there.
        mark: Which no other file has.
    """

    path: str
    mark: str


class FrameMemory(contextlib.ExitStack):
    """Files in memory, used in turn: by calls under way, whose results come in order.

    Args:
        count: How many; one more than calls that may be under way when another is made.
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
        """The file of the next call."""
        return next(self._given, (0, None))[1]

    def take(self, num_bytes: int) -> bytes:
        """What the call that is next in turn has left; to be asked of every call."""
        number, file = next(self._taken, (0, None))
        if not file:
            return b""
        left = os.pread(number, num_bytes, 0)
        if num_bytes > _KEPT:
            os.truncate(number, 0)
        return left


def leave(frames: bytes, file: MemoryFile | None) -> bool:
    """Leaves bytes in a file of `FrameMemory`; False where they have to come by the pipe."""
    if not file or not 0 < len(frames) <= _MOST:
        return False
    try:
        with open(file.path, "r+b", buffering=0) as opened:
            if file.mark not in os.readlink(f"/proc/self/fd/{opened.fileno()}"):
                return False  # whoever waited has given up, and opened another
            return opened.write(frames) == len(frames)
    except OSError:
        return False
