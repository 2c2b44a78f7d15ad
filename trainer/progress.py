"""Progress, speed and messages of the commands, on stderr."""

import collections
import math
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import tqdm

from tfrecord_dataset import standard_streams
from tfrecord_dataset.shown_text import one_line
from tfrecord_dataset.standard_streams import stderr_of_bars
from trainer.metrics import Metric, metric_named

_INTERVAL_S = 5.0
_BAR = "{desc} {percentage:3.0f}%|{bar:12}| {n_fmt}/{total_fmt}{postfix}"
_AROUND = 24  # characters of a bar other than its label, counts and postfix


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
            standard_streams.say(text)

    def warn(self, text: str) -> None:
        """Print a line, also when quiet."""
        standard_streams.say(f"warning: {text}")

    def start(self, label: str, total: int, done: int = 0) -> None:
        """Start counting from `done` to `total` steps."""
        self._label, self._done, self._total = one_line(label), done, total
        self._last_line_s = time.monotonic()
        if not self._quiet and sys.stderr.isatty():
            bar = {"total": total, "initial": done, "desc": self._label, "bar_format": _BAR}
            self._bar = tqdm.tqdm(**bar, file=stderr_of_bars(), leave=False, dynamic_ncols=True)

    def advance(
        self, steps: int, values: Mapping[str, float], pace: str = "", details: str = ""
    ) -> None:
        """Count `steps` more; show the pace, values, and details, which narrow terminals cut."""
        self._done += steps
        text = one_line(", ".join(filter(None, (pace, as_text(values), details))))
        if self._bar is not None:
            columns = shutil.get_terminal_size().columns
            counts = f"{self._label}{self._total}{self._total}"
            text = whole_parts(text, columns - len(counts) - _AROUND)
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


def whole_parts(text: str, width: int) -> str:
    """Cut a text after one of its parts, which ", " separates, if it is too long."""
    if len(text) <= width:
        return text
    return text[: width + 1].rpartition(", ")[0] or text


def as_text(values: Mapping[str, float], added: Mapping[str, Metric] = MappingProxyType({})) -> str:
    """Format as `loss 0.6931, mae 38,223`."""
    texts = (f"{name} {metric_named(name, added).text(each)}" for name, each in values.items())
    return ", ".join(texts)


_RECENT_S = 10.0
# Steps and share of waiting from which on a remedy is worth its time.
_MANY_STEPS, _MUCH = 1_000, 0.3


class Speed(NamedTuple):
    """Speed of consecutive steps; the waiting time is NaN if not measured."""

    steps: float = 0
    seconds: float = 0.0
    waiting_s: float = 0.0

    def since(self, before: "Speed") -> "Speed":
        """The steps after the first ones."""
        return Speed(*(now - then for now, then in zip(self, before, strict=True)))

    @property
    def steps_per_s(self) -> float:
        """Steps per second, 0 before the first step."""
        return self.steps / self.seconds if self.seconds > 0 else 0.0

    @property
    def waiting(self) -> float | None:
        """Share of the time spent waiting for batches, in 0..1."""
        if math.isnan(self.waiting_s) or self.seconds <= 0:
            return None
        return min(1.0, self.waiting_s / self.seconds)


class Pace:
    """Speed meter of a training; ignores its first call, which compiles.

    The unit is the name of the records: "images" or "records".
    """

    def __init__(
        self, batch_size: int, unit: str, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self.total = Speed()
        self._batch_size = batch_size
        self._unit = unit
        self._now_s = now_s
        self._then_s = now_s()
        self._is_warm = False
        self._ending_s = 0.0
        # Totals before each of the latest calls.
        self._before: collections.deque[Speed] = collections.deque()

    def start(self) -> None:
        """Start the clock for the next steps, after the end of an epoch."""
        now_s = self._now_s()
        if self._is_warm:
            self._ending_s = now_s - self._then_s
        self._then_s = now_s

    def add(self, steps: int, waiting_s: float | None) -> None:
        """Count steps since `start`, or since the last call."""
        now_s = self._now_s()
        seconds, self._then_s = now_s - self._then_s, now_s
        if not self._is_warm:
            self._is_warm = True
            return
        self._before.append(self.total)
        waiting_s = self.total.waiting_s + (math.nan if waiting_s is None else waiting_s)
        self.total = Speed(self.total.steps + steps, self.total.seconds + seconds, waiting_s)
        while len(self._before) > 1 and self.total.seconds - self._before[1].seconds > _RECENT_S:
            self._before.popleft()

    @property
    def recent(self) -> Speed:
        """Speed over the last seconds."""
        return self.total.since(self._before[0]) if self._before else Speed()

    def scalars(self) -> dict[str, float]:
        """Figures of the last seconds by name, for TensorBoard."""
        part = self.recent
        figures = {f"{self._unit}_per_s": part.steps_per_s * self._batch_size}
        if part.waiting is not None:
            figures["waiting_for_input"] = part.waiting
        return figures if part.steps else {}

    def seconds_for(self, steps: int, epochs: int = 0) -> float | None:
        """Estimate the duration of further steps and ends of epochs."""
        part = self.recent
        return steps / part.steps_per_s + epochs * self._ending_s if part.steps_per_s else None

    def facts(self, learning_rate: float, left_s: float | None) -> tuple[str, str]:
        """Format `2:05 left, 1,240 images/s`, and `waiting 3%, learning rate 0.001`, if known."""
        part = self.recent
        left = f"{time_text(left_s)} left" if left_s is not None else ""
        rate = f"{part.steps_per_s * self._batch_size:,.0f} {self._unit}/s" if part.steps else ""
        is_measured = part.steps and part.waiting is not None
        waiting = f"waiting {part.waiting:.0%}" if is_measured else ""
        details = (waiting, f"learning rate {learning_rate:.3g}")
        return ", ".join(filter(None, (left, rate))), ", ".join(filter(None, details))

    def summary(self) -> str:
        """Summarise the training; empty if it had no steps."""
        part = self.total
        if not part.steps:
            return ""
        text = f"{part.steps_per_s * self._batch_size:,.0f} {self._unit}/s in training"
        if part.waiting is None:
            return text
        text = f"{text}, {part.waiting:.0%} of the time waiting for input"
        if part.waiting >= _MUCH and part.steps >= _MANY_STEPS:
            text += "; run `beam-tfrecords-train tune` to find the bottleneck of the input"
        return text


def time_text(seconds: float) -> str:
    """Format as `2:05`, or `1:02:05` with hours."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
