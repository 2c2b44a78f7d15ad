"""Ctrl-C while a request waits for a store: the library does not return to Python for it."""

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from typing import Any

_PATIENCE_S = 3.0
_EXIT_CODE = 130


@contextlib.contextmanager
def ending_blocked_calls() -> Iterator[None]:
    """Ends this process, within seconds of Ctrl-C, where its main thread cannot.

    Whatever is under way then ends as if it was killed, which all that is written survives.
    """
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield
        return
    handled = threading.Event()

    def handle(number: int, frame: Any) -> None:
        handled.set()
        before(number, frame)

    ours, written = socket.socketpair()
    written.setblocking(False)
    signal.signal(signal.SIGINT, handle)
    signal.set_wakeup_fd(written.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=[ours, handled], daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, before)
        written.close()  # ends the thread


def _watch(signals: socket.socket, handled: threading.Event) -> None:
    with signals:
        while number := signals.recv(1):
            if number[0] == signal.SIGINT and not handled.wait(_PATIENCE_S):
                print("interrupted; run the same command again to go on", file=sys.stderr)
                sys.stderr.flush()
                os._exit(_EXIT_CODE)
