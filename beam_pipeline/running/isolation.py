"""Runs work item by item in a separate process, to find the item that ends the process.

No Beam here: worker processes import this module.
"""

import contextlib
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

from loky.backend import get_context

from beam_pipeline.errors import BeamTFRecordsError
from tfrecord_dataset import standard_streams

_T = TypeVar("_T")
_R = TypeVar("_R")

# A process may be killed because another one took the machine's memory.
_ATTEMPTS = 3
_PARENT_LOOK_S = 1.0
_END_S = 10
_BEGUN = ()


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


def run_isolated(function: Callable[[_T], _R], items: Iterable[_T]) -> Iterator[_R | Death]:
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
                if attempts < _ATTEMPTS and not outcome.ran_out_of_time:
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
