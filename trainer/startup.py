"""What a command does around the import of TensorFlow: its settings, its garbage, its messages."""

import contextlib
import gc
import os
import re
import signal
import sys
from collections.abc import Iterator
from typing import Any

from tfrecord_dataset import standard_streams

_LEVEL = "TF_CPP_MIN_LOG_LEVEL"
# TensorFlow's C++ side logs a lot at each start, and little of it matters.
_QUIET = "2"
# TensorFlow reads these before its first operation.
_MEMORY = {
    # Keep freed host memory: returning it to the system after each step, and getting it again
    # page by page, took 2.1 of 4.9 CPU seconds (now 0.3) of small steps on a CPU, and a fifth to a
    # third of those of float32 batches.
    "TF_CPU_ALLOCATOR_USE_BFC": "true",
    "TF_CPU_BFC_MEM_LIMIT_IN_MB": str(1 << 20),  # no limit; the default is 64 GB
}
# What it logs before it has read its log level.
_EARLY_NOTE = re.compile(rb"WARNING: All log messages before absl::InitializeLog|I0000 00:00:")


def set_up(*, debug: bool = False, deterministic: bool = False) -> None:
    """Sets what TensorFlow reads when it is imported; for `--debug`, that it logs all.

    Lines of the log look as those of `python -m beam_pipeline`.
    """
    standard_streams.set_up_log()
    if debug:
        os.environ.setdefault(_LEVEL, "0")
    # Its errors are those of a lost worker, which one line tells; or, of each parallel map that a
    # deterministic run makes serial, that it has an attribute too many.
    elif os.environ.get("TF_CONFIG") or deterministic:
        os.environ.setdefault(_LEVEL, "3")
    os.environ.setdefault(_LEVEL, _QUIET)
    keep_memory()


def keep_memory() -> None:
    """Lets TensorFlow keep host memory that it frees, unless the user has decided that."""
    for name, value in _MEMORY.items():
        os.environ.setdefault(name, value)


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """For TensorFlow's import: no garbage is collected, no early notes come on stderr.

    Going through TensorFlow's objects, which stay, took a fifth of its import. Nor does Keras find
    scikit-learn, of which it would have wrappers that nothing here uses: a quarter.
    """
    with without_early_notes(), _without_scikit_learn():
        gc.disable()
        try:
            yield
        finally:
            gc.freeze()
            gc.enable()


@contextlib.contextmanager
def _without_scikit_learn() -> Iterator[None]:
    """It cannot be imported now, unless it was before; later it can."""
    modules: dict[str, Any] = sys.modules
    is_new = "sklearn" not in modules
    if is_new:
        modules["sklearn"] = None
    try:
        yield
    finally:
        if is_new:
            del modules["sklearn"]


@contextlib.contextmanager
def without_early_notes() -> Iterator[None]:
    """Passes stderr through a child process, which shows all else even if this one aborts.

    TensorFlow writes these notes to the file descriptor at each start, whatever its log level. Does
    nothing where TensorFlow is imported already, or its notes are asked for.
    """
    if "tensorflow" in sys.modules or os.environ.setdefault(_LEVEL, _QUIET) == "0":
        yield
        return
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _pass_on(reading, writing)
    os.close(reading)
    stderr = os.dup(2)
    os.dup2(writing, 2)
    os.close(writing)
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.waitpid(child, 0)


def _pass_on(reading: int, writing: int) -> None:
    """The child process: ends with the last of those that write."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.close(writing)
    with os.fdopen(reading, "rb") as lines:
        for line in lines:
            if not _EARLY_NOTE.match(line):
                os.write(2, line)
    os._exit(0)
