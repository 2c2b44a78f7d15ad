"""From the rows of a manifest to records: plain functions, no Beam."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from beam_pipeline.errors import RecordError
from beam_pipeline.records import Deferred, FileRef, Objects, Record, Rejected, Value
from beam_pipeline.running.pickling import crosses
from beam_pipeline.sources.columns.class_values import is_stated, named_class
from beam_pipeline.sources.columns.column import Columns
from beam_pipeline.sources.columns.kinds import Kind
from beam_pipeline.sources.columns.long_values import is_long, is_long_range, reader
from beam_pipeline.sources.gather import Entry
from beam_pipeline.sources.left_behind import not_kept
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.manifest.boxes import boxes_from_lists, boxes_from_rows
from beam_pipeline.sources.manifest.feature_columns import (
    FeatureColumn,
    main_columns,
    path_text,
)
from beam_pipeline.sources.manifest.files import Manifest, split_folder
from beam_pipeline.sources.manifest.kinds import check_plain
from beam_pipeline.sources.manifest.lines import is_compressed
from beam_pipeline.sources.manifest.survey import Overview
from beam_pipeline.sources.manifest.table import Batch, Other, Range, Table

# What AutoML and Vertex write in their ML_USE column.
_ML_USES = {"TRAIN", "TRAINING", "TEST", "VALIDATION", "VALIDATE"}
_UNASSIGNED = "UNASSIGNED"
_MAX_CAPTIONS = 10_000

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

    def names(self, batch: Batch) -> Iterable[Any]:
        """What names the record of each row, if anything does."""
        return batch.columns.get(self.columns.key, itertools.repeat(None, len(batch)))

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

    def joined(self, batch: Batch) -> Iterator["JoinedRow"]:
        """The rows as parts of an image's, of which others may be in other tables."""
        for line, values in zip(batch.lines, batch.by_row(), strict=True):
            yield JoinedRow(self.manifest, self.source(line), values)

    def elements(self, batch: Batch) -> list[Record | Rejected]:
        """The record of each row, or why it can be none; for rows that are no boxes."""
        try:
            return list(self._records(batch))
        except RecordError as error:
            if len(batch) == 1:
                return [self.reject(batch.lines[0], error)]
        return [element for half in batch.halves() for element in self.elements(half)]

    def _records(self, batch: Batch) -> Iterator[Record]:
        keys = list(map(self.key, self.names(batch), batch.lines))
        splits = batch.columns.get(self.columns.split, itertools.repeat(None, len(keys)))
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
                read = reader(self.table.cell(column), convert)
                values = [
                    Deferred(file=file, read=read) if file and is_long(value) else value
                    for value, file in zip(values, files, strict=True)
                ]
            features[feature] = values
        return features

    def _files(self, batch: Batch) -> list[FileRef | None]:
        """The bytes of each row that is long and can be read by itself, else None."""
        path = batch.path or self.manifest.path
        if is_compressed(path):
            return [None] * len(batch)
        return [
            FileRef(path=path, offset=offset, length=length) if is_long_range(length) else None
            for offset, length in zip(batch.offsets, batch.lengths, strict=True)
        ]


@crosses
class JoinedRow(NamedTuple):
    """A row of an image that is one of its boxes or captions.

    Attributes:
        manifest: The file of the row.
        source: For messages: "labels.csv:12".
        values: By column.
    """

    manifest: Manifest
    source: str
    values: Mapping[str, Any]


def joined_record(key: str, rows: Sequence[JoinedRow], columns: Columns, kinds: Kinds) -> Record:
    """The record of one image from its rows, a box or a caption each.

    Raises:
        RecordError: A value cannot be used, or the rows contradict one another.
    """
    first = rows[0]
    splits = {
        split_of_row(row.values.get(columns.split), key, row.manifest, columns) for row in rows
    }
    if len(splits) > 1:
        raise malformed(f"rows of one image are in the splits {sorted(map(str, splits))}")
    declared = {column for _, column in columns.declared}
    classes = {column for _, column in columns.labels}
    features: dict[str, Value] = {}
    for feature, column, convert in main_columns(first.manifest, columns, kinds):
        stated = first.values.get(column)
        (value,) = convert([stated])
        if value is None:
            continue
        if (column in declared or column in classes) and any(
            row.values.get(column) != stated for row in rows[1:]
        ):
            raise malformed(f"rows of one image differ in the column {column!r}")
        features[feature] = value
    values = [row.values for row in rows]
    names = dict.fromkeys(name for row in values for name in row)
    check_plain({name: [row.get(name) for row in values] for name in names}, columns)
    notes: Mapping[str, int] = {}
    if columns.captions:
        features["captions"] = _captions([row.get(columns.captions) for row in values])
        notes = not_kept(name for name in columns.numbers for _ in rows)
    else:
        features["boxes"] = named_boxes(boxes_from_rows(values, columns, kinds), columns)
    return Record(key=key, features=features, split=splits.pop(), source=first.source, notes=notes)


def _captions(values: Sequence[Any]) -> tuple[str, ...]:
    """The texts of an image; rows without one add none."""
    if len(values) > _MAX_CAPTIONS:
        raise malformed(f"over {_MAX_CAPTIONS:,} rows with texts of one image")
    return tuple(str(value) for value in values if is_stated(value))


def read_table(part: Range | Other, all_rows: Overview) -> Iterator[Record | Other]:
    """The records of a range whose rows go by their line."""
    if not isinstance(part, Range):
        yield part
        return
    for maker, batch in _batches(part, all_rows):
        yield from _unreadable(maker, batch)
        yield from maker.elements(batch)


def read_entries(part: Range | Other, all_rows: Overview) -> Iterator[Entry | Other]:
    """The rows of a range, keyed by their main file: to be joined as they are, or as elements."""
    if not isinstance(part, Range):
        yield part
        return
    for maker, batch in _batches(part, all_rows):
        yield from _unreadable(maker, batch)
        elements: Iterable[Any] = (
            maker.joined(batch) if all_rows.columns.joins_rows else maker.elements(batch)
        )
        rows = zip(batch.lines, batch.lengths, maker.names(batch), elements, strict=True)
        for line, length, name, element in rows:
            try:
                key = element.key if isinstance(element, Record) else maker.key(name, line)
            except RecordError as error:
                yield maker.reject(line, error)
            else:
                order = (maker.manifest.relative, maker.first_line + line)
                yield Entry(key, order, element, length)


def _batches(part: Range, all_rows: Overview) -> Iterator[tuple[RecordMaker, Batch]]:
    table = part.table
    start, end, first_line = all_rows.places[table.manifest.path, part.start]
    maker = RecordMaker(table, all_rows.columns, all_rows.kinds, first_line)
    if start < end:
        for batch in table.batches(start, end):
            yield maker, batch


def _unreadable(maker: RecordMaker, batch: Batch) -> Iterator[Rejected]:
    for row in batch.bad:
        yield maker.reject(row.line, malformed(row.detail))


def join_rows(
    key: str, rows: Sequence[JoinedRow], all_rows: Overview
) -> Iterator[Record | Rejected]:
    """The record of one image from its rows, or why it can be none."""
    try:
        yield joined_record(key, rows, all_rows.columns, all_rows.kinds)
    except RecordError as error:
        yield Rejected.of(rows[0].source, error)


def numbered(key: str, elements: Iterable[Record | Rejected]) -> Iterator[Record | Rejected]:
    """What the rows of one key became, in their order, with the keys "path", "path#2", …."""
    for number, element in enumerate(elements, start=1):
        if number > 1 and isinstance(element, Record):
            element = dataclasses.replace(element, key=f"{key}#{number}")
        yield element


def named_boxes(boxes: Objects, columns: Columns) -> Objects:
    """Boxes whose labels are numbers of the user's classes by those, where boxes have them."""
    if columns.labels or not columns.classes:
        return boxes
    labels = tuple(named_class(name, columns.classes) for name in boxes.labels)
    return dataclasses.replace(boxes, labels=labels)


def split_of_row(stated: Any, key: str, manifest: Manifest, columns: Columns) -> str | None:
    """What the row states, else its manifest, else its folder; None leaves it to the build."""
    split = "" if stated is None else str(stated).strip()
    if split == _UNASSIGNED:
        return None
    by_folder = split_folder(key) if columns.split_folders else None
    return (split.lower() if split in _ML_USES else split) or manifest.split or by_folder
