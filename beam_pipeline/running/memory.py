"""How the launching process keeps its memory small, and its garbage collector quiet."""

import contextlib
import ctypes
import gc
from collections.abc import Iterator

# malloc.h
_M_MMAP_THRESHOLD = -3
_LARGE_BLOCK_BYTES = 256 << 10


@contextlib.contextmanager
def collection_paused() -> Iterator[None]:
    """Keeps the garbage collector out of imports, and from what they leave for good.

    They leave a million objects: going through them took a quarter of the start.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


def collect_rarely() -> None:
    """Keeps the garbage collector from going through every waiting record again and again.

    References hold no cycles; 50,000 small images take 17.3 CPU seconds so, else 19.5. Errors that
    were caught do hold some, and with them what the frames held that they passed.
    """
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)


@contextlib.contextmanager
def collecting_rarely() -> Iterator[None]:
    """`collect_rarely`, for a while."""
    before = gc.get_threshold()
    collect_rarely()
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def return_memory() -> None:
    """Lets the C library give large blocks back to the system as soon as they are free.

    Else it keeps them once such blocks have been freed: 65 MB of a build of 50,000 tiny images.
    """
    with contextlib.suppress(AttributeError, OSError):  # another C library than glibc
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_BLOCK_BYTES)
