"""Settings of native libraries, memory and garbage collection for large builds."""

import contextlib
import ctypes
import gc
from collections.abc import Iterator, Mapping

# Environment variables that native libraries read when they are loaded: no threads of their own,
# so that a process may be forked.
ONE_THREAD = {
    "OPENBLAS_NUM_THREADS": "1",  # NumPy's
    "JE_ARROW_MALLOC_CONF": "background_thread:false",  # pyarrow's
}
# Likewise: Python cannot set the pool for Parquet pages, and Arrow's default pool keeps memory.
ONE_POOL = {"ARROW_DEFAULT_MEMORY_POOL": "system"}

# malloc.h
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -2, -3, -8
_LARGE_BLOCK_BYTES = 256 << 10
# Blocks up to glibc's largest limit are allocated on the heap, which grows in steps and is kept.
_BLOCK_OF_HEAP_BYTES, _STEP_BYTES, _KEPT_BYTES = 32 << 20, 16 << 20, 128 << 20


def collect_rarely() -> None:
    """Keep the garbage collector from visiting every waiting record repeatedly.

    References have no cycles, but tracebacks of caught errors do. 20,000 small images take 11.5
    CPU seconds with this setting, and 12.4 without.
    """
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)


@contextlib.contextmanager
def collecting_rarely() -> Iterator[None]:
    """Apply `collect_rarely` in a context."""
    before = gc.get_threshold()
    collect_rarely()
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def reuse_memory() -> None:
    """Make the C library keep freed memory for what any thread allocates next.

    Each new page is a fault: 0.7 million in a build of 10,000 texts of 20 KB, and 1.1 million
    without these settings. The launching process then calls `return_memory`.
    """
    _set_malloc(
        {
            _M_ARENA_MAX: 1,
            _M_MMAP_THRESHOLD: _BLOCK_OF_HEAP_BYTES,
            _M_TOP_PAD: _STEP_BYTES,
            _M_TRIM_THRESHOLD: _KEPT_BYTES,
        }
    )


def return_memory() -> None:
    """Make the C library return large blocks to the system as soon as they are free.

    Otherwise it keeps freed ones: 65 MB in a build of 50,000 tiny images.
    """
    _set_malloc({_M_MMAP_THRESHOLD: _LARGE_BLOCK_BYTES})


def _set_malloc(options: Mapping[int, int]) -> None:
    with contextlib.suppress(AttributeError, OSError):  # another C library than glibc
        for option, value in options.items():
            ctypes.CDLL(None).mallopt(option, value)
