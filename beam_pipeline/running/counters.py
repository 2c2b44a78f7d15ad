"""What a job counts: shown on the runner's own pages while it runs, and when it has ended."""

import collections
from typing import Any

from apache_beam.metrics import Metrics, MetricsFilter

_NAMESPACE = "beam_tfrecords"


def counter(name: str) -> Any:
    """A counter of Beam's; `inc(number)` counts, in the thread that calls a DoFn's methods."""
    return Metrics.counter(_NAMESPACE, name)


def counted(result: Any) -> dict[str, int]:
    """What the job of a PipelineResult has counted, by name; nothing where its runner forgets."""
    try:
        found = result.metrics().query(MetricsFilter().with_namespace(_NAMESPACE))
    except Exception:  # each runner has its own; that the job is done says enough
        return {}
    counts: collections.Counter[str] = collections.Counter()
    for each in found["counters"]:
        value = each.committed if each.committed is not None else each.attempted
        counts[each.key.metric.name] += value  # of several stages
    return dict(counts)


def as_text(counts: dict[str, int]) -> str:
    """Counts in a line: "records read 1,000, records written 990, rejected (not an image) 10"."""
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()))
