"""Work inside a stage: worker processes on this machine, threads where reads have to wait.

Between the reads, hashes and decodes of small files lies Python, which only processes share
out; threads overlap the waiting for remote files, and decodes where no process may be started.

No Beam here: worker processes import this module.
"""

import dataclasses
import importlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import loky

from beam_pipeline import kinds
from beam_pipeline.errors import UnavailableError
from beam_pipeline.files import storage
from beam_pipeline.records import (
    Element,
    Entry,
    FileRef,
    Inspected,
    InspectedElement,
    file_of,
)
from beam_pipeline.running.memory import collection_paused
from beam_pipeline.running.worker_pool import Ahead, WorkerPool

_T = TypeVar("_T")
_R = TypeVar("_R")

_THREADS_FOR_REMOTE_FILES = 16
_RECORDS_LOOKED_AT = 8
# Of shards: below this, processes take longer to start than they save.
_FEW_BYTES = 8 << 20

# What the stages run in worker processes.
_WORK = (
    "beam_pipeline.inspect.batch",
    "beam_pipeline.assign.packing",
    "beam_pipeline.write.encoding",
)
# Processes that have had nothing to do for so long end.
_IDLE_S = 60


def usable_cpus() -> int:
    """CPUs that this process may use: less than the machine's under taskset or in a container."""
    count: int = loky.cpu_count()
    return count


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Parallelism:
    """How work is shared out.

    Attributes:
        threads: Records at once in a process.
        processes: Worker processes; 0 does all in this one.
    """

    threads: int = 1
    processes: int = 0


def choose_parallelism(
    elements: Iterable[Element | Inspected], threads: int, processes: int
) -> Parallelism:
    """What pays for the files of `elements`.

    Args:
        elements: Of them, the files of the first records are looked at: remote ones have to be
            waited for.
        threads: Threads that were asked for, or 0; they take no processes beside them.
        processes: Worker processes that may be started, or 0.
    """
    if threads:
        return Parallelism(threads=threads)
    records = (element for element in elements if isinstance(element, Entry))
    files = itertools.chain.from_iterable(
        map(files_of, itertools.islice(records, _RECORDS_LOOKED_AT))
    )
    remote = any(storage.is_remote(file.path) for file in files)
    return Parallelism(threads=_THREADS_FOR_REMOTE_FILES if remote else 1, processes=processes)


def files_of(element: Element | InspectedElement) -> Iterator[FileRef]:
    """The files that an element is read from, or their ranges."""
    if isinstance(element, Entry):
        if element.example:
            yield element.example
        values = element.features.values()
        for value in () if kinds.are_by_column(values) else values:
            if isinstance(file := file_of(value), FileRef):
                yield file


def map_threads(function: Callable[[_T], _R], items: Iterable[_T], threads: int) -> Iterator[_R]:
    """`map(function, items)`, `threads` at once."""
    if threads == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from Ahead[_R](pool, 2 * threads).map(function, items)


def map_shards(
    function: Callable[[_T], _R], shards: Sequence[_T], paths: Sequence[str], processes: int
) -> list[_R]:
    """`function` of every shard of a dataset, in their order; several at once where that pays.

    Args:
        function: Runs in worker processes, where the shards are large and local.
        shards: What it takes of each shard.
        paths: Where the shards lie.
        processes: That may be started.
    """
    if any(map(storage.is_remote, paths)):
        return list(map_threads(function, shards, _THREADS_FOR_REMOTE_FILES))
    if sum(size or 0 for size in storage.sizes(paths)) < _FEW_BYTES:
        return list(map(function, shards))
    return list(start_processes(max(1, processes)).ahead().map(function, shards))


def started_processes() -> WorkerPool | None:
    """The worker processes of this process, which all its stages share, if there are any."""
    return _processes


def start_processes(count: int) -> WorkerPool:
    """Starts worker processes, or returns those that have been started.

    They do not import the program's `__main__`, and end soon after this process is gone.

    Raises:
        UnavailableError: The system gives them no semaphores.
    """
    global _processes  # one pool a process, as loky's executor is
    if _processes is None:
        try:
            _processes = WorkerPool(count, _IDLE_S, import_work, _WORK)
        except OSError as error:
            raise UnavailableError(
                f"worker processes cannot be started ({error.strerror}); make /dev/shm writable, "
                "or pass --threads 1"
            ) from error
    return _processes


def end_processes() -> None:
    """Ends the worker processes of this process, if it has any."""
    global _processes
    if _processes is not None:
        processes, _processes = _processes, None
        processes.end()


_processes: WorkerPool | None = None


def import_work(modules: Iterable[str] = _WORK) -> None:
    """Imports what worker processes need."""
    with collection_paused():
        for module in modules:
            importlib.import_module(module)
