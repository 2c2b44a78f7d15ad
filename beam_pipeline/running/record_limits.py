"""What one record may take of a worker process: CPU time and memory, both held by the system.

A decoder in C returns to no handler of Python's. So a process whose time is up is ended by
SIGPROF, and `isolation` finds out which record that was; memory beyond the limit is refused to
whoever asks for it, which Python and its libraries raise as MemoryError.

No Beam here: worker processes import this module.
"""

import contextlib
import math
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from beam_pipeline.files.reading import ReadFile

# Reasons of `Rejected`.
TOO_SLOW = "took too long"
TOO_MUCH_MEMORY = "took too much memory"
CRASHED = "crashed its process"

# A record may take so much, and so many times the bytes of its files, where these are large.
MAX_RECORD_BYTES = 1 << 30
_TIMES_ITS_FILES = 16
_LARGE_FILE_BYTES = 16 << 20
_STATM = Path("/proc/self/statm")


def too_large() -> str:
    """The detail of a reject that asked for memory that it was not given."""
    return f"over {MAX_RECORD_BYTES >> 20:,} MiB beside what its files take; leave it out"


def too_slow(seconds: float) -> str:
    """The detail of a reject that took longer."""
    return f"over {seconds:g} s of CPU time; leave it out, or allow more by max_record_seconds"


@contextlib.contextmanager
def ending_after(seconds: float) -> Iterator[Callable[[], None]]:
    """Lets the system end this process once it has used so much CPU time, in all its threads.

    Yields what starts the time anew, which may last a tenth longer: the system is not asked for
    every record. For worker processes alone.
    """
    slack = seconds / 10
    started = -math.inf

    def start() -> None:
        nonlocal started
        now = time.monotonic()
        if now - started > slack:
            signal.setitimer(signal.ITIMER_PROF, seconds + slack)
            started = now

    start()
    try:
        yield start
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


@contextlib.contextmanager
def bounded_memory(read: ReadFile, records_at_once: int) -> Iterator[ReadFile]:
    """Lets the system refuse memory to this process beyond what it has now and records may take.

    Yields `read` as records are to be read meanwhile, so that more is allowed to large files.
    For worker processes alone; where the system does not tell what a process has, nothing is done.
    """
    if not _STATM.exists():
        yield read
        return
    before, hardest = resource.getrlimit(resource.RLIMIT_DATA)
    lock = threading.Lock()
    allowed = _data_bytes() + records_at_once * MAX_RECORD_BYTES

    def limit(num_bytes: int) -> None:
        within = num_bytes if hardest == resource.RLIM_INFINITY else min(num_bytes, hardest)
        resource.setrlimit(resource.RLIMIT_DATA, (within, hardest))

    def read_and_allow(*arguments: object) -> bytes:
        nonlocal allowed
        try:
            data = read(*arguments)
        except MemoryError:  # the file itself is larger
            with lock:
                resource.setrlimit(resource.RLIMIT_DATA, (before, hardest))
                data = read(*arguments)
                limit(allowed)
        if len(data) >= _LARGE_FILE_BYTES:
            with lock:
                allowed += _TIMES_ITS_FILES * len(data)
                limit(allowed)
        return data

    limit(allowed)
    try:
        yield read_and_allow
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, hardest))


def _data_bytes() -> int:
    """What counts towards the limit of this process: its writable memory that is no file's."""
    return int(_STATM.read_text().split()[5]) * resource.getpagesize()
