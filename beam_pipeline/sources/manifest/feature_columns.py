"""What the columns of a table become, a column at a time; long values become references."""

import dataclasses
import functools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from beam_pipeline.records import Array, ClassLabels, FileRef, Value
from beam_pipeline.sources.columns.class_values import class_label, is_stated
from beam_pipeline.sources.columns.column import Columns, Media
from beam_pipeline.sources.columns.fitting import OF_FILE, fit
from beam_pipeline.sources.columns.kinds import Kind, convert_column
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.manifest.files import Manifest

PathOf = Callable[[str], str]
Convert = Callable[[Sequence[Any]], list[Value | None]]
"""Makes values of what a column holds in some rows; None where a record lacks the feature."""

# A reference takes some hundred bytes itself, and its range is read once more.
LONG_RANGE_BYTES = 1 << 10
LONG_VALUE_BYTES = 256


class FeatureColumn(NamedTuple):
    """A feature that one column becomes.

    Attributes:
        feature: Its name.
        column: The column's.
        convert: Makes the values of what the column holds in some rows; None where a record
            lacks the feature. It raises RecordError where a value cannot be used.
    """

    feature: str
    column: str
    convert: Convert


def main_columns(
    manifest: Manifest, columns: Columns, kinds: Mapping[str, Kind | None]
) -> list[FeatureColumn]:
    """Files, what a user declared, and the record's classes."""
    unlabelled = manifest.relative in columns.unlabelled
    main = []
    for each in columns.media:
        files = functools.partial(_media_values, media=each, path_of=manifest.path_of)
        main.append(FeatureColumn(each.feature, each.column, files))
    for feature, column in columns.declared:
        fitted = functools.partial(
            fit, feature, column, path_of=manifest.path_of, missing_number=columns.missing_number
        )
        is_optional = unlabelled or feature.default is not None
        may_lack = feature.kind == "class_label" and is_optional
        values = functools.partial(_values, value_of=fitted, may_lack=may_lack)
        main.append(FeatureColumn(feature.name, column, values))
    for name, column in columns.labels:
        label = functools.partial(
            class_label,
            column=column,
            kind=kinds.get(column),
            classes=columns.classes,
            separator=columns.separator,
            names=columns.class_names,
        )
        classes = functools.partial(_values, value_of=label, may_lack=unlabelled)
        main.append(FeatureColumn(name, column, classes))
    return main


def other_columns(
    columns: Columns, kinds: Mapping[str, Kind | None], header: Collection[str] = ()
) -> list[FeatureColumn]:
    """The columns that are features of their own name, in a table with this header."""
    if columns.declared or columns.corners:
        return []
    lacking = {columns.optional}.difference(header)
    attributes = f"{columns.boxes}." if columns.boxes else "\0"
    return [
        FeatureColumn(
            name,
            name,
            functools.partial(
                convert_column,
                name=name,
                kind=kind,
                missing_number=math.nan if name in lacking else columns.missing_number,
            ),
        )
        for name, kind in kinds.items()
        if name not in columns.taken and not name.startswith(attributes)
    ]


def path_text(value: Any, column: str) -> str:
    """A path as a manifest states it.

    Raises:
        RecordError: "malformed annotation": it is none.
    """
    if not isinstance(value, str) or not value.strip():
        raise malformed(f"column {column!r} is {value!r}, not the path of a file")
    return value


def _media_values(values: Sequence[Any], media: Media, path_of: PathOf) -> list[Any]:
    files = [
        value
        if isinstance(value, FileRef)
        else FileRef(path=path_of(path_text(value, media.column)))
        for value in values
    ]
    if media.like:
        return [dataclasses.replace(media.like, file=file) for file in files]
    return [OF_FILE[media.kind](file=file) for file in files]


def _values(
    values: Sequence[Any], value_of: Callable[[Any], Value], may_lack: bool
) -> list[Value | None]:
    """What becomes of the values; None where one may be missing, and is."""

    def stated(value: Any) -> Value | None:
        return None if may_lack and not is_stated(value) else value_of(value)

    if set(map(type, values)) in ({str}, {int}):  # of classes few differ
        made = {value: stated(value) for value in dict.fromkeys(values)}
        return [made[value] for value in values]
    return list(map(stated, values))


def is_long_range(num_bytes: int) -> bool:
    """Whether what lies in so many bytes may hold long values."""
    return num_bytes > LONG_RANGE_BYTES


def is_long(value: object) -> bool:
    """Whether a text, a list or what is made of it is worth a reference."""
    return _num_bytes(value) >= LONG_VALUE_BYTES


def _num_bytes(value: object) -> int:
    match value:
        case str():
            return len(value)
        case tuple() | list():
            return sum(map(_num_bytes, value)) + 8 * len(value)
        case dict():
            return _num_bytes([*value, *value.values()])
        case ClassLabels():
            return _num_bytes(value.names)
        case Array():
            return len(value.data)
    return 0


def read_long(data: bytes, cell: Callable[[bytes], Any], convert: Convert) -> Value:
    """A long value of a column, as `Deferred.read` has it.

    Args:
        data: The bytes of a range.
        cell: Reads what the column holds from them.
        convert: Makes values of what the column holds.
    """
    (value,) = convert([cell(data)])
    assert value is not None  # it was long
    return value
