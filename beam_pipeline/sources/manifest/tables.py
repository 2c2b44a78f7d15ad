"""Tables to records: read twice, in ranges."""

import dataclasses
from collections.abc import Sequence

import apache_beam as beam
from apache_beam.pvalue import AsSingleton

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.kinds.boxes import MAX_BOXES
from beam_pipeline.records import Rejected
from beam_pipeline.sources.gather import Gather, ReadInBatches
from beam_pipeline.sources.manifest.joining import join_rows, numbered
from beam_pipeline.sources.manifest.records import read_entries, read_table
from beam_pipeline.sources.manifest.survey import Questions, overview, surveyed
from beam_pipeline.sources.manifest.table import Other, Range, Table
from beam_pipeline.sources.manifest.unnamed import Folder


@dataclasses.dataclass
class ReadTables(beam.PTransform):
    """Reads tables twice, in ranges: for what all rows are, then for the records.

    Attributes:
        tables: What is read.
        questions: What the first time is to find out.
        scratch: The folder for what has to be unpacked.
        others: What cannot be read, and is told of; classes that the tables state.
        folders: Those whose files rows name, where it is told which no row names.
    """

    tables: Sequence[Table]
    questions: Questions
    scratch: str
    others: Sequence[Other] = ()
    folders: Sequence[Folder] = ()

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection:
        ranges = (
            pipeline
            | "Tables" >> beam.Create([*self.tables, *self.folders, *self.others])
            | "BalanceTables" >> beam.Reshuffle()  # Table | Folder | Other
            | "Cut" >> beam.FlatMap(ranges_of, self.scratch)  # Range | Folder | Other
            | "BalanceRanges" >> beam.Reshuffle()  # Range | Folder | Other
        )
        all_rows = (
            ranges
            | "SurveyRanges" >> beam.FlatMap(surveyed, self.questions)  # Survey
            | "GatherSurveys" >> beam.combiners.ToList()  # list of Survey
            | "Overview" >> beam.Map(overview, self.questions)  # Overview
        )
        columns = self.questions.columns
        if not columns.key:
            return ranges | "ReadTables" >> beam.FlatMap(
                read_table, AsSingleton(all_rows)
            )  # Record | Other
        paths = [table.manifest.path for table in self.tables]
        num_bytes = sum(size or 0 for size in storage.sizes(paths))
        batches = ranges | "ReadRows" >> ReadInBatches(
            num_bytes, read_entries, (AsSingleton(all_rows),)
        )  # (bucket, batch)
        if columns.joins_rows:
            return batches | Gather(
                join_rows, (AsSingleton(all_rows),), max_values=MAX_BOXES + 2
            )  # Record | Other
        return batches | Gather(numbered, hold=iter)  # Record | Other


def ranges_of(table: Table | Folder | Other, scratch: str) -> Sequence[Range | Folder | Other]:
    """The ranges of a table, or why it can have none."""
    if not isinstance(table, Table):
        return [table]
    try:
        return table.ranges(scratch=scratch)
    except RecordError as error:
        return [Rejected.of(table.manifest.relative, error)]
