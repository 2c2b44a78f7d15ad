"""Parallelism inside a stage: worker processes on this machine, and threads for remote files.

Small files take much Python time between reads, hashes and decodes; only processes help.
Threads overlap the latency of remote files, and decodes if no process may be started.

No Beam here: worker processes import this module.
"""

import importlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import loky

from beam_pipeline import kinds
from beam_pipeline.batch import Examples
from beam_pipeline.errors import UnavailableError
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef, file_of
from beam_pipeline.running.worker_processes import Ahead, WorkerPool

_T = TypeVar("_T")
_R = TypeVar("_R")

# Requests of a process that wait at the same time, and records that it works on meanwhile, which
# take memory.
_READS_AT_ONCE = 64
MOST_RECORDS_AT_ONCE = 16
_RECORDS_LOOKED_AT = 8
# Shards of fewer bytes are read faster without processes.
_FEW_BYTES = 8 << 20

_WORK = (
    "beam_pipeline.inspect.inspect_batch",
    "beam_pipeline.assign.packing",
    "beam_pipeline.write.encoding",
)


def usable_cpus() -> int:
    """Return the number of CPUs available to this process, perhaps limited by a container."""
    count: int = loky.cpu_count()
    return count


class Parallelism(NamedTuple):
    """Records that a process reads at the same time, and worker processes (0 for none)."""

    threads: int = 1
    processes: int = 0


def choose_parallelism(examples: Iterable[Examples], threads: int, processes: int) -> Parallelism:
    """Choose the parallelism for examples, the first of which show whether files are remote.

    `threads` is the user's number of threads, which excludes processes, or 0.
    """
    if threads:
        return Parallelism(threads=threads)
    files = (file for each in examples for file in files_of(each, _RECORDS_LOOKED_AT))
    remote = any(storage.is_remote(file.path) for file in files)
    return Parallelism(threads=_READS_AT_ONCE if remote else 1, processes=processes)


def files_of(examples: Examples, most: int | None = None) -> Iterator[FileRef]:
    """Yield the files or ranges that the first `most` examples are read from."""
    yield from filter(None, examples.fields.get("example", ())[:most])
    for values in examples.features.values():
        for value in () if kinds.are_by_column(map(type, values)) else values[:most]:
            if isinstance(file := file_of(value), FileRef):
                yield file


def are_by_column(examples: Examples) -> bool:
    """Whether all values are checked by column: none is decoded, and none is in a file."""
    columns = examples.features.values()
    is_existing = "example" in examples.fields
    return not is_existing and all(kinds.are_by_column(map(type, values)) for values in columns)


def map_threads(function: Callable[[_T], _R], items: Iterable[_T], threads: int) -> Iterator[_R]:
    """Map a function in threads; results are in order."""
    if threads == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from Ahead[_R](pool, 2 * threads).map(function, items)


class Turns:
    """Of many threads few work at the same time; one that waits for a read lets another work."""

    def __init__(self, threads: int):
        self._are_taken = threads > MOST_RECORDS_AT_ONCE
        self._free = threading.Semaphore(MOST_RECORDS_AT_ONCE)

    def working(self, function: Callable[[_T], _R]) -> Callable[[_T], _R]:
        """Return a function that works in turns."""
        if not self._are_taken:
            return function

        def work(item: _T) -> _R:
            with self._free:
                return function(item)

        return work

    def waiting(self, read: storage.ReadFile) -> storage.ReadFile:
        """Return a function that reads, for a thread that works in turns."""
        if not self._are_taken:
            return read

        def wait(*arguments: Any) -> bytes:
            self._free.release()
            try:
                return read(*arguments)
            finally:
                self._free.acquire()

        return wait


def map_shards(
    function: Callable[[_T], _R], shards: Sequence[_T], paths: Sequence[str], processes: int
) -> list[_R]:
    """Call a function with every shard of a dataset, in order; in processes if large and local."""
    if any(map(storage.is_remote, paths)):
        return list(map_threads(function, shards, MOST_RECORDS_AT_ONCE))
    if sum(size or 0 for size in storage.sizes(paths)) < _FEW_BYTES:
        return list(map(function, shards))
    are_own = started_processes() is None
    try:
        return list(start_processes(max(1, processes)).ahead().map(function, shards))
    finally:
        if are_own:
            end_processes()


def started_processes() -> WorkerPool | None:
    """Return the worker processes that all stages share, if they were started."""
    return _processes


def start_processes(count: int) -> WorkerPool:
    """Start worker processes once, and return them; UnavailableError if none can be started.

    They do not import the program's `__main__`, and end soon after this process.
    """
    global _processes  # one pool per process
    if _processes is None:
        try:
            _processes = WorkerPool(count, import_work)
        except OSError as error:
            raise UnavailableError(
                f"worker processes cannot be started ({error.strerror}); end other programs, or "
                "pass --threads 1"
            ) from error
    return _processes


def end_processes() -> None:
    """End the worker processes, if there are any."""
    global _processes
    if _processes is not None:
        processes, _processes = _processes, None
        processes.end()


_processes: WorkerPool | None = None


def import_work() -> None:
    """Import the modules that worker processes need."""
    for module in _WORK:
        importlib.import_module(module)
