"""Settings and messages around the import of TensorFlow."""

import contextlib
import gc
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

from tfrecord_dataset import standard_streams

_LEVEL = "TF_CPP_MIN_LOG_LEVEL"
# TensorFlow reads these before its first operation. It keeps freed host memory: returning it to the
# system after each step took 2.1 of 4.9 CPU seconds of small steps on a CPU (now 0.3).
_MEMORY = {
    "TF_CPU_ALLOCATOR_USE_BFC": "true",
    "TF_CPU_BFC_MEM_LIMIT_IN_MB": str(1 << 20),  # no limit; the default is 64 GB
}
# What it logs before it has read its log level.
_EARLY_NOTE = re.compile(rb"WARNING: All log messages before absl::InitializeLog|I0000 00:00:")


def set_up(*, debug: bool = False, deterministic: bool = False) -> None:
    """Sets what TensorFlow reads when it is imported; for `--debug`, that it logs all."""
    standard_streams.set_up_log()
    # Its errors are those of a lost worker, which one line tells; or, of each parallel map that a
    # deterministic run makes serial, that it has an attribute too many.
    is_noisy = deterministic or "TF_CONFIG" in os.environ
    os.environ.setdefault(_LEVEL, "0" if debug else "3" if is_noisy else "2")
    keep_memory()


def keep_memory() -> None:
    """Lets TensorFlow keep host memory that it frees, unless the user has decided that."""
    for name, value in _MEMORY.items():
        os.environ.setdefault(name, value)


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """For TensorFlow's import: no notes, no garbage collection (a fifth of its time).

    Keras does not find scikit-learn, of which it would make wrappers (a quarter).
    """
    modules: dict[str, Any] = sys.modules
    with without_early_notes():
        gc.disable()
        modules.setdefault("sklearn", None)
        try:
            yield
        finally:
            if modules["sklearn"] is None:
                del modules["sklearn"]
            gc.freeze()
            gc.enable()


@contextlib.contextmanager
def without_early_notes() -> Iterator[None]:
    """Leaves out what TensorFlow writes to stderr's descriptor at each start, at any log level."""
    if "tensorflow" in sys.modules or os.environ.setdefault(_LEVEL, "2") == "0":
        yield
        return
    with tempfile.TemporaryFile() as notes, os.fdopen(os.dup(2), "wb") as stderr:
        os.dup2(notes.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(stderr.fileno(), 2)
            notes.seek(0)
            stderr.writelines(line for line in notes if not _EARLY_NOTE.match(line))
