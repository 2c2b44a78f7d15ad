"""stdout and stderr without untrusted control characters, and log lines on stderr.

Names of files, classes and columns, library messages and tracebacks all pass through here.
"""

import logging
import os
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TextIO, cast

from tfrecord_dataset.shown_text import one_line, printable, shown

_OURS = ("beam_pipeline", "trainer", "tfrecord_dataset")
# Labels of lines on a terminal, and their colors.
_COLORS = {"error": 31, "warning": 33, "note": 36}
_LABEL = re.compile(r"^(error|warning|note)(?=: | in your code: )", re.MULTILINE)
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
        colored = _is_colored(sys.stderr)
        sys.stderr = cast(
            TextIO,
            _Stream(sys.stderr, lambda text: _in_color(shown(text)) if colored else shown(text)),
        )


def _is_colored(stream: TextIO) -> bool:
    """Whether a stream is a terminal that shows colors (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _in_color(text: str) -> str:
    return _LABEL.sub(lambda match: f"\x1b[{_COLORS[match[1]]}m{match[0]}\x1b[0m", text)


def say(line: str) -> None:
    """Print a line on stderr, above the progress bar if there is one."""
    import tqdm  # only where there is a bar

    stream = stderr_of_bars()
    line = one_line(line)
    tqdm.tqdm.write(_in_color(line) if _is_colored(stream) else line, file=stream)


def address(path: str) -> str:
    """Return the URL of a local page on a terminal, where a click opens it; else the path."""
    is_local = "://" not in path
    return Path(path).absolute().as_uri() if is_local and sys.stderr.isatty() else path


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
