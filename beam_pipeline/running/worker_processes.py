"""Worker processes: each has a pipe of its own, so that a killed one costs only its own item.

A process is a fork of this one if that is safe: forks share its memory, start at once and import
nothing. A process with threads cannot be forked, as locks that they hold would stay locked; then
loky starts a new process, without the program's `__main__`.

concurrent.futures' pool ends as a whole with one of its processes. A pool of one process each would
not, but a MiB of frames, which takes 0.3 ms of CPU time here, takes 3.0 ms through it.

No Beam here: worker processes import this module.
"""

import abc
import contextlib
import multiprocessing
import os
import pickle
import queue
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor, wait
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from loky.backend import get_context

from beam_pipeline.errors import BeamTFRecordsError
from beam_pipeline.running.memory import collect_rarely
from tfrecord_dataset import standard_streams

_T = TypeVar("_T")
_R = TypeVar("_R")

# A process may be killed because another one took the machine's memory.
_ATTEMPTS = 3
_ATTEMPTS_WHOLE = 2
_PARENT_LOOK_S = 1.0
_END_S = 10
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


class Work(abc.ABC, Generic[_T, _R]):
    """Call for worker processes that can be repeated in pieces if it ends its process."""

    @abc.abstractmethod
    def __call__(self, item: _T) -> _R:
        """Process an item in a worker process."""

    @abc.abstractmethod
    def piece_by_piece(self, item: _T) -> _R:
        """Process an item with `run_isolated`, in the process that made the call."""


def may_fork() -> bool:
    """Whether this process may be forked: on Linux, with a single thread."""
    return os.path.isdir(_THREADS) and len(os.listdir(_THREADS)) == 1


class Worker:
    """A process that makes one call at a time; after its end, another one takes its place.

    It calls `prepare` first, and does not import the program's `__main__`.
    """

    def __init__(self, prepare: Callable[[], object] | None = None):
        self._prepare = prepare
        self._is_closed = False
        self._start()

    def _start(self) -> None:
        context: Any = multiprocessing.get_context("fork") if may_fork() else get_context("loky")
        self._pipe, its_end = context.Pipe()
        arguments = (its_end, self._prepare, os.getpid())
        self._process = context.Process(target=_work, args=arguments, daemon=True)
        self._process.start()
        its_end.close()
        self._has_begun = False

    @property
    def is_ready(self) -> bool:
        """Whether the process has begun; a call before that waits for it."""
        return self._has_begun or bool(self._pipe.poll())

    def call(self, function: Callable[[_T], _R], item: _T) -> _R | Death:
        """Call a function in the process; return a Death if the process ends.

        Raises:
            Exception: The function raised it.
            BeamTFRecordsError: A process cannot be started.
        """
        try:
            if not self._has_begun:
                receive(self._pipe)
                self._has_begun = True
            send(self._pipe, (function, item))
            result, error = receive(self._pipe)
        except (EOFError, ConnectionError):
            return self._replaced()
        if error is not None:
            raise error
        done: _R = result
        return done

    def _replaced(self) -> Death:
        if self._is_closed:
            raise CancelledError from None
        if not self._has_begun:
            raise BeamTFRecordsError(
                "a worker process cannot be started, perhaps because memory ran out; run the same "
                "command again with --threads 1, which needs none"
            ) from None
        self._process.join(_END_S)
        death = Death(self._process.exitcode or 0)
        self._pipe.close()
        self._start()
        return death

    def repeated(self, function: Callable[[_T], _R], item: _T, max_attempts: int) -> _R | Death:
        """Call a function until its process survives, unless it exceeds its time."""
        for attempt in range(1, max_attempts + 1):
            outcome = self.call(function, item)
            if not isinstance(outcome, Death):
                return outcome
            death = outcome._replace(attempts=attempt)
            if death.ran_out_of_time:
                break
        return death

    def close(self) -> None:
        """Kill the process; a call in progress is cancelled."""
        self._is_closed = True
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGKILL)  # loky has no `kill`
        self._process.join()


def _work(pipe: Any, prepare: Callable[[], object] | None, parent: int) -> None:
    """Answer calls in a worker process."""
    exit_with_parent(parent)
    collect_rarely()
    if prepare:
        prepare()
    send(pipe, None)
    with contextlib.suppress(EOFError):  # the parent has ended
        while True:
            function, item = receive(pipe)
            result, raised = None, None
            try:
                result = function(item)
            except Exception as error:
                error.add_note(traceback.format_exc())
                raised = error
            send(pipe, (result, raised))


def send(pipe: Any, message: object) -> None:
    """Send a message; each `pickle.PickleBuffer` in it is written as it is."""
    buffers: list[memoryview] = []
    pickled = pickle.dumps(
        message, pickle.HIGHEST_PROTOCOL, buffer_callback=lambda each: buffers.append(each.raw())
    )
    pipe.send_bytes(np.array([each.nbytes for each in buffers], np.int64).tobytes())
    pipe.send_bytes(pickled)
    for left in buffers:
        while left:
            left = left[os.write(pipe.fileno(), left) :]


def receive(pipe: Any) -> Any:
    """Receive a message from `send`; its buffers are read to where they stay.

    Raises:
        EOFError: The other process has ended.
    """
    sizes = np.frombuffer(pipe.recv_bytes(), np.int64).tolist()
    pickled = pipe.recv_bytes()
    buffers = [bytearray(size) for size in sizes]
    for buffer in buffers:
        left = memoryview(buffer)
        while left:
            if not (count := os.readv(pipe.fileno(), [left])):
                raise EOFError
            left = left[count:]
    return pickle.loads(pickled, buffers=buffers)


def exit_with_parent(parent: int) -> None:
    """Exit this process once its parent has ended, and ignore interrupts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    standard_streams.guard()  # a process that is not forked has no guarded streams

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_PARENT_LOOK_S)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def run_isolated(
    function: Callable[[_T], _R], items: Iterable[_T], max_attempts: int = _ATTEMPTS
) -> Iterator[_R | Death]:
    """Call a function with each item in another process; yield results or Deaths in order."""
    worker = Worker()
    try:
        for item in items:
            yield worker.repeated(function, item, max_attempts)
    finally:
        worker.close()


class WorkerPool:
    """Pool of `count` worker processes, which call `prepare` first."""

    def __init__(self, count: int, prepare: Callable[[], object]):
        self._workers = [Worker(prepare) for _ in range(count)]  # before there are threads
        self._idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)
        self._threads = ThreadPoolExecutor(count)

    @property
    def ready(self) -> bool:
        """Whether a process has begun; until then this process is faster."""
        return any(worker.is_ready for worker in self._workers)

    def ahead(self) -> "Ahead[Any]":
        """Return ordered calls in these processes."""
        return Ahead(self, 2 * len(self._workers))

    def submit(self, function: Callable[[_T], _R], item: _T) -> "Future[_R]":
        """Call a function in a process; again in another one if it is killed.

        The future raises BeamTFRecordsError if the call ends its processes repeatedly.
        """
        return self._threads.submit(self._call, function, item)

    def _call(self, function: Callable[[_T], _R], item: _T) -> _R:
        worker = self._idle.get()
        try:
            attempts = _ATTEMPTS_WHOLE if isinstance(function, Work) else _ATTEMPTS
            outcome = worker.repeated(function, item, attempts)
        finally:
            self._idle.put(worker)
        if not isinstance(outcome, Death):
            return outcome
        if isinstance(function, Work):
            done: _R = function.piece_by_piece(item)
            return done
        raise BeamTFRecordsError(
            f"some records cannot be processed: {outcome}; run the same command again with more "
            "memory"
        )

    def end(self) -> None:
        """Kill the processes."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.close()


class Ahead(Generic[_R]):
    """Calls in an executor, `count` of them ahead of the awaited one, with results in order."""

    def __init__(self, executor: Executor | WorkerPool, count: int):
        self._executor = executor
        self.count = count
        self._waiting: deque[Future[_R]] = deque()

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
        except Exception:  # after an interrupt the calls end with this process
            self.wait()
            raise

    def wait(self) -> None:
        """Wait for all calls, so that none continues after the caller has failed."""
        wait(self._waiting)

    def map(self, function: Callable[[_T], _R], items: Iterable[_T]) -> Iterator[_R]:
        """Map a function; results are in order."""
        for item in items:
            yield from self.call(function, item)
        yield from self.rest()
