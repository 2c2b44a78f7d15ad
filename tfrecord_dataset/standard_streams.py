"""stdout and stderr without untrusted control characters, and log lines on stderr.

Names of files, classes and columns, library messages and tracebacks all pass through here.
"""

import logging
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, TextIO, cast

from tfrecord_dataset.shown_text import printable, shown

_OURS = ("beam_pipeline", "trainer", "tfrecord_dataset")
# Messages about a reader's choice, with the option that changes it, are notes, not warnings.
_NOTES = ("beam_pipeline.sources", "tfrecord_dataset.records.opening")


class _Stream:
    """A text stream that filters its output."""

    def __init__(self, stream: TextIO, change: Callable[[str], str]):
        self.behind = stream
        self._change = change

    def write(self, text: str) -> int:
        self.behind.write(self._change(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.behind, name)


def _open_closed_streams() -> None:
    """Redirect closed standard streams (`2>&-`) to the null device.

    Otherwise the next file that is opened, a shard for instance, would become stderr.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
            setattr(sys, name, os.fdopen(opened, "w" if number else "r"))


def discard_stdout() -> None:
    """Redirect stdout to the null device after its reader has ended, with all buffered output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def guard() -> None:
    """Remove control characters from this process's output; repeated calls have no effect.

    Secrets are removed only from stderr: stdout carries results, whose JSON must stay unchanged.
    """
    _open_closed_streams()
    if not isinstance(sys.stderr, _Stream):
        sys.stdout = cast(TextIO, _Stream(sys.stdout, printable))
        sys.stderr = cast(TextIO, _Stream(sys.stderr, shown))


def stderr_of_bars() -> TextIO:
    """Return stderr with control sequences, for progress bars; their text must be `one_line`."""
    return sys.stderr.behind if isinstance(sys.stderr, _Stream) else sys.stderr


class LogLines(logging.Formatter):
    """Format "note: …" and "warning: …" for these packages; others have level and name."""

    def __init__(self) -> None:
        super().__init__("%(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as one line."""
        is_ours = record.name.partition(".")[0] in _OURS
        if not is_ours or record.levelno != logging.WARNING or record.exc_info:
            return super().format(record)
        return f"{'note' if record.name.startswith(_NOTES) else 'warning'}: {record.getMessage()}"


def set_up_log() -> None:
    """Log warnings and errors to stderr, one per line."""
    handler = logging.StreamHandler()
    handler.setFormatter(LogLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
