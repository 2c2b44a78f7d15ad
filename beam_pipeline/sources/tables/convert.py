"""Convert the columns of a table to features, column by column; long values become references."""

import functools
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from beam_pipeline.errors import naming
from beam_pipeline.records import Array, ClassLabels, Deferred, FileRef, Value
from beam_pipeline.schema.names import check_number
from beam_pipeline.sources.rejects import malformed
from beam_pipeline.sources.tables.boxes import boxes_from_lists
from beam_pipeline.sources.tables.fitting import OF_FILE, fit
from beam_pipeline.sources.tables.labels import OF_COLUMNS, class_label, is_stated
from beam_pipeline.sources.tables.roles import Media, Roles
from beam_pipeline.sources.tables.table import Batch, Scratch, Table, TableFile
from beam_pipeline.sources.tables.types import (
    Kind,
    ListOf,
    convert_column,
    kind_of_texts,
    kind_of_values,
    unsupported,
    wider,
)

# Size from which a value becomes a reference.
LONG_VALUE_BYTES = 1 << 10

Kinds = Mapping[str, Kind | None]
Convert = Callable[[Sequence[Any]], Sequence[Value | None]]


class FeatureColumn(NamedTuple):
    """A feature, its column, and the conversion of its values."""

    feature: str
    column: str
    convert: Convert  # pickles in a few bytes
    may_be_long: bool = True  # and become references


def main_columns(file: TableFile, roles: Roles, kinds: Kinds) -> list[FeatureColumn]:
    """Return the columns of files, declared features, and the record's classes."""
    unlabelled = file.relative in roles.unlabelled
    main = []
    for media in roles.media:
        files = functools.partial(_files, media=media, path_of=file.path_of)
        main.append(FeatureColumn(media.feature, media.column, files, may_be_long=False))
    for feature, column in roles.declared:
        fitted = functools.partial(
            fit, feature, column, path_of=file.path_of, missing_number=roles.missing_number
        )
        is_optional = unlabelled or feature.default is not None
        may_lack = feature.kind == "class_label" and is_optional
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
        classes = functools.partial(_each, value_of=label, may_lack=unlabelled)
        main.append(FeatureColumn(name, column, classes, bool(roles.separator) or is_list))
    return main


def other_columns(table: Table, roles: Roles, kinds: Kinds) -> list[FeatureColumn]:
    """Return the columns that are features with their own names."""
    if roles.declared or roles.boxes.corners:
        return []
    if table.has_values:
        names = [name for name in dict.fromkeys(table.header) if name not in roles.taken]
        return [FeatureColumn(name, name, list, may_be_long=False) for name in names]
    attributes = f"{roles.boxes.lists}." if roles.boxes.lists else "\0"
    columns = []
    for name, kind in kinds.items():
        if name not in roles.taken and not name.startswith(attributes):
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
    values: Sequence[Any], value_of: Callable[[Any], Value], may_lack: bool
) -> list[Value | None]:
    """Convert each value; missing ones become None if `may_lack`."""

    def stated(value: Any) -> Value | None:
        return None if may_lack and not is_stated(value) else value_of(value)

    if set(map(type, values)) in ({str}, {int}):  # classes have few distinct values
        made = {value: stated(value) for value in dict.fromkeys(values)}
        return [made[value] for value in values]
    return list(map(stated, values))


def converted(
    columns: Iterable[FeatureColumn], batch: Batch, scratch: Scratch | None
) -> dict[str, Sequence[Any]]:
    """Return each feature's values by row, None for missing ones; raise RecordError."""
    nothing = [None] * len(batch)
    features: dict[str, Sequence[Any]] = {}
    for feature, column, convert, may_be_long in columns:
        stated = batch.columns.get(column, nothing)
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
        return Deferred(file=file, read=_text)
    return Deferred(file=file, read=functools.partial(_read, is_text=is_text, convert=convert))


def _text(data: bytes) -> str:
    return data.decode(errors="surrogatepass")


def _read(data: bytes, is_text: bool, convert: Convert) -> Value:
    text = _text(data)
    (value,) = convert([text if is_text else json.loads(text)])
    assert value is not None  # it was long
    return value


def is_long(value: object) -> bool:
    """Return whether a text, list or array is long enough for a reference."""
    if isinstance(value, Array):
        return len(value.data) >= LONG_VALUE_BYTES
    if isinstance(value, tuple | list | dict | ClassLabels):
        value = repr(value)
    return isinstance(value, str) and len(value) >= LONG_VALUE_BYTES


def kinds_of(table: Table, batch: Batch, roles: Roles) -> dict[str, Kind | None]:
    """Return the kinds of rows' columns and labels, and of attributes as "<boxes>.<name>".

    Raises:
        RecordError: A row has an unusable value.
        DataError: There are too many columns.
    """
    check_number(batch.columns, "the rows")
    kind_of: Callable[[Any], Kind | None] = kind_of_values if table.is_typed else kind_of_texts
    if table.is_typed:
        check_forms(batch.columns, roles)
    taken = roles.taken.difference(column for _, column in roles.labels)
    kinds: dict[str, Kind | None] = {}
    for name, values in batch.columns.items():
        if name not in taken:
            with naming(f"column {name!r}"):
                kinds[name] = kind_of(values)
    if roles.boxes.lists:
        for row in batch.by_row():
            boxes = boxes_from_lists(row, roles, None)
            for name, of_boxes in boxes.attributes.items():
                attribute = f"{roles.boxes.lists}.{name}"
                kinds[attribute] = wider(kinds.get(attribute), kind_of(of_boxes))
    return kinds


def check_forms(columns: Mapping[str, Sequence[Any]], roles: Roles) -> None:
    """Raise "unsupported column" for an object, or a list or plain value unlike the first rows."""
    boxes = roles.boxes
    excepted = {boxes.lists, boxes.labels, *boxes.per_box} | roles.ignored
    for name, values in columns.items():
        types = set() if name in excepted else set(map(type, values)) - {type(None)}
        wrong = types & {dict}
        if name in roles.forms:
            wrong |= types - {list} if roles.forms[name] == "list" else types & {list}
        if wrong:
            shown = next(str(value) for value in values if type(value) in wrong)
            raise unsupported(f"column {name!r} holds {shown[:100]}, unlike other rows")
