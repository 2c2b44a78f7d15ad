"""Counters of a job, which runners show on their own pages."""

from typing import Any

from apache_beam.metrics import Metrics


def counter(name: str) -> Any:
    """Return a counter of Beam's; call `inc(number)` in the thread that calls the DoFn."""
    return Metrics.counter("beam_tfrecords", name)
