"""Worker processes, replaced when one of them is killed.

They are copies of this process (forks) where that is safe: these share its memory, start at once
and import nothing. A process with threads may not be copied, as locks that they hold would stay
locked: loky's processes start anew there, without the program's `__main__`.

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
from beam_pipeline.running.isolation import Death, each_alone, end_with
from beam_pipeline.running.memory import collect_rarely

_T = TypeVar("_T")
_R = TypeVar("_R")

_THREADS = "/proc/self/task"  # those of native libraries, too


def may_fork() -> bool:
    """Whether this process may be copied: on Linux, while it has a single thread."""
    return os.path.isdir(_THREADS) and len(os.listdir(_THREADS)) == 1


class Work(abc.ABC, Generic[_T, _R]):
    """A call that consists of pieces, so that it can go on without one that ends its process."""

    @abc.abstractmethod
    def __call__(self, item: _T) -> _R:
        """What is done in a worker process."""

    @abc.abstractmethod
    def piece_by_piece(self, item: _T) -> _R:
        """The same by way of `isolation.each_alone`, for the process that made the call."""


class WorkerPool:
    """A number of worker processes.

    Args:
        count: How many.
        idle_s: Processes that started anew end when they have had nothing to do for so long.
        prepare: Is called in each of them first, with `needed`.
        needed: What it takes.
    """

    def __init__(self, count: int, idle_s: int, prepare: Callable[[_T], object], needed: _T):
        self._count, self._idle_s = count, idle_s
        self._initializer = functools.partial(_begin, os.getpid())
        self._replacing = threading.Lock()
        self._executor = self._forks() if may_fork() else self._new_processes()
        self._first = [self.submit(prepare, needed) for _ in range(count)]

    @property
    def ready(self) -> bool:
        """Whether one of them has started: until then work is done sooner in this process."""
        return any(call.done() for call in self._first)

    def ahead(self) -> "Ahead[Any]":
        """Calls in these processes."""
        return Ahead(self, 2 * self._count)

    def _forks(self) -> ProcessPoolExecutor | loky.ProcessPoolExecutor:
        fork = multiprocessing.get_context("fork")
        return ProcessPoolExecutor(self._count, fork, self._initializer)

    def _new_processes(self) -> ProcessPoolExecutor | loky.ProcessPoolExecutor:
        # Set, it keeps loky from tracing crashes on stderr: what crashes is told by name.
        crashes = {"PYTHONFAULTHANDLER": os.environ.get("PYTHONFAULTHANDLER", "")}
        return loky.ProcessPoolExecutor(
            self._count, timeout=self._idle_s, initializer=self._initializer, env=crashes
        )

    def submit(self, function: Callable[[_T], _R], item: _T) -> "PoolCall[_T, _R]":
        """Calls `function` in one of the processes; in new ones where the others have ended."""
        executor = self._executor
        try:
            future = executor.submit(function, item)
        except BrokenProcessPool:
            with self._replacing:
                if self._executor is executor:  # else another thread has been here
                    self._executor = self._new_processes()
            future = self._executor.submit(function, item)
        return PoolCall(function, item, future)

    def end(self) -> None:
        """Ends the processes, whatever they do."""
        if isinstance(self._executor, ProcessPoolExecutor):
            # What Python 3.14 has as `kill_workers`.
            for process in list((self._executor._processes or {}).values()):
                process.kill()
            self._executor.shutdown()
        else:
            self._executor.shutdown(kill_workers=True)


def _begin(parent: int) -> None:
    """What a worker process does first: a copy may have been made while nothing was collected."""
    end_with(parent)
    collect_rarely()
    gc.enable()


class PoolCall(Generic[_T, _R]):
    """A call under way, made again where its process was killed: perhaps by another one's call."""

    def __init__(self, function: Callable[[_T], _R], item: _T, future: Future[_R]):
        self._function, self._item = function, item
        self._future = future

    def done(self) -> bool:
        """Whether the call has ended."""
        return self._future.done()

    def exception(self) -> BaseException | None:
        """Waits until the call has ended; what it raised."""
        return self._future.exception()

    def result(self) -> _R:
        """Waits for what the call returns.

        Raises:
            BeamTFRecordsError: It cannot be told in pieces, and ended its process again and again.
        """
        try:
            return self._future.result()
        except BrokenProcessPool:
            if isinstance(self._function, Work):
                done: _R = self._function.piece_by_piece(self._item)
                return done
        [outcome] = each_alone(self._function, [self._item])
        if isinstance(outcome, Death):
            raise BeamTFRecordsError(
                f"a worker process was killed {outcome.attempts} times over the same records: "
                f"{outcome}; run the same command again with more memory"
            )
        return outcome


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
