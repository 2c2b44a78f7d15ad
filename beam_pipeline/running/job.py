"""What surrounds a job on this machine: the lock, the progress, what a failure leaves and says."""

import contextlib
import ctypes
import fcntl
import gc
import os
import re
import tempfile
from collections.abc import Iterator

from apache_beam.options.pipeline_options import PipelineOptions

from beam_pipeline import errors
from beam_pipeline.files import storage
from beam_pipeline.running import progress
from beam_pipeline.running.parallel import end_processes
from beam_pipeline.running.runner import NOT_LOCAL, LocalJob, is_local, spare_processes

# malloc.h
_M_MMAP_THRESHOLD = -3
_LARGE_BLOCK_BYTES = 256 << 10


@contextlib.contextmanager
def collecting_rarely() -> Iterator[None]:
    """Keeps the garbage collector from going through every waiting record again and again.

    References hold no cycles; 50,000 small images take 17.3 CPU seconds so, else 19.5.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)
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


@contextlib.contextmanager
def watched(options: PipelineOptions) -> Iterator[LocalJob]:
    """Shows the progress of a local job; yields what its stages are told of this machine."""
    if not is_local(options):
        yield NOT_LOCAL
        return
    return_memory()
    with (
        tempfile.TemporaryDirectory(prefix="beam-tfrecords-progress-") as folder,
        progress.shown(folder),
    ):
        try:
            yield LocalJob(progress_dir=folder, processes=spare_processes(options))
        finally:
            end_processes()


@contextlib.contextmanager
def exclusive(directory: str) -> Iterator[None]:
    """Holds a dataset's directory against other writers on this machine, while this one runs.

    The lock is on the directory itself and goes with the process, however it ends; remote
    outputs have none.
    """
    storage.make_dirs(directory)
    if storage.is_remote(directory):
        yield
        return
    lock = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise errors.ConfigError(
            f"another build is writing {directory}; wait for it, or choose another "
            "--name, --version or --output"
        ) from error
    finally:
        os.close(lock)


# Runners hand on a worker's error as text, with the tracebacks of its causes before it.
_OUR_ERROR = re.compile(
    r"beam_pipeline\.errors\.(?P<name>\w+): (?P<message>.*?)"
    r"(?: \[while running .*?\])?(?:\\n|\n|$)"
)


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Raises the project's own error in place of one that carries it; never one from itself."""
    try:
        yield
    except Exception as error:
        told = explain(error)
        if told is error:
            raise
        raise told from error


def explain(error: Exception) -> Exception:
    """The project's own error that `error` carries, as itself or as text; else `error`."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, errors.BeamTFRecordsError):
            return cause
        cause = cause.__cause__
    if all_found := list(_OUR_ERROR.finditer(str(error))):
        found = all_found[-1]
        kind = getattr(errors, found["name"])
        if kind is errors.RecordError:
            return errors.BeamTFRecordsError(found["message"])
        return kind(found["message"])  # type: ignore[no-any-return]
    return error
