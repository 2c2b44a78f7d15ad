"""stdout and stderr on which nothing that others wrote can act.

Names of files, classes and columns, messages of libraries, and tracebacks all come this way.
"""

import sys
from collections.abc import Callable, Iterable
from typing import Any, TextIO, cast

from tfrecord_dataset.shown_text import printable, shown


class _Stream:
    """A text stream that changes what is written to it."""

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


def guard() -> None:
    """Lets whatever this process writes pass without control characters; once is enough.

    On stderr secrets are cut, too. stdout carries results: JSON there means what it meant.
    """
    if not isinstance(sys.stderr, _Stream):
        sys.stdout = cast(TextIO, _Stream(sys.stdout, printable))
        sys.stderr = cast(TextIO, _Stream(sys.stderr, shown))


def stderr_of_bars() -> TextIO:
    """stderr for progress bars, which move on the terminal; their text must be `one_line`."""
    return sys.stderr.behind if isinstance(sys.stderr, _Stream) else sys.stderr
