"""Make the records of tables' rows, column by column; long values become references.

Rows whose values are single numbers, texts or classes become a `RecordBatch`, others one `Record`
each. The rows of an image with a box or caption each meet by the image's path, and are one record.
"""

import dataclasses
import functools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from beam_pipeline.batch import RecordBatch, by_row, rows_of
from beam_pipeline.errors import RecordError
from beam_pipeline.records import Deferred, Element, FileRef, Record, Rejected, Value
from beam_pipeline.running.buckets import Entry
from beam_pipeline.sources.rejects import malformed, not_kept
from beam_pipeline.sources.tables.fit import LONG_VALUE_BYTES, OF_FILE, fit, is_long
from beam_pipeline.sources.tables.overview import Overview
from beam_pipeline.sources.tables.parts import WHOLE
from beam_pipeline.sources.tables.roles import Media, Roles
from beam_pipeline.sources.tables.row_objects import boxes_from_lists, objects_from_rows
from beam_pipeline.sources.tables.sample import split_folder
from beam_pipeline.sources.tables.survey import (
    Kinds,
    Other,
    check_forms,
    profiles_of,
    with_unlabelled,
)
from beam_pipeline.sources.tables.table import Batch, Scratch, Table, TableFile, joined_batches
from beam_pipeline.sources.tables.types import (
    OF_COLUMNS,
    ListOf,
    Unlabelled,
    class_label,
    convert_column,
    is_stated,
)

# Values in the ML_USE column of AutoML and Vertex.
_ML_USES = {"TRAIN", "TRAINING", "TEST", "VALIDATION", "VALIDATE"}
_UNASSIGNED = "UNASSIGNED"
_MAX_CAPTIONS = 10_000

Convert = Callable[[Sequence[Any]], Sequence[Value | None]]


class FeatureColumn(NamedTuple):
    """A feature, its column, and the conversion of its values."""

    feature: str
    column: str
    convert: Convert  # pickles in a few bytes
    may_be_long: bool = True  # and become references


class Made(NamedTuple):
    """Records as columns."""

    keys: Sequence[str]
    sources: Sequence[str]
    splits: Sequence[str | None]
    features: Mapping[str, Sequence[Value | None]]

    def one_by_one(self) -> Iterator[Record]:
        """Yield the records."""
        rows = zip(*self[:3], by_row(self.features, len(self.keys)), strict=True)
        for key, source, split, values in rows:
            yield Record(key=key, features=values, split=split, source=source)


class RowsOfImage(NamedTuple):
    """Rows of a table with a box or caption of one image each."""

    file: TableFile
    source: str  # the first row, "labels.csv:12"
    rows: Batch


def read_rows(
    table: Table | Other, all_rows: Overview, scratch_folder: str = ""
) -> Iterator[Entry | Element | RecordBatch]:
    """Yield a table's rows as entries keyed by main file, or as records if keyed by line."""
    if not isinstance(table, Table):
        yield table
        return
    if table.file.path in all_rows.undivided:
        if table.part.start:
            return
        table = dataclasses.replace(table, part=WHOLE)
    scratch = Scratch(table.file.path, scratch_folder, table.part) if scratch_folder else None
    table, roles = table.with_commas(all_rows.commas), all_rows.roles
    main = main_columns(table.file, roles, all_rows.kinds)
    others = other_columns(table, roles, all_rows.kinds)
    make = functools.partial(records_of, table, all_rows, main, others, scratch)
    elements = _rows_of_images if roles.joins_rows else _entries if roles.key else _records
    try:
        if error := all_rows.too_large.get(table.file.path):
            raise error
        for batch in table.batches(scratch):
            made = [*elements(table, roles, with_unlabelled(table, batch, roles), make)]
            if scratch:
                scratch.flush()
            for row in batch.bad:
                yield Rejected.of(table.row(row.line), RecordError(row.reason, row.detail))
            yield from made
    except RecordError as error:
        yield Rejected.of(table.file.relative, error)


def _records(
    table: Table, _: Roles, batch: Batch, make: Callable[[Batch], Made]
) -> Iterator[Record | Rejected | RecordBatch]:
    """Yield rows together if possible, otherwise a record or reject per row."""
    for rows, made in batch.attempts(make):
        if isinstance(made, RecordError):
            yield Rejected.of(table.row(rows.lines[0]), made)
        elif made.features and (together := rows_of(*made)):
            yield together
        else:
            yield from made.one_by_one()


def _entries(
    table: Table, roles: Roles, batch: Batch, make: Callable[[Batch], Made]
) -> Iterator[Entry | Rejected]:
    """Yield records, and rejects that count among the rows of their file."""
    relative = table.file.relative
    for rows, made in batch.attempts(make):
        if not isinstance(made, RecordError):
            for line, record in zip(rows.lines, made.one_by_one(), strict=True):
                yield Entry(record.key, (relative, line), record)
            continue
        line, reject = rows.lines[0], Rejected.of(table.row(rows.lines[0]), made)
        try:
            [key] = keys_of(table, roles, rows)
        except RecordError:
            yield reject
        else:
            yield Entry(key, (relative, line), reject)


def _rows_of_images(
    table: Table, roles: Roles, batch: Batch, _: Callable[[Batch], Made]
) -> Iterator[Entry | Rejected]:
    """Yield the rows of each image together."""
    places: dict[str, list[int]] = {}
    start = 0
    for rows, keys in batch.attempts(functools.partial(keys_of, table, roles)):
        if isinstance(keys, RecordError):
            yield Rejected.of(table.row(rows.lines[0]), keys)
        else:
            for place, key in enumerate(keys, start):
                places.setdefault(key, []).append(place)
        start += len(rows)
    for key, some in places.items():
        rows = batch.take(some)
        line = rows.lines[0]
        together = RowsOfImage(table.file, table.row(line), rows)
        yield Entry(key, (table.file.relative, line), together, num_values=len(rows))


def numbered(key: str, elements: Iterable[Record | Rejected]) -> Iterator[Record | Rejected]:
    """Yield the elements of one key, with the keys "path", "path#2", …."""
    for number, element in enumerate(elements, start=1):
        if number > 1 and isinstance(element, Record):
            element = dataclasses.replace(element, key=f"{key}#{number}")
        yield element


def join_rows(
    key: str, parts: Sequence[RowsOfImage], all_rows: Overview
) -> Iterator[Record | Rejected]:
    """Yield the record of an image from its rows, or a reject."""
    rows = joined_batches([part.rows for part in parts])
    try:
        yield joined_record(key, parts[0], rows, all_rows)
    except RecordError as error:
        yield Rejected.of(parts[0].source, error)


def keys_of(table: Table, roles: Roles, rows: Batch) -> Sequence[str]:
    """Return the path of each record's main file, or its place in the table."""
    keys = []
    for name, line in zip(rows.column(roles.key), rows.lines, strict=True):
        if roles.key and not roles.declared:  # the schema checks declared ones
            path_text(name, roles.key)
        is_named = isinstance(name, str) and name.strip()
        keys.append(table.file.key_of(name) if is_named else table.row(line))
    return keys


def records_of(
    table: Table,
    all_rows: Overview,
    main: Sequence[FeatureColumn],
    others: Sequence[FeatureColumn],
    scratch: Scratch | None,
    batch: Batch,
) -> Made:
    """Make the records of rows; raise RecordError for a row that cannot be one."""
    roles, columns = all_rows.roles, batch.columns
    prefix = table.prefix
    sources = [f"{prefix}{line}" for line in batch.lines]
    keys = keys_of(table, roles, batch) if roles.key in columns else sources
    features = converted(main, batch, scratch)
    if roles.boxes.lists:
        features["boxes"] = [boxes_from_lists(row, roles, all_rows.kinds) for row in batch.by_row()]
    if table.is_typed and not roles.declared and not table.has_values:
        if columns.keys() <= all_rows.kinds.keys() | roles.taken:
            check_forms(columns, roles)
        else:  # raises, since a row with another column is unusable
            profiles_of(table, batch, roles)
    features |= converted(others, batch, scratch)
    splits: Sequence[str | None] = [table.file.split] * len(keys)
    if roles.split in columns or roles.split_folders:
        pairs = zip(batch.column(roles.split), keys, strict=True)
        splits = [split_of_row(split, key, table.file, roles) for split, key in pairs]
    return Made(keys, [""] * len(keys) if table.sign == "#" else sources, splits, features)


def split_of_row(stated: Any, key: str, file: TableFile, roles: Roles) -> str | None:
    """Return the split of the row, else of its table, else of its folder; None if there is none."""
    split = "" if stated is None else str(stated).strip()
    if split == _UNASSIGNED:
        return None
    by_folder = split_folder(key) if roles.split_folders else None
    return (split.lower() if split in _ML_USES else split) or file.split or by_folder


def joined_record(key: str, first: RowsOfImage, rows: Batch, all_rows: Overview) -> Record:
    """Make the record of an image from its rows.

    Raises:
        RecordError: A value is unusable, or the rows contradict each other.
    """
    roles, columns = all_rows.roles, rows.columns
    stated = columns.get(roles.split) or [None]
    splits = {split_of_row(split, key, first.file, roles) for split in stated}
    if len(splits) > 1:
        raise malformed(f"rows of one image are in the splits {sorted(map(str, splits))}")
    features = _shared_features(first.file, rows, all_rows)
    check_forms(columns, roles)
    notes: Mapping[str, int] = {}
    if roles.captions:
        features["captions"] = _captions(columns.get(roles.captions, ()))
        notes = not_kept(name for name in roles.numbers for _ in rows.lines)
    else:
        path = first.file.path_of(columns[roles.key][0]) if roles.boxes.has_runs else ""
        features["boxes"] = objects_from_rows(columns, roles, all_rows.kinds, path)
    return Record(key=key, features=features, split=splits.pop(), source=first.source, notes=notes)


def _shared_features(file: TableFile, rows: Batch, all_rows: Overview) -> dict[str, Value]:
    """Make the features of the image itself, in which its rows must agree."""
    roles = all_rows.roles
    alike = {column for _, column in (*roles.declared, *roles.labels)}
    features: dict[str, Value] = {}
    for feature, column, convert, _ in main_columns(file, roles, all_rows.kinds):
        stated = rows.columns.get(column) or [None]
        (value,) = convert(stated[:1])
        if value is None:
            continue
        if column in alike and any(other != stated[0] for other in stated[1:]):
            raise malformed(f"rows of one image differ in the column {column!r}")
        features[feature] = value
    return features


def _captions(values: Sequence[Any]) -> tuple[str, ...]:
    """Return the captions of an image, skipping rows without one."""
    if len(values) > _MAX_CAPTIONS:
        raise malformed(f"over {_MAX_CAPTIONS:,} rows with texts of one image")
    return tuple(str(value) for value in values if is_stated(value))


def main_columns(file: TableFile, roles: Roles, kinds: Kinds) -> list[FeatureColumn]:
    """Return the columns of files, declared features, and the record's classes."""
    main = []
    for media in roles.media:
        files = functools.partial(_files, media=media, path_of=file.path_of)
        main.append(FeatureColumn(media.feature, media.column, files, may_be_long=False))
    for feature, column in roles.declared:
        fitted = functools.partial(
            fit, feature, column, path_of=file.path_of, missing_number=roles.missing_number
        )
        may_lack = feature.kind == "class_label" and feature.default is not None
        values = functools.partial(_each, value_of=fitted, may_lack=may_lack)
        main.append(FeatureColumn(feature.name, column, values))
    for name, column in roles.labels:
        is_list = isinstance(kinds.get(column), ListOf)
        label = functools.partial(
            class_label,
            column=column,
            kind=kinds.get(column),
            classes=roles.classes,
            separator=roles.separator,
            has_several=is_list or roles.separator not in ("", OF_COLUMNS),
        )
        classes = functools.partial(_each, value_of=label)
        main.append(FeatureColumn(name, column, classes, bool(roles.separator) or is_list))
    return main


def other_columns(table: Table, roles: Roles, kinds: Kinds) -> list[FeatureColumn]:
    """Return the columns that are features with their own names."""
    if roles.declared or roles.boxes.corners:
        return []
    if table.has_values:
        names = [name for name in dict.fromkeys(table.header) if name not in roles.taken]
        return [FeatureColumn(name, name, list, may_be_long=False) for name in names]
    columns = []
    for name, kind in kinds.items():
        if name not in roles.taken and not roles.boxes.is_attribute(name):
            is_absent = name == roles.optional and name not in table.header
            missing = math.nan if is_absent else roles.missing_number
            convert = functools.partial(
                convert_column, name=name, kind=kind, missing_number=missing
            )
            columns.append(FeatureColumn(name, name, convert, kind not in (int, float)))
    return columns


def path_text(value: Any, column: str) -> str:
    """Return the path in a cell; raise RecordError if it is not a path."""
    if not isinstance(value, str) or not value.strip():
        raise malformed(f"column {column!r} is {value!r}, not the path of a file")
    return value


def _files(values: Sequence[Any], media: Media, path_of: Callable[[str], str]) -> list[Value]:
    def file_of(value: Any) -> FileRef:
        if isinstance(value, FileRef):
            return value
        return FileRef(path=path_of(path_text(value, media.column)))

    make = OF_FILE[media.kind]
    return [make(file=file_of(value)) for value in values]


def _each(
    values: Sequence[Any], value_of: Callable[[Any], Value], may_lack: bool = False
) -> list[Value | None]:
    """Convert each value; missing labels become None, as do other missing values if `may_lack`."""

    def stated(value: Any) -> Value | None:
        is_lacking = value is Unlabelled.LABEL or (may_lack and not is_stated(value))
        return None if is_lacking else value_of(value)

    if set(map(type, values)) in ({str}, {int}):  # classes have few distinct values
        made = {value: stated(value) for value in dict.fromkeys(values)}
        return [made[value] for value in values]
    return list(map(stated, values))


def converted(
    columns: Iterable[FeatureColumn], batch: Batch, scratch: Scratch | None
) -> dict[str, Sequence[Any]]:
    """Return each feature's values by row, None for missing ones; raise RecordError."""
    features: dict[str, Sequence[Any]] = {}
    for feature, column, convert, may_be_long in columns:
        stated = batch.column(column)
        values = convert(stated)
        if scratch and may_be_long:
            values = _spilled(values, stated, convert, scratch)
        features[feature] = values
    return features


def _spilled(
    values: Sequence[Any], stated: Sequence[Any], convert: Convert, scratch: Scratch
) -> Sequence[Any]:
    """Replace long values by references to the table's cells in a scratch file."""
    if set(map(type, values)) == {str} and max(map(len, values)) < LONG_VALUE_BYTES:
        return values  # nearly always
    return [
        _deferred(value, cell, convert, scratch) if is_long(value) else value
        for value, cell in zip(values, stated, strict=True)
    ]


def _deferred(value: Any, cell: Any, convert: Convert, scratch: Scratch) -> Deferred:
    is_text = isinstance(cell, str)
    text = cell if is_text else json.dumps(cell)
    file = scratch.put(text.encode(errors="surrogatepass"))
    if value is cell:
        return Deferred(file=file, read=_decoded, is_copy=True)
    read = functools.partial(_read, is_text=is_text, convert=convert)
    return Deferred(file=file, read=read, is_copy=True)


def _decoded(data: bytes) -> str:
    return data.decode(errors="surrogatepass")


def _read(data: bytes, is_text: bool, convert: Convert) -> Value:
    text = _decoded(data)
    (value,) = convert([text if is_text else json.loads(text)])
    assert value is not None  # it was long
    return value
