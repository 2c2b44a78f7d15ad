"""Signals that ask a training to stop, which it does once the run is saved."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any

from trainer.errors import InterruptedRunError


class Interruption:
    """Whether the process was asked to stop."""

    def __init__(self) -> None:
        self.signal_name: str | None = None  # "SIGTERM" or "SIGINT" after a signal
        self._is_saved = False

    @contextlib.contextmanager
    def expected(self) -> Iterator[None]:
        """Catch the signals in this context; a second one kills the process."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)}

        def note(number: int, frame: Any) -> None:
            del frame
            self.signal_name = signal.Signals(number).name
            for each, handler in before.items():
                signal.signal(each, handler)
            if self._is_saved:
                self.end()

        for each in before:
            signal.signal(each, note)
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    @contextlib.contextmanager
    def with_nothing_to_save(self, others_wait: bool = False) -> Iterator[None]:
        """Let signals raise at once in this context, unless `others_wait` for this worker."""
        self._is_saved = not others_wait
        try:
            yield
        finally:
            self._is_saved = False

    def end(self) -> None:
        """Raise InterruptedRunError."""
        cause = self.signal_name or "a signal to another worker"
        raise InterruptedRunError(
            f"ended by {cause}; the run is saved, and the same command continues it"
        )
