"""Near-duplicates over Beam: what `likeness` does to one bucket, to all of them."""

import dataclasses
from collections.abc import Iterable, Iterator

import apache_beam as beam

from beam_pipeline.assign import columns, likeness
from beam_pipeline.assign.stratification import SplitChooser
from beam_pipeline.config import BuildConfig
from beam_pipeline.running.spill import Spill


@dataclasses.dataclass
class FindNearDuplicates(beam.PTransform):
    """Tables of looks (`likeness.SCHEMA`) to the `likeness.Joined` of all, of one element.

    Attributes:
        buckets: PCollection[int], of one element: in how many each part of a look is compared.
        chooser: PCollection[SplitChooser], of one element.
    """

    config: BuildConfig
    buckets: beam.PCollection[int]
    chooser: beam.PCollection[SplitChooser]
    spill: Spill

    def expand(self, looks: beam.PCollection[bytes]) -> beam.PCollection[likeness.Joined]:
        return (
            looks
            | "KeyByBand"
            >> beam.FlatMap(
                _by_band, beam.pvalue.AsSingleton(self.buckets), self.spill
            ).with_output_types(tuple[int, bytes])  # (bucket, table)
            | "GroupByBand" >> beam.GroupByKey()  # (bucket, tables)
            | "CompareLooks"
            >> beam.FlatMap(
                _compare, beam.pvalue.AsSingleton(self.buckets), self.spill
            )  # list[Alike]
            | "AllAlike" >> beam.combiners.ToList()  # list[list[Alike]], one
            | "JoinGroups"
            >> beam.Map(
                likeness.join,
                beam.pvalue.AsSingleton(self.chooser),
                keep_together=self.config.near_duplicates == "group",
            )
        )


def _by_band(table: bytes, buckets: int, spill: Spill) -> Iterator[tuple[int, bytes]]:
    rows = columns.from_bytes([spill.get(table)], likeness.SCHEMA)
    for bucket, part in likeness.by_band(rows, buckets):
        yield bucket, spill.put(columns.to_bytes(part))


def _compare(
    keyed: tuple[int, Iterable[bytes]], buckets: int, spill: Spill
) -> Iterator[list[likeness.Alike]]:
    table = columns.from_bytes(spill.all(keyed[1]), likeness.SCHEMA)
    yield from likeness.compare(table, keyed[0] // buckets)
