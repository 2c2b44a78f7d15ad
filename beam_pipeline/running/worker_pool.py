"""Worker processes, replaced if one of them is killed.

They are forks of this process if that is safe: forks share its memory, start at once and import
nothing. A process with threads cannot be forked, as locks that they hold would stay locked; then
loky starts new processes, without the program's `__main__`.

No Beam here: worker processes import this module's package.
"""

import abc
import functools
import gc
import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Generic, TypeVar

import loky

from beam_pipeline.errors import BeamTFRecordsError
from beam_pipeline.running.isolation import Death, exit_with_parent, run_isolated
from beam_pipeline.running.memory import collect_rarely

_T = TypeVar("_T")
_R = TypeVar("_R")

_THREADS = "/proc/self/task"  # also those of native libraries


def may_fork() -> bool:
    """Whether this process may be forked: on Linux, with a single thread."""
    return os.path.isdir(_THREADS) and len(os.listdir(_THREADS)) == 1


class Work(abc.ABC, Generic[_T, _R]):
    """Call for worker processes that can be repeated in pieces if it ends its process."""

    @abc.abstractmethod
    def __call__(self, item: _T) -> _R:
        """Process an item in a worker process."""

    @abc.abstractmethod
    def piece_by_piece(self, item: _T) -> _R:
        """Process an item with `run_isolated`, in the process that made the call."""


class WorkerPool:
    """Pool of `count` worker processes, which call `prepare` first.

    Processes that are idle for `idle_s` seconds end, except forks.
    """

    def __init__(self, count: int, idle_s: int, prepare: Callable[[], object]):
        self._count, self._idle_s = count, idle_s
        self._initializer = functools.partial(_begin, os.getpid())
        self._replacing = threading.Lock()
        self._executor = self._forks() if may_fork() else self._new_processes()
        self._first = [self._executor.submit(prepare) for _ in range(count)]

    @property
    def ready(self) -> bool:
        """Whether a process has started; until then this process is faster."""
        return any(call.done() for call in self._first)

    def ahead(self) -> "Ahead[Any]":
        """Return ordered calls in these processes."""
        return Ahead(self, 2 * self._count)

    def _forks(self) -> ProcessPoolExecutor | loky.ProcessPoolExecutor:
        fork = multiprocessing.get_context("fork")
        return ProcessPoolExecutor(self._count, fork, self._initializer)

    def _new_processes(self) -> ProcessPoolExecutor | loky.ProcessPoolExecutor:
        # If set, loky traces no crashes on stderr; the record is reported by name.
        crashes = {"PYTHONFAULTHANDLER": os.environ.get("PYTHONFAULTHANDLER", "")}
        return loky.ProcessPoolExecutor(
            self._count, timeout=self._idle_s, initializer=self._initializer, env=crashes
        )

    def submit(self, function: Callable[[_T], _R], item: _T) -> "PoolCall[_T, _R]":
        """Call a function in a process; if the processes have ended, in new ones."""
        executor = self._executor
        try:
            future = executor.submit(function, item)
        except BrokenProcessPool:
            with self._replacing:
                if self._executor is executor:  # another thread may be first
                    self._executor = self._new_processes()
            future = self._executor.submit(function, item)
        return PoolCall(function, item, future)

    def end(self) -> None:
        """Kill the processes."""
        if isinstance(self._executor, ProcessPoolExecutor):
            # `kill_workers` of Python 3.14.
            for process in list((self._executor._processes or {}).values()):
                process.kill()
            self._executor.shutdown()
        else:
            self._executor.shutdown(kill_workers=True)


def _begin(parent: int) -> None:
    """Initialize a worker process."""
    exit_with_parent(parent)
    collect_rarely()
    gc.enable()  # may have been paused at the fork


class PoolCall(Generic[_T, _R]):
    """Call in progress, repeated if its process is killed, perhaps by another call."""

    def __init__(self, function: Callable[[_T], _R], item: _T, future: Future[_R]):
        self._function, self._item = function, item
        self._future = future

    def exception(self) -> BaseException | None:
        """Wait for the call's end, and return its error."""
        return self._future.exception()

    def result(self) -> _R:
        """Wait for the call's result; BeamTFRecordsError if it ends its process repeatedly."""
        try:
            return self._future.result()
        except BrokenProcessPool:
            if isinstance(self._function, Work):
                done: _R = self._function.piece_by_piece(self._item)
                return done
        [outcome] = run_isolated(self._function, [self._item])
        if isinstance(outcome, Death):
            raise BeamTFRecordsError(
                f"some records cannot be processed: {outcome}; run the same command "
                "again with more memory"
            )
        return outcome


class Ahead(Generic[_R]):
    """Calls in an executor, `count` of them ahead of the awaited one, with results in order."""

    def __init__(self, executor: Executor | WorkerPool, count: int):
        self._executor = executor
        self.count = count
        self._waiting: deque[Future[_R] | PoolCall[Any, _R]] = deque()

    def call(self, function: Callable[[_T], _R], item: _T) -> Iterator[_R]:
        """Submit a call, and yield the result of an earlier one if enough are in progress."""
        self._waiting.append(self._executor.submit(function, item))
        if len(self._waiting) > self.count:
            yield self._next()

    def rest(self) -> Iterator[_R]:
        """Yield all remaining results."""
        while self._waiting:
            yield self._next()

    def _next(self) -> _R:
        try:
            return self._waiting.popleft().result()
        except KeyboardInterrupt:  # the calls end with this process
            raise
        except BaseException:
            self.wait()
            raise

    def wait(self) -> None:
        """Wait for all calls, so that none continues after the caller has failed."""
        for call in self._waiting:
            call.exception()

    def map(self, function: Callable[[_T], _R], items: Iterable[_T]) -> Iterator[_R]:
        """Map a function; results are in order."""
        for item in items:
            yield from self.call(function, item)
        yield from self.rest()
