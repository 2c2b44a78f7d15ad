"""What the columns of a manifest become, a column at a time."""

import dataclasses
import functools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from beam_pipeline.records import FileRef, Value
from beam_pipeline.sources.columns.class_values import class_label, is_stated
from beam_pipeline.sources.columns.column import Columns, Media
from beam_pipeline.sources.columns.fitting import fit, value_of_file
from beam_pipeline.sources.columns.kinds import Kind, convert_column
from beam_pipeline.sources.columns.long_values import Convert
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.manifest.files import Manifest
from tfrecord_dataset.feature import Feature

PathOf = Callable[[str], str]


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
    media = [
        FeatureColumn(
            each.feature,
            each.column,
            functools.partial(_media_values, media=each, path_of=manifest.path_of),
        )
        for each in columns.media
    ]
    declared = [
        FeatureColumn(
            feature.name,
            column,
            functools.partial(
                _declared_values,
                feature=feature,
                column=column,
                path_of=manifest.path_of,
                missing_number=columns.missing_number,
                may_lack=feature.kind == "class_label"
                and (unlabelled or feature.default is not None),
            ),
        )
        for feature, column in columns.declared
    ]
    labels = [
        FeatureColumn(
            name,
            column,
            functools.partial(
                _classes,
                column=column,
                kind=kinds.get(column),
                classes=columns.classes,
                may_lack=unlabelled,
                separator=columns.separator,
                names=columns.class_names,
            ),
        )
        for name, column in columns.labels
    ]
    return [*media, *declared, *labels]


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
    return [value_of_file(media.kind, file) for file in files]


def _declared_values(
    values: Sequence[Any],
    feature: Feature,
    column: str,
    path_of: PathOf,
    missing_number: float | None,
    may_lack: bool,
) -> list[Value | None]:
    return [
        None
        if may_lack and not is_stated(value)
        else fit(feature, column, value, path_of, missing_number=missing_number)
        for value in values
    ]


def _classes(
    values: Sequence[Any],
    column: str,
    kind: Kind | None,
    classes: Sequence[str],
    may_lack: bool,
    separator: str,
    names: Mapping[str, str],
) -> list[Value | None]:
    """The classes that the values name, by the names that the user gives the numbers."""

    def label(value: Any) -> Value | None:
        if may_lack and not is_stated(value):
            return None
        return class_label(value, column, kind, classes, separator, names)

    if set(map(type, values)) in ({str}, {int}):  # few differ
        label_of = {value: label(value) for value in dict.fromkeys(values)}
        return [label_of[value] for value in values]
    return [label(value) for value in values]
