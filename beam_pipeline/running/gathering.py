"""Values shared out among workers, and values of all workers merged.

A stage costs a build on this machine 15 ms of CPU time, a transform 3; one on Flink about a second.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import apache_beam as beam
from apache_beam.typehints.decorators import no_annotations

from beam_pipeline.running.local_runner import runs_here


@dataclasses.dataclass
class Balance(beam.PTransform):
    """Values as they are, shared out among the workers."""

    @no_annotations  # Beam takes hints of PCollections alone
    def expand(self, values: beam.PCollection[Any]) -> beam.PCollection[Any]:
        return values if runs_here(values.pipeline) else values | beam.Reshuffle()


@dataclasses.dataclass
class Share(beam.PTransform):
    """A few values of the launcher's, shared out among the workers by one shuffle at most.

    Attributes:
        values: They.
    """

    values: Sequence[Any]

    @no_annotations  # Beam takes hints of PCollections alone
    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection[Any]:
        return pipeline | beam.Create(self.values, reshuffle=False) | Balance()


@dataclasses.dataclass
class Merge(beam.PTransform):
    """All values of one or several PCollections as one, which is there also where there are none.

    One worker goes through them, as side inputs: they are to be as many as bundles, not records.

    Attributes:
        merge: Makes one of any number of values.
    """

    merge: Callable[[Iterable[Any]], Any]

    @no_annotations  # Beam takes hints of PCollections alone
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
