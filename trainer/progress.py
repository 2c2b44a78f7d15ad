"""Progress and messages of the commands, on stderr."""

import sys
import time
from collections.abc import Mapping

import tqdm

from tfrecord_dataset.shown_text import number_text, one_line
from tfrecord_dataset.standard_streams import stderr_of_bars

_INTERVAL_S = 5.0
_BAR = "{desc} {percentage:3.0f}%|{bar:12}| {n_fmt}/{total_fmt}{postfix}"


class Progress:
    """A bar on a terminal, a plain line every few seconds elsewhere; nothing when quiet."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._label = ""
        self._done = 0
        self._total = 0
        self._last_line_s = 0.0
        self._bar: tqdm.tqdm | None = None

    def say(self, text: str) -> None:
        """Print one line."""
        if not self._quiet:
            tqdm.tqdm.write(one_line(text), file=stderr_of_bars())

    def warn(self, text: str) -> None:
        """Print a line, also when quiet."""
        tqdm.tqdm.write(one_line(f"warning: {text}"), file=stderr_of_bars())

    def start(self, label: str, total: int, done: int = 0) -> None:
        """Start counting from `done` to `total` steps."""
        self._label, self._done, self._total = one_line(label), done, total
        self._last_line_s = time.monotonic()
        if not self._quiet and sys.stderr.isatty():
            bar = {"total": total, "initial": done, "desc": self._label, "bar_format": _BAR}
            self._bar = tqdm.tqdm(**bar, file=stderr_of_bars(), leave=False, dynamic_ncols=True)

    def advance(self, steps: int, values: Mapping[str, float], facts: str = "") -> None:
        """Count `steps` more; show the current values and facts about the pace."""
        self._done += steps
        text = one_line(", ".join(each for each in (as_text(values), facts) if each))
        if self._bar is not None:
            self._bar.set_postfix_str(text, refresh=False)
            self._bar.update(steps)
        elif time.monotonic() - self._last_line_s >= _INTERVAL_S:
            self._last_line_s = time.monotonic()
            self.say(f"{self._label}: step {self._done}/{self._total}, {text}")

    def finish(self) -> None:
        """Stop counting."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def as_text(values: Mapping[str, float]) -> str:
    """Format as `loss 0.6931, mae 38,223`."""
    return ", ".join(
        f"{name} {number_text(value) if abs(value) >= 1000 else format(value, '.4f')}"
        for name, value in values.items()
    )
