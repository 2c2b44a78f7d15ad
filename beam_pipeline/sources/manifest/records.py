"""From the rows of a manifest to records: plain functions, no Beam."""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from beam_pipeline.errors import RecordError
from beam_pipeline.records import Objects, Record, Rejected, Value
from beam_pipeline.sources.classes import named_class
from beam_pipeline.sources.columns.column import Columns
from beam_pipeline.sources.columns.kinds import Kind
from beam_pipeline.sources.columns.long_values import is_long
from beam_pipeline.sources.manifest.boxes import boxes_from_lists, boxes_from_rows
from beam_pipeline.sources.manifest.feature_columns import (
    FeatureColumn,
    main_columns,
    other_columns,
    path_text,
)
from beam_pipeline.sources.manifest.files import Manifest, split_folder
from beam_pipeline.sources.manifest.long_values import deferred, row_files
from beam_pipeline.sources.manifest.plain import check_plain
from beam_pipeline.sources.manifest.rows import MALFORMED, BadRow, Row, RowForm

# What AutoML and Vertex write in their ML_USE column.
_ML_USES = {"TRAIN", "TRAINING", "TEST", "VALIDATION", "VALIDATE"}
_UNASSIGNED = "UNASSIGNED"

Kinds = Mapping[str, Kind | None]


class RecordMaker:
    """Rows of one manifest on their way to records.

    Attributes:
        manifest: The file.
        form: How its rows are written.
        columns: Which column is which.
        kinds: The kind of every column, over all rows of all manifests; a column that is
            missing here is "" if it is text.
        first_line: Of the rows, from 1.
    """

    def __init__(
        self, manifest: Manifest, form: RowForm, columns: Columns, kinds: Kinds, first_line: int
    ):
        self.manifest = manifest
        self.form = form
        self.columns = columns
        self.kinds = kinds
        self.first_line = first_line
        self._main_columns = main_columns(manifest, columns, kinds)
        self._other_columns = other_columns(columns, kinds)

    def line(self, row: Row | BadRow) -> int:
        """The line in the manifest on which a row starts, from 1."""
        return self.first_line + row.line

    def source(self, row: Row | BadRow) -> str:
        """For messages: "labels.csv:12"."""
        return f"{self.manifest.relative}:{self.line(row)}"

    def key(self, row: Row) -> str:
        """The record's: the path of its main file, or its place in the manifest.

        Raises:
            RecordError: "malformed annotation": there is no such path.
        """
        name = row.values.get(self.columns.key) if self.columns.key else None
        if self.columns.key and not self.columns.declared:  # else the schema refuses it
            path_text(name, self.columns.key)
        if isinstance(name, str) and name.strip():
            return self.manifest.locate(name)[0]
        return self.source(row)

    def elements(self, rows: Sequence[Row]) -> list[Record | Rejected]:
        """The record of each row, or why it can be none; for rows that are no boxes."""
        try:
            return list(self._records(rows))
        except RecordError as error:
            if len(rows) == 1:
                return [self.reject(rows[0], error)]
        middle = len(rows) // 2  # until the bad rows are alone
        return [*self.elements(rows[:middle]), *self.elements(rows[middle:])]

    def reject(self, row: Row, error: RecordError) -> Rejected:
        """What becomes of a row that cannot be used."""
        return Rejected(source=self.source(row), reason=error.reason, detail=error.detail)

    def _records(self, rows: Sequence[Row]) -> Iterator[Record]:
        keys = [self.key(row) for row in rows]
        for row, key, features in zip(rows, keys, self._features(rows), strict=True):
            split = split_of_row(row.values, key, self.manifest, self.columns)
            yield Record(key=key, features=features, split=split, source=self.source(row))

    def _features(self, rows: Sequence[Row]) -> Iterator[dict[str, Value]]:
        features = self._converted(rows, self._main_columns)
        values = [row.values for row in rows]
        if self.columns.boxes:
            features["boxes"] = [
                named_boxes(boxes_from_lists(each, self.columns, self.kinds), self.columns)
                for each in values
            ]
        if self._other_columns:
            self.form.check(values, self.columns)
            features |= self._converted(rows, self._other_columns)
        names = list(features)
        for of_row in (
            zip(*features.values(), strict=True) if names else itertools.repeat((), len(rows))
        ):
            yield {
                name: value for name, value in zip(names, of_row, strict=True) if value is not None
            }

    def _converted(
        self, rows: Sequence[Row], columns: Sequence[FeatureColumn]
    ) -> dict[str, list[Any]]:
        files = row_files(self.manifest.path, rows)
        features = {}
        for feature, column, convert in columns:
            values = convert([row.values.get(column) for row in rows])
            if any(files) and any(map(is_long, values)):
                values = deferred(values, files, self.form.cell(column), convert)
            features[feature] = values
        return features


class BoxRow(NamedTuple):
    """A row of an image that is one of its boxes.

    Attributes:
        manifest: The file of the row.
        source: For messages: "labels.csv:12".
        values: By column.
    """

    manifest: Manifest
    source: str
    values: Mapping[str, Any]


def record_from_boxes(key: str, rows: Sequence[BoxRow], columns: Columns, kinds: Kinds) -> Record:
    """The record of one image from its rows, a box each.

    Raises:
        RecordError: A value cannot be used, or the rows contradict one another.
    """
    first = rows[0]
    splits = {split_of_row(row.values, key, row.manifest, columns) for row in rows}
    if len(splits) > 1:
        raise RecordError(
            MALFORMED, f"rows of one image are in the splits {sorted(map(str, splits))}"
        )
    declared = {column for _, column in columns.declared}
    features: dict[str, Value] = {}
    for feature, column, convert in main_columns(first.manifest, columns, kinds):
        stated = first.values.get(column)
        (value,) = convert([stated])
        if value is None:
            continue
        if column in declared and any(row.values.get(column) != stated for row in rows[1:]):
            raise RecordError(MALFORMED, f"rows of one image differ in the column {column!r}")
        features[feature] = value
    values = [row.values for row in rows]
    check_plain(values, columns)
    features["boxes"] = named_boxes(boxes_from_rows(values, columns, kinds), columns)
    return Record(key=key, features=features, split=splits.pop(), source=first.source)


def numbered(key: str, elements: Sequence[Record | Rejected]) -> Iterator[Record | Rejected]:
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


def split_of_row(
    values: Mapping[str, Any], key: str, manifest: Manifest, columns: Columns
) -> str | None:
    """What the row states, else its manifest, else its folder; None leaves it to the build."""
    stated = values.get(columns.split) if columns.split else None
    split = "" if stated is None else str(stated).strip()
    if split == _UNASSIGNED:
        return None
    by_folder = split_folder(key) if columns.split_folders else None
    return (split.lower() if split in _ML_USES else split) or manifest.split or by_folder
