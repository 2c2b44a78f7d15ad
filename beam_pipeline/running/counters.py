"""What a job counts: shown on the runner's own pages while it runs, and when it has ended."""

import collections
from collections.abc import Iterable, Iterator
from typing import Any

from apache_beam.metrics import Metrics, MetricsFilter

from tfrecord_dataset.store.tally import TALLY, Requests

SHARDS = "shards written"
BYTES = "bytes written"
_NAMESPACE = "beam_tfrecords"
# Requests to stores have their operation in the name: "store get: bytes".
_STORE = "store "
_STORE_COUNTERS = {
    "requests": "sent",
    "sent again": "again",
    "throttled": "throttled",
    "bytes": "num_bytes",
}
_MILLISECONDS = "milliseconds"


def counter(name: str) -> Any:
    """A counter of Beam's; `inc(number)` counts, in the thread that calls a DoFn's methods."""
    return Metrics.counter(_NAMESPACE, name)


def count_requests() -> None:
    """Counts what this process asked of stores since the last call; called as `counter`'s inc."""
    for operation, requests in TALLY.take().items():
        for name, field in _STORE_COUNTERS.items():
            if count := getattr(requests, field):
                counter(f"{_STORE}{operation}: {name}").inc(count)
        times = Metrics.distribution(_NAMESPACE, f"{_STORE}{operation}: {_MILLISECONDS}")
        for ms in spread(requests):
            times.update(ms)


def spread(requests: Requests) -> Iterator[int]:
    """So many times, with the least, the most and the sum of those of requests: [timed]."""
    middle = requests.timed - 2
    if middle < 0:
        yield from [requests.total_ms] * requests.timed
        return
    yield requests.least_ms
    yield requests.most_ms
    rest = requests.total_ms - requests.least_ms - requests.most_ms
    for number in range(middle):
        yield rest * (number + 1) // middle - rest * number // middle


def counted(result: Any) -> dict[str, int]:
    """What the job of a PipelineResult has counted, by name; nothing where its runner forgets.

    Its requests to stores are handed to this process's tally instead.
    """
    try:
        found = result.metrics().query(MetricsFilter().with_namespace(_NAMESPACE))
    except Exception:  # each runner has its own; that the job is done says enough
        return {}
    counts: collections.Counter[str] = collections.Counter()
    for name, count in _values(found["counters"]):
        operation, _, what = name.removeprefix(_STORE).partition(": ")
        if name.startswith(_STORE):
            TALLY.add({operation: Requests(**{_STORE_COUNTERS[what]: count})})
        else:
            counts[name] += count  # of several stages
    for name, value in _values(found["distributions"]):
        operation = name.removeprefix(_STORE).partition(": ")[0]
        times = Requests(
            timed=value.count, total_ms=value.sum, least_ms=value.min, most_ms=value.max
        )
        TALLY.add({operation: times})
    return dict(counts)


def _values(metrics: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    for each in metrics:
        value = each.committed if each.committed is not None else each.attempted
        yield each.key.metric.name, value


def as_text(counts: dict[str, int]) -> str:
    """Counts in a line: "records read 1,000, records written 990, rejected (not an image) 10"."""
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()))
