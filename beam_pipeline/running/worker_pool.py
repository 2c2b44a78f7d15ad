"""loky's worker processes, started anew when one of them is killed.

No Beam here: worker processes import this module's package.
"""

from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from typing import Generic, TypeVar

import loky

from beam_pipeline.errors import BeamTFRecordsError

_R = TypeVar("_R")

# Of one call: the first of them may have died of another call's process.
_ATTEMPTS = 3


class WorkerPool:
    """A number of worker processes.

    Args:
        count: How many.
        idle_s: Processes that have had nothing to do for so long end.
        initializer: What each runs first.
    """

    def __init__(self, count: int, idle_s: int, initializer: Callable[[], None]):
        self._settings = {"max_workers": count, "timeout": idle_s, "initializer": initializer}
        self._executor = loky.get_reusable_executor(**self._settings)

    def submit(self, function: Callable[..., _R], *arguments: object) -> "PoolCall[_R]":
        """Calls `function` in one of the processes."""
        return PoolCall(self, function, arguments)

    def attempt(self, function: Callable[..., _R], arguments: tuple[object, ...]) -> Future[_R]:
        """Calls `function` once; starts the processes anew where they have ended."""
        try:
            return self._executor.submit(function, *arguments)  # type: ignore[no-any-return]
        except BrokenProcessPool:
            # One and the same for all threads that ask, as loky keeps the one that works.
            self._executor = loky.get_reusable_executor(**self._settings)
            return self._executor.submit(function, *arguments)  # type: ignore[no-any-return]

    def end(self) -> None:
        """Ends the processes."""
        self._executor.shutdown(wait=True, kill_workers=True)


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
