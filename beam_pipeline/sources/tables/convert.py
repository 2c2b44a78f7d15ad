"""Make features of the columns of a table, a column at a time; long values become references."""

import functools
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from beam_pipeline.errors import RecordError, naming
from beam_pipeline.records import Array, ClassLabels, Deferred, FileRef, Value
from beam_pipeline.schema.names import check_number
from beam_pipeline.sources.malformed import malformed
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
    wider,
)

# A value of so much is worth a reference.
LONG_VALUE_BYTES = 1 << 10

Kinds = Mapping[str, Kind | None]
Convert = Callable[[Sequence[Any]], Sequence[Value | None]]


class FeatureColumn(NamedTuple):
    """A feature, the column that it comes from, and what makes its values.

    Attributes:
        feature, column: Their names.
        convert: Makes the values of some rows; pickles in a few bytes.
        may_be_long: Whether one may be worth a reference.
    """

    feature: str
    column: str
    convert: Convert
    may_be_long: bool = True


def main_columns(file: TableFile, roles: Roles, kinds: Kinds) -> list[FeatureColumn]:
    """Return files, what a user declared, and the record's classes."""
    unlabelled = file.relative in roles.unlabelled
    main = [
        FeatureColumn(
            each.feature,
            each.column,
            functools.partial(_files, media=each, path_of=file.path_of),
            may_be_long=False,
        )
        for each in roles.media
    ]
    for feature, column in roles.declared:
        fitted = functools.partial(
            fit, feature, column, path_of=file.path_of, missing_number=roles.missing_number
        )
        is_optional = unlabelled or feature.default is not None
        may_lack = feature.kind == "class_label" and is_optional
        values = functools.partial(_each, value_of=fitted, may_lack=may_lack)
        main.append(FeatureColumn(feature.name, column, values))
    for name, column in roles.labels:
        is_list = column in roles.lists or isinstance(kinds.get(column), ListOf)
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
    """Return the columns that are features under their own names."""
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
    """Return a path as a table states it; raise RecordError if it is none."""
    if not isinstance(value, str) or not value.strip():
        raise malformed(f"column {column!r} is {value!r}, not the path of a file")
    return value


def _files(values: Sequence[Any], media: Media, path_of: Callable[[str], str]) -> list[Value]:
    make = OF_FILE[media.kind]
    return [
        make(
            file=value
            if isinstance(value, FileRef)
            else FileRef(path=path_of(path_text(value, media.column)))
        )
        for value in values
    ]


def _each(
    values: Sequence[Any], value_of: Callable[[Any], Value], may_lack: bool
) -> list[Value | None]:
    """Return what becomes of the values; None if one may be missing, and is."""

    def stated(value: Any) -> Value | None:
        return None if may_lack and not is_stated(value) else value_of(value)

    if set(map(type, values)) in ({str}, {int}):  # of classes few differ
        made = {value: stated(value) for value in dict.fromkeys(values)}
        return [made[value] for value in values]
    return list(map(stated, values))


def converted(
    columns: Iterable[FeatureColumn], batch: Batch, scratch: Scratch | None
) -> dict[str, Sequence[Any]]:
    """Return the values of each feature, one per row; None if a row has none.

    Raises:
        RecordError: A value of a row cannot be used.
    """
    nothing = [None] * len(batch)
    found: dict[str, Sequence[Any]] = {}
    for feature, column, convert, may_be_long in columns:
        stated = batch.columns.get(column, nothing)
        values = convert(stated)
        if scratch and may_be_long:
            values = _spilled(values, stated, convert, scratch)
        found[feature] = values
    return found


def _spilled(
    values: Sequence[Any], stated: Sequence[Any], convert: Convert, scratch: Scratch
) -> Sequence[Any]:
    """Replace long values by references to what the table states, in a scratch file."""
    if set(map(type, values)) == {str} and max(map(len, values)) < LONG_VALUE_BYTES:
        return values  # nearly always
    return [
        _deferred(value, cell, convert, scratch) if is_long(value) else value
        for value, cell in zip(values, stated, strict=True)
    ]


def _deferred(value: Any, cell: Any, convert: Convert, scratch: Scratch) -> Deferred:
    if value is cell:
        return Deferred(file=scratch.put(cell.encode(errors="surrogatepass")), read=_text)
    is_text = isinstance(cell, str)
    text = cell if is_text else json.dumps(cell)
    read = functools.partial(_read, parse=str if is_text else json.loads, convert=convert)
    return Deferred(file=scratch.put(text.encode(errors="surrogatepass")), read=read)


def _text(data: bytes) -> Value:
    return data.decode(errors="surrogatepass")


def _read(data: bytes, parse: Callable[[str], Any], convert: Convert) -> Value:
    """Make the value of a long text or list, as `Deferred.read` does."""
    (value,) = convert([parse(data.decode(errors="surrogatepass"))])
    assert value is not None  # it was long
    return value


def is_long(value: object) -> bool:
    """Return whether a text, a list or what is made of it is worth a reference."""
    if isinstance(value, Array):
        return len(value.data) >= LONG_VALUE_BYTES
    if isinstance(value, tuple | list | dict | ClassLabels):
        value = repr(value)
    return isinstance(value, str) and len(value) >= LONG_VALUE_BYTES


def kinds_of(table: Table, batch: Batch, roles: Roles) -> dict[str, Kind | None]:
    """Return the kinds of the columns of some rows, and "<boxes>.<name>" of boxes' attributes.

    Also of labels if all values are texts, which may be lists.

    Raises:
        RecordError: A row has a value that cannot be used.
        DataError: There are too many columns.
    """
    check_number(batch.columns, "the rows")
    taken = roles.taken
    kind_of: Callable[[Any], Kind | None] = kind_of_values if table.is_typed else kind_of_texts
    if table.is_typed:
        check_plain(batch.columns, roles)
    else:
        taken = taken.difference(column for _, column in roles.labels)
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


def check_plain(values_by_column: Mapping[str, Sequence[Any]], roles: Roles) -> None:
    """Check that columns hold objects or lists only where they may; boxes are excepted.

    Raises:
        RecordError: "unsupported column": an object, or a list in a column without lists, or
            another value among lists.
    """
    boxes = roles.boxes
    excepted = {boxes.lists, boxes.labels, *boxes.per_box} | roles.ignored
    for name, values in values_by_column.items():
        types = set() if name in excepted else set(map(type, values)) - {type(None)}
        if fault := _fault(types, name, roles):
            wrong, what = fault
            shown = next(str(value) for value in values if type(value) in wrong)
            raise RecordError(
                "unsupported column",
                f"column {name!r} holds {shown[:100]}, {what}; fix it, or leave the column "
                "out with --ignore-columns",
            )


def _fault(types: set[type], name: str, roles: Roles) -> tuple[set[type], str] | None:
    """Return the types among these that the column cannot have, and why."""
    if dict in types:
        return {dict}, "an object"
    if list in types and name in roles.plain:
        return {list}, "but numbers or text in other rows"
    if name in roles.nested and types - {list}:
        return types - {list}, "but lists in other rows"
    return None
