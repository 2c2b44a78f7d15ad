"""Worker processes: a pool, replaced if one is killed, and the search for the item that kills it.

If a process is killed, its pool ends, and all calls in progress are lost. The oldest of them, one
per process, may be what killed it: each is repeated in a process of its own, and piece by piece
if it kills that, too. The others had not begun; they are repeated in the new pool.

The pool's processes are forks of this one if that is safe: forks share its memory, start at once
and import nothing. A process with threads cannot be forked, as locks that they hold would stay
locked; then loky starts new processes, without the program's `__main__`.

No Beam here: worker processes import this module.
"""

import abc
import contextlib
import functools
import gc
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Generic, NamedTuple, TypeVar

import loky
from loky.backend import get_context

from beam_pipeline.errors import BeamTFRecordsError
from beam_pipeline.running.memory import collect_rarely
from tfrecord_dataset import standard_streams

_T = TypeVar("_T")
_R = TypeVar("_R")

# A process may be killed because another one took the machine's memory.
_ATTEMPTS = 3
_PARENT_LOOK_S = 1.0
_END_S = 10
_BEGUN = ()
_THREADS = "/proc/self/task"  # also those of native libraries


class Death(NamedTuple):
    """End of a process during an item: exit code (-n for signal n), and number of attempts."""

    exit_code: int
    attempts: int = 1

    @property
    def ran_out_of_time(self) -> bool:
        """Whether it exceeded the time of `record_limits.ending_after`."""
        return self.exit_code == -signal.SIGPROF

    def __str__(self) -> str:
        cause = f"exit code {self.exit_code}"
        with contextlib.suppress(ValueError):
            cause = signal.Signals(-self.exit_code).name
        hint = ", perhaps because memory ran out" if cause == "SIGKILL" else ""
        return f"its process was ended {self.attempts} times by {cause}{hint}"


def run_isolated(
    function: Callable[[_T], _R], items: Iterable[_T], max_attempts: int = _ATTEMPTS
) -> Iterator[_R | Death]:
    """Call a function with each item in another process; yield results or Deaths in order.

    One process is used until it ends. It does not import the program's `__main__`.

    Raises:
        Exception: The function raised it.
        BeamTFRecordsError: A process cannot be started.
    """
    waiting, attempts = deque(items), 0
    while waiting:
        for outcome in _outcomes(function, tuple(waiting)):
            if isinstance(outcome, Death):
                attempts += 1
                if attempts < max_attempts and not outcome.ran_out_of_time:
                    break
                outcome = outcome._replace(attempts=attempts)
            waiting.popleft()
            attempts = 0
            yield outcome


def _outcomes(function: Callable[[_T], _R], items: tuple[_T, ...]) -> Iterator[_R | Death]:
    """Yield results from one process, and a Death if it ends before the last item."""
    context = get_context("loky")
    answers, sender = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(sender, function, items, os.getpid()))
    process.start()
    sender.close()
    try:
        if _received(answers) is None:
            raise BeamTFRecordsError(
                "a worker process cannot be started, perhaps because memory ran out; run the same "
                "command again with --threads 1, which needs none"
            )
        for _ in items:
            answer = _received(answers)
            if answer is None:
                process.join(_END_S)
                yield Death(process.exitcode or 0)
                return
            result, error = answer
            if error is not None:
                raise error
            yield result
    finally:
        process.terminate()  # loky has no `kill`; nothing in it handles the signal
        process.join()
        answers.close()


def _received(answers: Any) -> Any:
    """Receive a process's next message; None if it has ended."""
    try:
        return answers.recv()
    except EOFError:
        return None


def _work(
    sender: Any, function: Callable[[_T], object], items: tuple[_T, ...], parent: int
) -> None:
    exit_with_parent(parent)
    sender.send(_BEGUN)
    for item in items:
        try:
            sender.send((function(item), None))
        except Exception as error:
            sender.send((None, error))
            return


def exit_with_parent(parent: int) -> None:
    """Exit this process once its parent has ended, and ignore interrupts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    standard_streams.guard()  # a process that is not forked has no guarded streams

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_PARENT_LOOK_S)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


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
        self._lock = threading.Lock()
        self._calls: list[PoolCall[Any, Any]] = []  # in progress, in order
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
        call = PoolCall(self, function, item)
        with self._lock:
            self._calls = [*filter(PoolCall.in_progress, self._calls), call]
            try:
                call.start(self._executor)
            except BrokenProcessPool:
                self._replace()
        return call

    def replace(self, ended: Executor) -> None:
        """Replace an executor whose processes have ended, unless another thread has done so."""
        with self._lock:
            if self._executor is ended:
                self._replace()

    def _replace(self) -> None:
        self._executor = self._new_processes()
        self._calls = list(filter(PoolCall.in_progress, self._calls))
        # Calls begin in order. A finished call whose result was lost may precede the one that
        # killed its process, which then kills another pool.
        for call in self._calls[: self._count]:
            call.start(None)
        self._calls = self._calls[self._count :]
        for call in self._calls:
            call.start(self._executor)

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

    def __init__(self, pool: WorkerPool, function: Callable[[_T], _R], item: _T):
        self._pool = pool
        self._function, self._item = function, item
        self._started: tuple[Executor, Future[_R]] | None = None

    def start(self, executor: Executor | None) -> None:
        """Start the call in an executor; if None, `result` makes it in a process of its own."""
        self._started = (
            (executor, executor.submit(self._function, self._item)) if executor else None
        )

    def in_progress(self) -> bool:
        """Whether the call has no result yet, or its processes have ended."""
        if self._started is None:
            return True
        _, future = self._started
        return not future.done() or isinstance(future.exception(), BrokenProcessPool)

    def exception(self) -> BaseException | None:
        """Wait for the call's end, and return its error."""
        return self._started[1].exception() if self._started else None

    def result(self) -> _R:
        """Wait for the call's result; BeamTFRecordsError if it ends its process repeatedly."""
        while self._started:
            executor, future = self._started
            try:
                return future.result()
            except BrokenProcessPool:
                self._pool.replace(executor)
        return self._alone()

    def _alone(self) -> _R:
        has_pieces = isinstance(self._function, Work)
        [outcome] = run_isolated(self._function, [self._item], 1 if has_pieces else _ATTEMPTS)
        if not isinstance(outcome, Death):
            return outcome
        if isinstance(self._function, Work):
            done: _R = self._function.piece_by_piece(self._item)
            return done
        raise BeamTFRecordsError(
            f"some records cannot be processed: {outcome}; run the same command again with more "
            "memory"
        )


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
