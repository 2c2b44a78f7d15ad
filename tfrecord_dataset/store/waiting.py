"""What may end a request: before it is sent, or while a store that is out is waited for."""

import contextlib
import contextvars
import errno
import random
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

_Check = Callable[[], None]

_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 10.0

# Not the numbers that a training has seeded.
_random = random.SystemRandom()
_interrupted = threading.Event()
_first: contextvars.ContextVar[_Check | None] = contextvars.ContextVar("first", default=None)
_again: contextvars.ContextVar[_Check | None] = contextvars.ContextVar("again", default=None)


def pauses() -> Iterator[float]:
    """Seconds between tries, without end: twice as long each time, less up to a half by chance."""
    longest = _FIRST_PAUSE_S
    while True:
        yield longest * _random.uniform(0.5, 1)
        longest = min(2 * longest, _LONGEST_PAUSE_S)


def wait(seconds: float, url: str) -> None:
    """Waits before a request about `url` is sent again.

    Raises:
        InterruptedError: By Ctrl-C, where `ended_by_interrupt` is in force.
        Exception: What the check of `checked_again` raises.
    """
    if _interrupted.wait(seconds):
        raise InterruptedError(errno.EINTR, "Interrupted", url)
    if check := _again.get():
        check()


def check_request() -> None:
    """Stands before every request, also one that is sent again; raises what `checked`'s does."""
    if check := _first.get():
        check()


def checked(check: _Check | None) -> contextlib.AbstractContextManager[None]:
    """Meanwhile `check` is called before every request, and may raise instead.

    Of this thread's requests, and of those to which it hands its context. A pause of the process,
    or an outage, may outlast what allowed the request, such as a lease.
    """
    return _set(_first, check)


def checked_again(check: _Check) -> contextlib.AbstractContextManager[None]:
    """As `checked`, but only before a request is sent again."""
    return _set(_again, check)


@contextlib.contextmanager
def _set(variable: contextvars.ContextVar[_Check | None], check: _Check | None) -> Iterator[None]:
    token = variable.set(check)
    try:
        yield
    finally:
        variable.reset(token)


@contextlib.contextmanager
def ended_by_interrupt() -> Iterator[None]:
    """Meanwhile Ctrl-C ends the waiting for stores in all threads of this process, for good."""
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: Any) -> None:
        _interrupted.set()
        before(number, frame)

    signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
