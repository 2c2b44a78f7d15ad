"""Settings and messages around the import of TensorFlow."""

import contextlib
import gc
import os
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

from tfrecord_dataset import standard_streams
from tfrecord_dataset.errors import BeamTFRecordsError

_LEVEL = "TF_CPP_MIN_LOG_LEVEL"
# TensorFlow keeps freed host memory, since returning it took 2.1 of 4.9 CPU seconds of small
# steps. The limit exceeds any memory; the default is 64 GB.
_MEMORY = {"TF_CPU_ALLOCATOR_USE_BFC": "true", "TF_CPU_BFC_MEM_LIMIT_IN_MB": str(1 << 20)}
# TensorFlow aborts with a stack trace if it cannot read this link.
_EXECUTABLE = "/proc/self/exe"
# Messages that TensorFlow logs before it reads its log level.
_EARLY_NOTES = (b"WARNING: All log messages before absl::InitializeLog", b"I0000 00:00:")


def set_up(*, debug: bool = False, hides_errors: bool = False) -> None:
    """Set the environment for TensorFlow's import; with `debug` it logs everything."""
    standard_streams.set_up_log()
    # Its errors then only report a lost worker, that deterministic maps are serial, or attributes
    # that an export ignores.
    is_noisy = hides_errors or "TF_CONFIG" in os.environ
    os.environ.setdefault(_LEVEL, "0" if debug else "3" if is_noisy else "2")


@contextlib.contextmanager
def importing(*, hides_sklearn: bool = True) -> Iterator[None]:
    """Import TensorFlow without early notes, and without garbage collection (1/5 of the time).

    With `hides_sklearn`, Keras makes no wrappers for scikit-learn (1/4 of the time).
    """
    modules: dict[str, Any] = sys.modules
    if sys.platform == "linux" and not os.path.lexists(_EXECUTABLE):
        raise BeamTFRecordsError(
            f"TensorFlow needs /proc, and {_EXECUTABLE} is missing; mount it by `mount -t proc "
            "proc /proc`"
        )
    if "tensorflow" in modules:
        yield
        return
    for name, value in {**_MEMORY, _LEVEL: "2"}.items():
        os.environ.setdefault(name, value)
    if hides_sklearn:
        modules.setdefault("sklearn", None)
    gc.disable()
    with tempfile.TemporaryFile() as notes, os.fdopen(os.dup(2), "wb") as stderr:
        os.dup2(notes.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(stderr.fileno(), 2)
            notes.seek(0)
            stderr.writelines(line for line in notes if not line.startswith(_EARLY_NOTES))
            if hides_sklearn and modules["sklearn"] is None:
                del modules["sklearn"]
            gc.enable()
