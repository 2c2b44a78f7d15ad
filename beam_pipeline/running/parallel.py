"""Work inside a stage: worker processes on this machine, threads where reads have to wait.

Between the reads, hashes and decodes of small files lies Python, which only processes share
out; threads overlap the waiting for remote files, and decodes where no process may be started.

No Beam here: worker processes import this module.
"""

import dataclasses
import importlib
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any, Generic, TypeVar

import loky

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
from beam_pipeline.running.worker_pool import PoolCall, WorkerPool

_T = TypeVar("_T")
_R = TypeVar("_R")

_THREADS_FOR_REMOTE_FILES = 16
_RECORDS_LOOKED_AT = 8

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
        for value in element.features.values():
            if isinstance(file := file_of(value), FileRef):
                yield file


class Ahead(Generic[_R]):
    """Calls under way in an executor: a few ahead of the one awaited, results in order.

    Attributes:
        count: How many may be under way when another is made.
    """

    def __init__(self, executor: Executor | WorkerPool, count: int):
        self._executor = executor
        self.count = count
        self._waiting: deque[Future[_R] | PoolCall[Any, _R]] = deque()

    def call(self, function: Callable[[_T], _R], item: _T) -> Iterator[_R]:
        """Submits a call; yields the result of an earlier one, where enough are under way."""
        self._waiting.append(self._executor.submit(function, item))
        if len(self._waiting) > self.count:
            yield self._next()

    def rest(self) -> Iterator[_R]:
        """Awaits and yields all results that are left."""
        while self._waiting:
            yield self._next()

    def _next(self) -> _R:
        try:
            return self._waiting.popleft().result()
        except KeyboardInterrupt:  # what is under way ends with this process
            raise
        except BaseException:
            self.wait()
            raise

    def wait(self) -> None:
        """Awaits all that is under way: nothing of it goes on once the caller has failed."""
        for call in self._waiting:
            call.exception()

    def map(self, function: Callable[[_T], _R], items: Iterable[_T]) -> Iterator[_R]:
        """`map(function, items)`."""
        for item in items:
            yield from self.call(function, item)
        yield from self.rest()


def map_threads(function: Callable[[_T], _R], items: Iterable[_T], threads: int) -> Iterator[_R]:
    """`map(function, items)`, `threads` at once."""
    if threads == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from Ahead[_R](pool, 2 * threads).map(function, items)


class WorkerProcesses:
    """The worker processes of this process, which all its stages share.

    They do not import the program's `__main__`, and end soon after this process is gone.

    Args:
        count: How many.
    """

    def __init__(self, count: int):
        self._count = count
        self._pool = WorkerPool(count, _IDLE_S)
        self._first = [self._pool.submit(import_work, _WORK) for _ in range(count)]

    @property
    def ready(self) -> bool:
        """Whether one of them has started: until then work is done sooner in this process."""
        return any(future.done() for future in self._first)

    def ahead(self) -> Ahead[Any]:
        """Calls in these processes."""
        return Ahead(self._pool, 2 * self._count)

    def end(self) -> None:
        """Ends them."""
        self._pool.end()


def started_processes() -> WorkerProcesses | None:
    """The worker processes, if they have been started."""
    return _processes


def start_processes(count: int) -> WorkerProcesses:
    """Starts worker processes, or returns those that have been started."""
    global _processes  # one pool a process, as loky's executor is
    if _processes is None:
        _processes = WorkerProcesses(count)
    return _processes


def end_processes() -> None:
    """Ends the worker processes of this process, if it has any."""
    global _processes
    if _processes is not None:
        processes, _processes = _processes, None
        processes.end()


_processes: WorkerProcesses | None = None


def import_work(modules: Iterable[str] = _WORK) -> None:
    """Imports what worker processes need."""
    with collection_paused():
        for module in modules:
            importlib.import_module(module)
