"""How many processes make the batches of a run, where that is measured."""

import time
from collections.abc import Callable

import tensorflow as tf

from trainer.tuning import cpu_count

# More need more CPU for the same batches: a tenth must be gained.
_FASTER = 1.1
_MEASURED_S = 3.0
_SEVERAL = (2, 4)


def faster_processes(
    batches: Callable[[int], tf.data.Dataset],
    batch_size: int,
    *,
    keeps_in_memory: bool,
    say: Callable[[str], None],
) -> int:
    """The number of processes that make most records a second; 1 if no other is a tenth faster.

    Args:
        batches: Returns the endless batches that so many processes make.
        batch_size: Records of a batch.
        keeps_in_memory: Whether one process keeps decoded images, which it then reads from there.
        say: Is told what was measured, and chosen.
    """
    several = [count for count in _SEVERAL if count <= cpu_count()]
    if keeps_in_memory or not several:
        reason = (
            "it keeps decoded images in memory" if keeps_in_memory else "this machine has 1 CPU"
        )
        say(f"one input process: {reason}")
        return 1
    rates = {count: rate(batches(count), batch_size, _MEASURED_S) for count in (1, *several)}
    best = max(rates, key=rates.__getitem__)
    chosen = best if rates[best] >= _FASTER * rates[1] else 1
    measured = ", ".join(f"{found:,.0f} records/s by {count}" for count, found in rates.items())
    say(f"{chosen} input process{'es' if chosen > 1 else ''}: measured {measured}")
    return chosen


def rate(batches: tf.data.Dataset, batch_size: int, seconds: float) -> float:
    """Records a second of an endless dataset, once what waited from its start is used."""
    iterator = iter(batches)
    next(iterator)
    _take(iterator, seconds / 3)
    count, taken_s = _take(iterator, seconds)
    return count * batch_size / taken_s


def _take(iterator: tf.data.Iterator, seconds: float) -> tuple[int, float]:
    began, count = time.monotonic(), 0
    while True:
        next(iterator)
        count += 1
        taken_s = time.monotonic() - began
        if taken_s >= seconds:
            return count, taken_s
