"""Counters of a job, which runners show on their own pages."""

import collections
from typing import Any

from apache_beam.metrics import Metrics, MetricsFilter

_NAMESPACE = "beam_tfrecords"


def counter(name: str) -> Any:
    """Return a counter of Beam's; call `inc(number)` in the thread that calls the DoFn."""
    return Metrics.counter(_NAMESPACE, name)


def counted(result: Any) -> dict[str, int]:
    """Return the counters of a PipelineResult by name; none if its runner has no metrics."""
    try:
        metrics = result.metrics().query(MetricsFilter().with_namespace(_NAMESPACE))
    except Exception:  # each runner raises its own
        return {}
    counts: collections.Counter[str] = collections.Counter()
    for each in metrics["counters"]:
        value = each.committed if each.committed is not None else each.attempted
        counts[each.key.metric.name] += value  # of several stages
    return dict(counts)


def as_text(counts: dict[str, int]) -> str:
    """Format counts: "records read 1,000, records written 990, rejected (not an image) 10"."""
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()))
