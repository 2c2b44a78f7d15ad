"""Handles Ctrl-C during a store request, when the library does not return to Python."""

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from typing import Any

_LOOK_S = 3.0
# Cancelling a job on a cluster takes half a minute.
_LOOKS = 15
_ASKING = os.path.join("tfrecord_dataset", "store", "")
_EXIT_CODE = 130


@contextlib.contextmanager
def ending_blocked_calls() -> Iterator[None]:
    """Exit this process within seconds of Ctrl-C if threads wait for a store.

    Requests in flight end as if killed; written data survives.
    """
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield
        return
    handled, ended = threading.Event(), threading.Event()

    def handle(number: int, frame: Any) -> None:
        handled.set()
        before(number, frame)

    ours, written = socket.socketpair()
    written.setblocking(False)
    signal.signal(signal.SIGINT, handle)
    signal.set_wakeup_fd(written.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=[ours, handled, ended], daemon=True).start()
    try:
        yield
    finally:
        ended.set()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, before)
        written.close()  # ends the thread


def _watch(signals: socket.socket, handled: threading.Event, ended: threading.Event) -> None:
    with signals:
        while number := signals.recv(1):
            if number[0] == signal.SIGINT:
                break
        else:
            return
    for _ in range(_LOOKS):
        if ended.wait(_LOOK_S):
            return
        if not handled.is_set() or _is_asking():
            break
    print("interrupted; run the same command again to resume", file=sys.stderr, flush=True)
    os._exit(_EXIT_CODE)


def _is_asking() -> bool:
    """Whether a thread waits for a store's response."""
    frames = sys._current_frames().values()
    return any(_ASKING in frame.f_code.co_filename for frame in frames)
