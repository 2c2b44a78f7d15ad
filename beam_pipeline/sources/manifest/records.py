"""From the rows of manifests to records: tables are read twice, in ranges."""

import dataclasses
import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import AsSingleton

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.kinds.boxes import MAX_BOXES
from beam_pipeline.records import Deferred, Element, FileRef, Record, Rejected, Value
from beam_pipeline.running.gathering import Balance
from beam_pipeline.sources.columns.column import Columns
from beam_pipeline.sources.columns.kinds import Kind
from beam_pipeline.sources.gather import Entry, Gather, ReadInBatches
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.manifest.boxes import boxes_from_lists, named_boxes
from beam_pipeline.sources.manifest.feature_columns import (
    FeatureColumn,
    is_long,
    is_long_range,
    main_columns,
    path_text,
    read_long,
)
from beam_pipeline.sources.manifest.files import split_of_row
from beam_pipeline.sources.manifest.joining import Folder, JoinedRow, files_in, join_rows, numbered
from beam_pipeline.sources.manifest.kinds import check_plain
from beam_pipeline.sources.manifest.survey import Overview, Questions, overview, surveyed
from beam_pipeline.sources.manifest.table import Batch, Other, Range, Table

Kinds = Mapping[str, Kind | None]


class RecordMaker:
    """Rows of one table on their way to records.

    Attributes:
        table: The table.
        columns: Which column is which.
        kinds: The kind of every column, over all rows of all tables; a column that is
            missing here is "" if it is text.
        first_line: Of the rows, from 1.
    """

    def __init__(self, table: Table, columns: Columns, kinds: Kinds, first_line: int):
        self.table = table
        self.manifest = table.manifest
        self.columns = columns
        self.kinds = kinds
        self.first_line = first_line
        self._main_columns = main_columns(table.manifest, columns, kinds)
        self._other_columns = table.other_columns(columns, kinds)

    def source(self, line: int) -> str:
        """For messages: "labels.csv:12", of the row that starts on a line of the range."""
        return self.table.row(self.first_line + line)

    def reject(self, line: int, error: RecordError) -> Rejected:
        """What becomes of a row that cannot be used."""
        return Rejected.of(self.source(line), error)

    def key(self, name: Any, line: int) -> str:
        """The record's: the path of its main file, or its place in the manifest.

        Raises:
            RecordError: "malformed annotation" or "file outside the input".
        """
        if self.columns.key and not self.columns.declared:  # else the schema refuses it
            path_text(name, self.columns.key)
        if isinstance(name, str) and name.strip():
            return self.manifest.key_of(name)
        return self.source(line)

    def entries(self, batch: Batch) -> Iterator[Entry | Rejected]:
        """The rows, keyed by their main file: to be joined as they are, or as elements."""
        elements: Iterable[Any] = (
            itertools.starmap(self._joined, zip(batch.lines, batch.by_row(), strict=True))
            if self.columns.joins_rows
            else self.elements(batch)
        )
        lengths = batch.lengths or [0] * len(batch)
        rows = zip(batch.lines, lengths, self._names(batch), elements, strict=True)
        for line, length, name, element in rows:
            try:
                key = element.key if isinstance(element, Record) else self.key(name, line)
            except RecordError as error:
                yield self.reject(line, error)
            else:
                yield Entry(key, (self.manifest.relative, self.first_line + line), element, length)

    def _joined(self, line: int, values: dict[str, Any]) -> JoinedRow:
        return JoinedRow(self.manifest, self.source(line), values)

    def elements(self, batch: Batch) -> list[Record | Rejected]:
        """The record of each row, or why it can be none; for rows that are no boxes."""
        try:
            return list(self._records(batch))
        except RecordError as error:
            if len(batch) == 1:
                return [self.reject(batch.lines[0], error)]
        return [element for half in batch.halves() for element in self.elements(half)]

    def _names(self, batch: Batch) -> Sequence[Any]:
        """What names the record of each row, if anything does."""
        return batch.columns.get(self.columns.key) or [None] * len(batch)

    def _records(self, batch: Batch) -> Iterator[Record]:
        keys = list(map(self.key, self._names(batch), batch.lines))
        splits = batch.columns.get(self.columns.split) or [None] * len(keys)
        features = self._features(batch)
        for line, key, stated, values in zip(batch.lines, keys, splits, features, strict=True):
            split = split_of_row(stated, key, self.manifest, self.columns)
            source = self.source(line) if self.table.has_sources else ""
            yield Record(key=key, features=values, split=split, source=source)

    def _features(self, batch: Batch) -> Iterator[dict[str, Value]]:
        features = self._converted(batch, self._main_columns)
        if self.columns.boxes:
            features["boxes"] = [
                named_boxes(boxes_from_lists(values, self.columns, self.kinds), self.columns)
                for values in batch.by_row()
            ]
        if self.table.is_typed and not self.columns.declared:
            check_plain(batch.columns, self.columns)
        features |= self._converted(batch, self._other_columns)
        names = list(features)
        for of_row in (
            zip(*features.values(), strict=True) if names else itertools.repeat((), len(batch))
        ):
            yield {
                name: value for name, value in zip(names, of_row, strict=True) if value is not None
            }

    def _converted(self, batch: Batch, columns: Sequence[FeatureColumn]) -> dict[str, list[Any]]:
        files = self._files(batch)
        nothing = [None] * len(batch)
        features = {}
        for feature, column, convert in columns:
            values = convert(batch.columns.get(column, nothing))
            if any(files) and any(map(is_long, values)):
                cell = self.table.cell(column)
                read = functools.partial(read_long, cell=cell, convert=convert)
                values = [
                    Deferred(file=file, read=read) if file and is_long(value) else value
                    for value, file in zip(values, files, strict=True)
                ]
            features[feature] = values
        return features

    def _files(self, batch: Batch) -> list[FileRef | None]:
        """The bytes of each row that is long and can be read by itself, else None."""
        if self.table.is_packed or not batch.lengths:
            return [None] * len(batch)
        path = batch.path or self.manifest.path
        return [
            FileRef(path=path, offset=offset, length=length) if is_long_range(length) else None
            for offset, length in zip(batch.offsets, batch.lengths, strict=True)
        ]


def read_rows(part: Range | Folder | Other, all_rows: Overview) -> Iterator[Entry | Element]:
    """The rows of a range: entries by their main file; records, where they go by their line.

    The files of a folder that rows name are keyed by themselves.
    """
    columns = all_rows.columns
    if isinstance(part, Folder):
        yield from files_in(part) if columns.key else ()
        return
    if not isinstance(part, Range):
        yield part
        return
    start, end, _, first_line = all_rows.places[part.table.manifest.path, part.start]
    maker = RecordMaker(part.table, columns, all_rows.kinds, first_line)
    for batch in part.table.batches(start, end) if start < end else ():
        for row in batch.bad:
            yield maker.reject(row.line, malformed(row.detail))
        yield from maker.entries(batch) if columns.key else maker.elements(batch)


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
            | "BalanceTables" >> Balance()  # Table | Folder | Other
            | "Cut" >> beam.FlatMap(ranges_of, self.scratch)  # Range | Folder | Other
            | "BalanceRanges" >> Balance()  # Range | Folder | Other
        )
        all_rows = (
            ranges
            | "SurveyRanges" >> beam.FlatMap(surveyed, self.questions)  # Survey
            | "GatherSurveys" >> beam.combiners.ToList()  # list of Survey
            | "Overview" >> beam.Map(overview, self.questions)  # Overview
        )
        columns = self.questions.columns
        if not columns.key:
            read = beam.FlatMap(read_rows, AsSingleton(all_rows)).with_output_types(Element)
            return ranges | "ReadTables" >> read  # Element
        paths = [table.manifest.path for table in self.tables]
        num_bytes = sum(size or 0 for size in storage.sizes(paths))
        batches = ranges | "ReadRows" >> ReadInBatches(
            num_bytes, read_rows, (AsSingleton(all_rows),)
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
