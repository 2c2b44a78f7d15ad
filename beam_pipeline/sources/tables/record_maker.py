"""From tables to records: each table is read twice, for what all rows are and for the records."""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.pvalue import AsSingleton

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.kinds.boxes import MAX_BOXES
from beam_pipeline.records import Element, Record, Rejected, Value
from beam_pipeline.rows import Rows, by_row, rows_of
from beam_pipeline.running.gathering import Merge, Share
from beam_pipeline.running.pickling import fast_pickle
from beam_pipeline.sources.gather import Entry, Gather, ReadInBatches
from beam_pipeline.sources.left_behind import not_kept
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.tables.boxes import (
    boxes_from_lists,
    boxes_from_rows,
    objects_from_runs,
)
from beam_pipeline.sources.tables.convert import (
    Kinds,
    check_plain,
    converted,
    main_columns,
    other_columns,
    path_text,
)
from beam_pipeline.sources.tables.labels import is_stated
from beam_pipeline.sources.tables.roles import Roles
from beam_pipeline.sources.tables.sample import split_folder
from beam_pipeline.sources.tables.survey import Other, Overview, overview, survey
from beam_pipeline.sources.tables.table import Batch, Scratch, Table, TableFile

# What AutoML and Vertex write in their ML_USE column.
_ML_USES = {"TRAIN", "TRAINING", "TEST", "VALIDATION", "VALIDATE"}
_UNASSIGNED = "UNASSIGNED"
_MAX_CAPTIONS = 10_000


@fast_pickle
class JoinedRow(NamedTuple):
    """A row of an image that is one of its boxes or captions.

    Attributes:
        file: The table's file.
        source: For messages: "labels.csv:12".
        values: By column.
    """

    file: TableFile
    source: str
    values: Mapping[str, Any]


class RecordMaker:
    """Makes records of the rows of one table.

    Args:
        table: The table.
        overview: What all tables are.
        scratch: Takes long values; None keeps them in the records.
    """

    def __init__(self, table: Table, overview: Overview, scratch: Scratch | None) -> None:
        self._table, self._file, self._scratch = table, table.file, scratch
        self._roles, self._kinds = overview.roles, overview.kinds
        self._main = main_columns(table.file, self._roles, self._kinds)
        self._others = other_columns(table, self._roles, self._kinds)

    def rows(self, batch: Batch) -> list[Rows | Record | Rejected]:
        """Return the rows that can be records together, or a record or reject for each."""

        def make(some: Batch) -> list[Rows | Record | Rejected]:
            parts = self._parts(some)
            rows = rows_of(*parts) if parts[-1] else None
            return [rows] if rows else [*_records(*parts)]

        return self._made(batch, make) if len(batch) else []

    def _made(self, batch: Batch, make: Callable[[Batch], list[Any]]) -> list[Any]:
        try:
            return make(batch)
        except RecordError as error:
            if len(batch) == 1:
                return [self.reject(batch.lines[0], error)]
        return [element for half in batch.halves() for element in self._made(half, make)]

    def reject(self, line: int, error: RecordError) -> Rejected:
        """Return what becomes of a row that cannot be used."""
        return Rejected.of(self._table.row(line), error)

    def entries(self, batch: Batch) -> Iterator[Entry | Rejected]:
        """Yield the rows, keyed by their main file: to be joined as they are, or as elements."""
        elements: Iterable[Any] = (
            self._joined(batch)
            if self._roles.joins_rows
            else self._made(batch, lambda some: [*_records(*self._parts(some))])
        )
        names = batch.columns.get(self._roles.key) or [None] * len(batch)
        for line, name, element in zip(batch.lines, names, elements, strict=True):
            try:
                key = element.key if isinstance(element, Record) else self._key(name, line)
            except RecordError as error:
                yield self.reject(line, error)
            else:
                yield Entry(key, (self._file.relative, line), element)

    def _joined(self, batch: Batch) -> Iterator[JoinedRow]:
        rows = zip(batch.lines, batch.by_row(), strict=True)
        return (JoinedRow(self._file, self._table.row(line), values) for line, values in rows)

    def _key(self, name: Any, line: int) -> str:
        """Return the path of the record's main file, or its place in the table.

        Raises:
            RecordError: "malformed annotation" or "file outside the input".
        """
        if self._roles.key and not self._roles.declared:  # else the schema refuses it
            path_text(name, self._roles.key)
        if isinstance(name, str) and name.strip():
            return self._file.key_of(name)
        return self._table.row(line)

    def _parts(
        self, batch: Batch
    ) -> tuple[Sequence[str], Sequence[str], Sequence[str | None], Mapping[str, Sequence[Any]]]:
        """Return the keys, the sources, the splits and the features of the records."""
        roles, columns = self._roles, batch.columns
        rows = list(map(self._table.row, batch.lines))
        keys = rows
        if names := columns.get(roles.key):
            keys = list(map(self._key, names, batch.lines))
        features = self._features(batch)
        splits: Sequence[str | None] = [self._file.split] * len(keys)
        if roles.split in columns or roles.split_folders:
            stated = columns.get(roles.split) or [None] * len(keys)
            splits = [
                split_of_row(split, key, self._file, roles)
                for split, key in zip(stated, keys, strict=True)
            ]
        sources = [""] * len(rows) if self._table.sign == "#" else rows
        return keys, sources, splits, features

    def _features(self, batch: Batch) -> Mapping[str, Sequence[Any]]:
        cells = converted(self._main, batch, self._scratch)
        if self._roles.boxes.lists:
            cells["boxes"] = [
                boxes_from_lists(values, self._roles, self._kinds) for values in batch.by_row()
            ]
        if self._table.is_typed and not self._roles.declared and not self._table.has_values:
            check_plain(batch.columns, self._roles)
        return cells | converted(self._others, batch, self._scratch)


def _records(
    keys: Sequence[str],
    sources: Sequence[str],
    splits: Sequence[str | None],
    features: Mapping[str, Sequence[Any]],
) -> Iterator[Record]:
    rows = zip(keys, sources, splits, by_row(features, len(keys)), strict=True)
    for key, source, split, values in rows:
        yield Record(key=key, features=values, split=split, source=source)


def split_of_row(stated: Any, key: str, file: TableFile, roles: Roles) -> str | None:
    """Return the split of the row, else its table's, else its folder's; None leaves it open."""
    split = "" if stated is None else str(stated).strip()
    if split == _UNASSIGNED:
        return None
    by_folder = split_folder(key) if roles.split_folders else None
    return (split.lower() if split in _ML_USES else split) or file.split or by_folder


def read_rows(
    table: Table | Other, all_rows: Overview, scratch_folder: str = ""
) -> Iterator[Entry | Element | Rows]:
    """Yield the rows of a table: entries by their main file; records, if they go by their line."""
    if not isinstance(table, Table):
        yield table
        return
    scratch = Scratch(table.file.path, scratch_folder) if scratch_folder else None
    maker = RecordMaker(table, all_rows, scratch)
    try:
        if error := all_rows.too_large.get(table.file.path):
            raise error
        for batch in table.batches(scratch):
            made = [*(maker.entries if all_rows.roles.key else maker.rows)(batch)]
            if scratch:
                scratch.flush()
            for row in batch.bad:
                yield maker.reject(row.line, malformed(row.detail))
            yield from made
    except RecordError as error:
        yield Rejected.of(table.file.relative, error)


def joined_record(key: str, rows: Sequence[JoinedRow], roles: Roles, kinds: Kinds) -> Record:
    """Return the record of one image from its rows, a box or a caption each.

    Raises:
        RecordError: A value cannot be used, or the rows contradict one another.
    """
    first, values = rows[0], [row.values for row in rows]
    stated = (row.values.get(roles.split) for row in rows)
    splits = {split_of_row(split, key, first.file, roles) for split in stated}
    if len(splits) > 1:
        raise malformed(f"rows of one image are in the splits {sorted(map(str, splits))}")
    features = _shared_features(rows, roles, kinds)
    names = dict.fromkeys(name for row in values for name in row)
    check_plain({name: [row.get(name) for row in values] for name in names}, roles)
    notes: Mapping[str, int] = {}
    if roles.captions:
        features["captions"] = _captions([row.get(roles.captions) for row in values])
        notes = not_kept(name for name in roles.numbers for _ in rows)
    elif roles.boxes.has_runs:
        path = first.file.path_of(first.values[roles.key])
        features["boxes"] = objects_from_runs(values, roles, kinds, path)
    else:
        features["boxes"] = boxes_from_rows(values, roles, kinds)
    return Record(key=key, features=features, split=splits.pop(), source=first.source, notes=notes)


def _shared_features(rows: Sequence[JoinedRow], roles: Roles, kinds: Kinds) -> dict[str, Value]:
    """Return the features of the image itself, in which its rows must be alike."""
    alike = {column for _, column in (*roles.declared, *roles.labels)}
    features: dict[str, Value] = {}
    for column in main_columns(rows[0].file, roles, kinds):
        stated = rows[0].values.get(column.column)
        (value,) = column.convert([stated])
        if value is None:
            continue
        others = (row.values.get(column.column) for row in rows[1:])
        if column.column in alike and any(other != stated for other in others):
            raise malformed(f"rows of one image differ in the column {column.column!r}")
        features[column.feature] = value
    return features


def _captions(values: Sequence[Any]) -> tuple[str, ...]:
    """Return the texts of an image; rows without one add none."""
    if len(values) > _MAX_CAPTIONS:
        raise malformed(f"over {_MAX_CAPTIONS:,} rows with texts of one image")
    return tuple(str(value) for value in values if is_stated(value))


def join_rows(
    key: str, rows: Sequence[JoinedRow], all_rows: Overview
) -> Iterator[Record | Rejected]:
    """Yield the record of one image from its rows, or why it can be none."""
    try:
        yield joined_record(key, rows, all_rows.roles, all_rows.kinds)
    except RecordError as error:
        yield Rejected.of(rows[0].source, error)


def numbered(key: str, elements: Iterable[Record | Rejected]) -> Iterator[Record | Rejected]:
    """Yield what the rows of one key became, with the keys "path", "path#2", …."""
    for number, element in enumerate(elements, start=1):
        if number > 1 and isinstance(element, Record):
            element = dataclasses.replace(element, key=f"{key}#{number}")
        yield element


@dataclasses.dataclass
class ReadRows(beam.PTransform):
    """Reads tables twice: for what all rows are, then for the records.

    Attributes:
        tables: The tables.
        roles: The role of each column.
        scratch: The folder for long values; "" keeps them in the records.
        others: What cannot be read; classes that the tables state; the files that are read.
    """

    tables: Sequence[Table]
    roles: Roles
    scratch: str
    others: Sequence[Other] = ()

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection:
        tables = (
            pipeline | "Tables" >> Share([*self.tables, *self.others])  # Table | Other
        )
        all_rows = (
            tables
            | "SurveyTables" >> beam.FlatMap(survey, self.roles, self.scratch)  # Survey
            | "Overview" >> Merge(functools.partial(overview, roles=self.roles))  # Overview
        )
        arguments = (AsSingleton(all_rows), self.scratch)
        if not self.roles.key:
            read = beam.FlatMap(read_rows, *arguments).with_output_types(Element | Rows)
            return tables | "ReadTables" >> read  # Element | Rows
        sizes = storage.sizes(table.file.path for table in self.tables)
        num_bytes = sum(size or 0 for size in sizes)
        batches = tables | "ReadRows" >> ReadInBatches(num_bytes, read_rows, arguments)
        if self.roles.joins_rows:
            return batches | Gather(
                join_rows, (AsSingleton(all_rows),), max_values=MAX_BOXES + 2
            )  # Record | Other
        return batches | Gather(numbered, hold=iter)  # Record | Other
