"""From the rows of a manifest to records: plain functions, no Beam."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from beam_pipeline.errors import RecordError
from beam_pipeline.records import ClassLabel, FileRef, Image, Record, Rejected, Value
from beam_pipeline.sources.columns import (
    Columns,
    Kind,
    convert,
    kind_of_json,
    kind_of_text,
    wider,
)
from beam_pipeline.sources.manifest_boxes import (
    boxes_from_lists,
    boxes_from_rows,
    label_name,
    lists_beside,
)
from beam_pipeline.sources.manifest_rows import MALFORMED

# What AutoML and Vertex write in their ML_USE column.
_ML_USES = {"TRAIN", "TRAINING", "TEST", "VALIDATION", "VALIDATE"}
_UNASSIGNED = "UNASSIGNED"


class PictureRow(NamedTuple):
    """A row whose picture is known.

    Attributes:
        key: The picture's path relative to the input.
        path: Its absolute path or URL.
        source: The manifest and the line: "labels.csv:12".
        split: The split of the whole manifest, if it has one.
        values: By column.
    """

    key: str
    path: str
    source: str
    split: str | None
    values: Mapping[str, Any]


def records_of_picture(
    key: str, rows: Sequence[PictureRow], columns: Columns, kinds: Mapping[str, Kind | None]
) -> Iterator[Record | Rejected]:
    """The records of all rows that name one picture, in their order.

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
    rows: Sequence[PictureRow], columns: Columns, kinds: Mapping[str, Kind | None]
) -> Record:
    """One record from one row, or from the rows of a picture where each is a box.

    Args:
        rows: One row, unless `columns.corners` is there.
        columns: Which column is which.
        kinds: The kind of every column, over all rows of all manifests; a column that is
            missing here is "" if it is text.

    Raises:
        RecordError: "malformed annotation", "missing value", or "unsupported column".
    """
    first = rows[0]
    splits = {_split(row, columns) for row in rows}
    if len(splits) > 1:
        raise RecordError(
            MALFORMED, f"rows of one picture are in the splits {sorted(map(str, splits))}"
        )
    features: dict[str, Value] = {"image": Image(file=FileRef(path=first.path))}
    plain = [plain_values(row.values, columns) for row in rows]
    if columns.corners:
        features["boxes"] = boxes_from_rows(plain, columns, kinds)
    else:
        if columns.label:
            features["label"] = ClassLabel(label_name(plain[0].get(columns.label), columns.label))
        if columns.boxes:
            features["boxes"] = boxes_from_lists(first.values, columns, kinds)
        attributes = f"{columns.boxes}." if columns.boxes else "\0"
        for name, kind in kinds.items():
            if name not in columns.taken and not name.startswith(attributes):
                features[name] = convert(name, plain[0].get(name), kind)
    return Record(key=first.key, features=features, split=splits.pop(), source=first.source)


def plain_values(values: Mapping[str, Any], columns: Columns) -> dict[str, Any]:
    """The values of a row but for its lists of boxes, their classes and attributes.

    Raises:
        RecordError: "unsupported column": a list or an object in another column.
    """
    if not any(isinstance(value, (list, dict)) for value in values.values()):
        return dict(values)
    beside = {columns.boxes, columns.box_labels, *lists_beside(values, columns)}
    plain = {name: value for name, value in values.items() if name not in beside}
    for name, value in plain.items():
        if isinstance(value, list | dict) and name not in columns.ignored:
            raise RecordError(
                "unsupported column",
                f"column {name!r} holds {str(value)[:100]}, a {type(value).__name__}, not a "
                "number or text; leave it out with ignore_columns",
            )
    return plain


def json_row_kinds(values: Mapping[str, Any], columns: Columns) -> dict[str, Kind | None]:
    """The kinds of a JSON row's columns, and under "<boxes>.<name>" of its boxes' attributes.

    Raises:
        RecordError: As `record_from_rows`.
    """
    kinds = {
        name: kind_of_json(value)
        for name, value in plain_values(values, columns).items()
        if name not in columns.taken
    }
    if columns.boxes:
        attributes = boxes_from_lists(values, columns, None).attributes
        for name, members in attributes.items():
            kind = None
            for member in members:
                kind = wider(kind, kind_of_json(member))
            kinds[f"{columns.boxes}.{name}"] = kind
    return kinds


def csv_row_kinds(values: Mapping[str, str], columns: Columns) -> dict[str, Kind | None]:
    """The kinds of a CSV row's columns."""
    taken = columns.taken
    return {name: kind_of_text(text) for name, text in values.items() if name not in taken}


def _split(row: PictureRow, columns: Columns) -> str | None:
    """What the row states, else its manifest; None leaves it to the build."""
    stated = row.values.get(columns.split) if columns.split else None
    split = "" if stated is None else str(stated).strip()
    if split == _UNASSIGNED:
        return None
    return (split.lower() if split in _ML_USES else split) or row.split
