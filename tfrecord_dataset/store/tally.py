"""What this process asked of stores, and how they answered."""

import dataclasses
import threading
from collections.abc import Callable, Mapping
from typing import TypeVar

from tfrecord_dataset.shown_text import size_text

_T = TypeVar("_T")
_R = TypeVar("_R")

_READS = ("get",)
_WRITES = ("put", "upload")


@dataclasses.dataclass(slots=True, kw_only=True)
class Requests:
    """The requests of one operation.

    Attributes:
        sent: How many, those that were sent again included.
        again: How many were sent again.
        throttled: How many were answered by 429 or 503, as a store does that is asked too much.
        num_bytes: Of the objects that were read or written.
        timed: How many have their time in what follows.
        total_ms: Time until all of the answer was there, in sum.
        least_ms: Of one.
        most_ms: Of one.
    """

    sent: int = 0
    again: int = 0
    throttled: int = 0
    num_bytes: int = 0
    timed: int = 0
    total_ms: int = 0
    least_ms: int = 0
    most_ms: int = 0

    def add(self, other: "Requests") -> None:
        """Counts those of `other`, too."""
        if other.timed:
            least = other.least_ms if not self.timed else min(self.least_ms, other.least_ms)
            self.least_ms, self.most_ms = least, max(self.most_ms, other.most_ms)
        for name in ("sent", "again", "throttled", "num_bytes", "timed", "total_ms"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


Counts = dict[str, Requests]
"""Requests by operation: get, head, list, put, upload, copy, delete."""


class Tally:
    """Requests by operation, counted by any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counts = {}

    def add(self, counts: Mapping[str, Requests]) -> None:
        """Counts requests."""
        with self._lock:
            for operation, requests in counts.items():
                self._counts.setdefault(operation, Requests()).add(requests)

    def take(self) -> Counts:
        """What was counted since the last call."""
        with self._lock:
            counts, self._counts = self._counts, {}
        return counts


TALLY = Tally()
"""That of this process; worker processes hand theirs over with their results."""


def with_counts(function: Callable[[_T], _R], item: _T) -> tuple[_R, Counts]:
    """What a call in a worker process returns, and what it asked of stores."""
    return function(item), TALLY.take()


def as_text(counts: Mapping[str, Requests]) -> str:
    """A line for a person: "store: 1,203 requests, 4.2 GiB read, 31 sent again (12 throttled), …".

    Empty where no store was asked.
    """
    total = Requests()
    for requests in counts.values():
        total.add(requests)
    if not total.sent:
        return ""
    facts = [f"{total.sent:,} request{'' if total.sent == 1 else 's'}"]
    for operations, done in ((_READS, "read"), (_WRITES, "written")):
        num_bytes = sum(counts[name].num_bytes for name in operations if name in counts)
        facts += [f"{size_text(num_bytes)} {done}"] if num_bytes else []
    if total.again:
        throttled = f" ({total.throttled:,} throttled)" if total.throttled else ""
        facts.append(f"{total.again:,} sent again{throttled}")
    if total.timed:
        facts.append(f"{_seconds_text(total.total_ms / total.timed)} on average")
        facts.append(f"slowest {_seconds_text(total.most_ms)}")
    return f"store: {', '.join(facts)}"


def _seconds_text(milliseconds: float) -> str:
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"
