"""Distributing values among workers, and merging the values of all workers.

A local build pays 15 ms of CPU time per stage and 3 ms per transform; Flink takes about a second
per stage.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import apache_beam as beam
from apache_beam.typehints.decorators import no_annotations

from beam_pipeline.records import Element
from beam_pipeline.running.runner import runs_here

# Enough buckets for the workers of a cluster.
_BUCKETS_ELSEWHERE = 256


def least_buckets(values: Any) -> int:
    """Return how many buckets a source needs so that all workers have a part of it."""
    return 1 if runs_here(values.pipeline) else _BUCKETS_ELSEWHERE


def yields_buckets(source: beam.PTransform) -> bool:
    """Whether a source yields elements from `least_buckets`, which need no other shuffle."""
    while inner := getattr(source, "source", None):
        source = inner
    return getattr(source, "yields_buckets", False)


@dataclasses.dataclass
class Balance(beam.PTransform):
    """Distribute values among the workers, unchanged."""

    @no_annotations  # Beam allows only PCollections in hints
    def expand(self, values: beam.PCollection[Any]) -> beam.PCollection[Any]:
        return values if runs_here(values.pipeline) else values | beam.Reshuffle()


@dataclasses.dataclass
class Share(beam.PTransform):
    """Distribute the launcher's values among the workers, with a shuffle for several files."""

    values: Sequence[Any]

    @no_annotations  # Beam allows only PCollections in hints
    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection[Any]:
        values = pipeline | beam.Create(self.values, reshuffle=False)
        files = [value for value in self.values if not isinstance(value, Element)]
        return values | Balance() if len(files) > 1 else values


@dataclasses.dataclass
class Divide(beam.PTransform):
    """Divide values for the workers of a cluster; unchanged on this machine.

    Attributes:
        parts_of: Yields the parts of a value.
    """

    parts_of: Callable[[Any], Iterable[Any]]

    @no_annotations  # Beam allows only PCollections in hints
    def expand(self, values: beam.PCollection[Any]) -> beam.PCollection[Any]:
        if runs_here(values.pipeline):
            return values
        return values | beam.FlatMap(self.parts_of) | Balance()


@dataclasses.dataclass
class Merge(beam.PTransform):
    """Merge all values of one or several PCollections into one, without a shuffle.

    One worker reads them as side inputs, so there should be one per bundle and not per record.
    `merge` takes any number of values, also none.
    """

    merge: Callable[[Iterable[Any]], Any]

    @no_annotations  # Beam allows only PCollections in hints
    def expand(
        self, values: beam.PCollection[Any] | tuple[beam.PCollection[Any], ...]
    ) -> beam.PCollection[Any]:
        several = values if isinstance(values, tuple) else (values,)
        return (
            several[0].pipeline
            | "Once" >> beam.Impulse()
            | "Merge" >> beam.Map(_merged, *map(beam.pvalue.AsIter, several), merge=self.merge)
        )


def _merged(_: bytes, *values: Iterable[Any], merge: Callable[[Iterable[Any]], Any]) -> Any:
    return merge(itertools.chain(*values))
