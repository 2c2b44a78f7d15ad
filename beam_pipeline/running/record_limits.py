"""Limits of CPU time and memory for a record in a worker process, enforced by the system.

A decoder in C cannot be interrupted from Python. So the system ends a process that exceeds the
time with SIGPROF, and `run_isolated` finds the record. Memory beyond the limit is refused, which
Python and its libraries raise as MemoryError.

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

from beam_pipeline.errors import RecordError
from beam_pipeline.files.storage import ReadFile

# Memory of a record, and its multiple of the bytes of large files.
MAX_RECORD_BYTES = 1 << 30
_TIMES_ITS_FILES = 16
_LARGE_FILE_BYTES = 16 << 20
_STATM = Path("/proc/self/statm")


def too_large() -> RecordError:
    """Return the error of a record that needs too much memory."""
    limit = f"{MAX_RECORD_BYTES >> 20:,} MiB"
    return RecordError(
        "took too much memory", f"over {limit} in addition to its files; leave it out"
    )


def too_slow(seconds: float) -> RecordError:
    """Return the error of a record that took longer."""
    return RecordError(
        "took too long",
        f"over {seconds:g} s of CPU time; leave it out, or allow more by max_record_seconds",
    )


@contextlib.contextmanager
def ending_after(seconds: float) -> Iterator[Callable[[], None]]:
    """End this worker process once all its threads have used so much CPU time.

    Yields a function that restarts the time. The limit is up to a tenth longer, as not every
    record costs a system call.
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
    """Limit this worker process's memory to its current size and that of its records.

    Yields a replacement for `read` that raises the limit for large files. Without /proc there is no
    limit.
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
    """Return this process's memory that counts towards the limit: private and writable."""
    return int(_STATM.read_text().split()[5]) * resource.getpagesize()
