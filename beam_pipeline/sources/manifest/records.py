"""From the rows of a manifest to records: plain functions, no Beam."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from beam_pipeline.errors import RecordError
from beam_pipeline.records import (
    Array,
    Audio,
    Boxes,
    ClassLabel,
    ClassLabels,
    FileRef,
    Image,
    Record,
    Rejected,
    Value,
)
from beam_pipeline.sources.classes import named_class
from beam_pipeline.sources.columns.column import Columns, Media
from beam_pipeline.sources.columns.fitting import fit
from beam_pipeline.sources.columns.kinds import (
    Kind,
    ListOf,
    convert,
    kind_of_json,
    kind_of_text,
    listed,
    naming,
    wider,
)
from beam_pipeline.sources.manifest.boxes import (
    boxes_from_lists,
    boxes_from_rows,
    label_name,
)
from beam_pipeline.sources.manifest.files import Manifest, split_folder
from beam_pipeline.sources.manifest.rows import MALFORMED, is_stated

# What AutoML and Vertex write in their ML_USE column.
_ML_USES = {"TRAIN", "TRAINING", "TEST", "VALIDATION", "VALIDATE"}
_UNASSIGNED = "UNASSIGNED"
_NESTED = frozenset({list, dict})


class ManifestRow(NamedTuple):
    """A row whose record is known.

    Attributes:
        key: The record's.
        manifest: The file of the row.
        line: The line that it starts on.
        values: By column; text in CSV, any JSON value in JSON Lines.
    """

    key: str
    manifest: Manifest
    line: int
    values: Mapping[str, Any]

    @property
    def source(self) -> str:
        """For messages: "labels.csv:12"."""
        return f"{self.manifest.relative}:{self.line}"


def keyed_row(
    manifest: Manifest, line: int, values: Mapping[str, Any], columns: Columns
) -> ManifestRow:
    """The row with its record's key: the path of its main file, or its place in the manifest.

    Raises:
        RecordError: "malformed annotation": there is no such path.
    """
    name = values.get(columns.key) if columns.key else None
    if columns.key and not columns.declared:  # else the schema refuses it, in its own words
        path_text(name, columns.key)
    if isinstance(name, str) and name.strip():
        return ManifestRow(manifest.locate(name)[0], manifest, line, values)
    return ManifestRow(f"{manifest.relative}:{line}", manifest, line, values)


def records_of_key(
    key: str, rows: Sequence[ManifestRow], columns: Columns, kinds: Mapping[str, Kind | None]
) -> Iterator[Record | Rejected]:
    """The records of all rows of one key, in their order.

    Where a row is a box they make one record; else each makes its own, with the keys
    "path", "path#2", ….
    """
    groups = [rows] if columns.corners else [[row] for row in rows]
    for number, group in enumerate(groups, start=1):
        try:
            record = record_from_rows(group, columns, kinds)
        except RecordError as error:
            yield Rejected(source=group[0].source, reason=error.reason, detail=error.detail)
            continue
        yield record if number == 1 else dataclasses.replace(record, key=f"{key}#{number}")


def record_from_rows(
    rows: Sequence[ManifestRow], columns: Columns, kinds: Mapping[str, Kind | None]
) -> Record:
    """One record from one row, or from the rows of an image where each is a box.

    Args:
        rows: One row, unless `columns.corners` is there.
        columns: Which column is which.
        kinds: The kind of every column, over all rows of all manifests; a column that is
            missing here is "" if it is text.

    Raises:
        RecordError: A value cannot be used.
    """
    first = rows[0]
    splits = {_split(row, columns) for row in rows}
    if len(splits) > 1:
        raise RecordError(
            MALFORMED, f"rows of one image are in the splits {sorted(map(str, splits))}"
        )
    features: dict[str, Value] = {
        media.feature: media_value(media, first.values.get(media.column), first.manifest)
        for media in columns.media
    }
    may_lack_labels = first.manifest.relative in columns.unlabelled
    for feature, column in columns.declared:
        value = first.values.get(column)
        may_lack = may_lack_labels or feature.default is not None
        if may_lack and feature.kind == "class_label" and not is_stated(value):
            continue
        if any(row.values.get(column) != value for row in rows[1:]):
            raise RecordError(MALFORMED, f"rows of one image differ in the column {column!r}")
        features[feature.name] = fit(
            feature,
            column,
            value,
            first.manifest.path_of,
            missing_number=columns.missing_number,
        )
    for name, column in columns.labels:
        value = first.values.get(column)
        if is_stated(value) or not may_lack_labels:
            label = class_label(value, column, kinds.get(column))
            features[name] = named_label(label, columns.classes)
    if columns.corners:
        plain = [plain_values(row.values, columns) for row in rows]
        features["boxes"] = named_boxes(boxes_from_rows(plain, columns, kinds), columns)
    elif columns.boxes:
        features["boxes"] = named_boxes(boxes_from_lists(first.values, columns, kinds), columns)
    if not columns.declared and not columns.corners:
        plain_row = plain_values(first.values, columns)
        attributes = f"{columns.boxes}." if columns.boxes else "\0"
        for name, kind in kinds.items():
            if name not in columns.taken and not name.startswith(attributes):
                features[name] = convert(
                    name, plain_row.get(name), kind, missing_number=columns.missing_number
                )
    return Record(key=first.key, features=features, split=splits.pop(), source=first.source)


def media_value(media: Media, value: Any, manifest: Manifest) -> Image | Audio | Array:
    """The image, sound or array that a path in a manifest leads to.

    Raises:
        RecordError: "malformed annotation": it is no path.
    """
    file = FileRef(path=manifest.path_of(path_text(value, media.column)))
    match media.kind:
        case "image":
            return Image(file=file)
        case "audio":
            return Audio(file=file)
    return Array(file=file)


def path_text(value: Any, column: str) -> str:
    """A path as a manifest states it.

    Raises:
        RecordError: "malformed annotation": it is none.
    """
    if not isinstance(value, str) or not value.strip():
        raise RecordError(MALFORMED, f"column {column!r} is {value!r}, not the path of a file")
    return value


def class_label(value: Any, column: str, kind: Kind | None) -> ClassLabel | ClassLabels:
    """The class that a value names; of a list, or text of a column of lists, all of them.

    Raises:
        RecordError: "missing value": there is none, or a name in the list is missing.
    """
    if isinstance(kind, ListOf) and isinstance(value, str) and value.strip():
        value = listed(value, kind)
    if isinstance(value, list):
        return ClassLabels(tuple(label_name(each, column) for each in value))
    if kind is float and isinstance(value, str) and value.strip():
        value = float(value)  # "3.0", as pandas writes 3 where others are missing
    return ClassLabel(label_name(value, column))


def named_label(
    label: ClassLabel | ClassLabels, classes: Sequence[str]
) -> ClassLabel | ClassLabels:
    """A label whose number is one of `classes` by that class's name."""
    if isinstance(label, ClassLabels):
        return ClassLabels(tuple(named_class(name, classes) for name in label.names))
    return ClassLabel(named_class(label.name, classes))


def named_boxes(boxes: Boxes, columns: Columns) -> Boxes:
    """The same for boxes, where these have the classes that the user names."""
    if columns.labels or not columns.classes:
        return boxes
    labels = tuple(named_class(name, columns.classes) for name in boxes.labels)
    return dataclasses.replace(boxes, labels=labels)


def plain_values(values: Mapping[str, Any], columns: Columns) -> dict[str, Any]:
    """The values of a row but for its lists of boxes, their classes and attributes.

    Raises:
        RecordError: "unsupported column": an object, or a list in a column without lists, or
            another value among lists.
    """
    if not columns.nested and _NESTED.isdisjoint(map(type, values.values())):
        return dict(values)
    beside = {columns.boxes, columns.box_labels, *columns.box_lists}
    plain = {name: value for name, value in values.items() if name not in beside}
    for name, value in plain.items():
        what = ""
        if isinstance(value, dict):
            what = "an object"
        elif isinstance(value, list) and name in columns.plain:
            what = "but numbers or text in other rows"
        elif value is not None and not isinstance(value, list) and name in columns.nested:
            what = "but lists in other rows"
        if what and name not in columns.ignored:
            raise RecordError(
                "unsupported column",
                f"column {name!r} holds {str(value)[:100]}, {what}; mend it, or leave the column "
                "out with --ignore-columns",
            )
    return plain


def json_row_kinds(values: Mapping[str, Any], columns: Columns) -> dict[str, Kind | None]:
    """The kinds of a JSON row's columns, and under "<boxes>.<name>" of its boxes' attributes.

    Raises:
        RecordError: As `record_from_rows`.
    """
    kinds = {}
    for name, value in plain_values(values, columns).items():
        if name not in columns.taken:
            with naming(name):
                kinds[name] = kind_of_json(value)
    if columns.boxes:
        attributes = boxes_from_lists(values, columns, None).attributes
        for name, members in attributes.items():
            kind = None
            for member in members:
                kind = wider(kind, kind_of_json(member))
            kinds[f"{columns.boxes}.{name}"] = kind
    return kinds


def csv_row_kinds(values: Mapping[str, str], columns: Columns) -> dict[str, Kind | None]:
    """The kinds of a CSV row's columns; of labels too, which may be lists."""
    taken = columns.taken.difference(column for _, column in columns.labels)
    return {name: kind_of_text(text) for name, text in values.items() if name not in taken}


def _split(row: ManifestRow, columns: Columns) -> str | None:
    """What the row states, else its manifest, else its folder; None leaves it to the build."""
    stated = row.values.get(columns.split) if columns.split else None
    split = "" if stated is None else str(stated).strip()
    if split == _UNASSIGNED:
        return None
    by_folder = split_folder(row.key) if columns.split_folders else None
    return (split.lower() if split in _ML_USES else split) or row.manifest.split or by_folder
