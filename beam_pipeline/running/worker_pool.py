"""Worker processes, replaced when one of them is killed.

They are copies of this process (forks) where that is safe: these share its memory, start at once
and import nothing. A process with threads may not be copied, as locks that they hold would stay
locked: loky's processes start anew there, without the program's `__main__`.

No Beam here: worker processes import this module's package.
"""

import multiprocessing
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Generic, TypeVar

import loky

from beam_pipeline.errors import BeamTFRecordsError

_R = TypeVar("_R")

# Of one call: the first of them may have died of another call's process.
_ATTEMPTS = 3
_THREADS = "/proc/self/task"  # those of native libraries, too


def may_fork() -> bool:
    """Whether this process may be copied: on Linux, while it has a single thread."""
    return os.path.isdir(_THREADS) and len(os.listdir(_THREADS)) == 1


class WorkerPool:
    """A number of worker processes.

    Args:
        count: How many.
        idle_s: Processes that started anew end when they have had nothing to do for so long.
        initializer: What each runs first.
    """

    def __init__(self, count: int, idle_s: int, initializer: Callable[[], None]):
        self._count, self._idle_s, self._initializer = count, idle_s, initializer
        self._replacing = threading.Lock()
        self._executor = self._forks() if may_fork() else self._new_processes()

    def _forks(self) -> ProcessPoolExecutor | loky.ProcessPoolExecutor:
        fork = multiprocessing.get_context("fork")
        return ProcessPoolExecutor(self._count, fork, self._initializer)

    def _new_processes(self) -> ProcessPoolExecutor | loky.ProcessPoolExecutor:
        return loky.ProcessPoolExecutor(
            self._count, timeout=self._idle_s, initializer=self._initializer
        )

    def submit(self, function: Callable[..., _R], *arguments: object) -> "PoolCall[_R]":
        """Calls `function` in one of the processes."""
        return PoolCall(self, function, arguments)

    def attempt(self, function: Callable[..., _R], arguments: tuple[object, ...]) -> Future[_R]:
        """Calls `function` once; starts new processes where the others have ended."""
        executor = self._executor
        try:
            return executor.submit(function, *arguments)
        except BrokenProcessPool:
            with self._replacing:
                if self._executor is executor:  # else another thread has been here
                    self._executor = self._new_processes()
            return self._executor.submit(function, *arguments)

    def end(self) -> None:
        """Ends the processes, whatever they do."""
        if isinstance(self._executor, ProcessPoolExecutor):
            # What Python 3.14 has as `kill_workers`.
            for process in list((self._executor._processes or {}).values()):
                process.kill()
            self._executor.shutdown()
        else:
            self._executor.shutdown(kill_workers=True)


class PoolCall(Generic[_R]):
    """A call under way, made again where its process was killed."""

    def __init__(
        self, pool: WorkerPool, function: Callable[..., _R], arguments: tuple[object, ...]
    ):
        self._pool = pool
        self._call = function, arguments
        self._future = pool.attempt(*self._call)

    def done(self) -> bool:
        """Whether the call has ended."""
        return self._future.done()

    def exception(self) -> BaseException | None:
        """Waits until the call has ended; what it raised."""
        return self._future.exception()

    def result(self) -> _R:
        """Waits for what the call returns.

        Raises:
            BeamTFRecordsError: Its process was killed, again and again.
        """
        for _ in range(_ATTEMPTS - 1):
            try:
                return self._future.result()
            except BrokenProcessPool:
                self._future = self._pool.attempt(*self._call)
        try:
            return self._future.result()
        except BrokenProcessPool as error:
            raise BeamTFRecordsError(
                f"a worker process was killed {_ATTEMPTS} times over the same records, perhaps "
                "because memory ran out, or a file crashes its decoder; run the same command again "
                "with --threads 1, which needs no such process, or with more memory"
            ) from error
