"""What the columns of tables hold: their kinds, lists, objects, and what no feature can hold."""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow
import pyarrow.compute as compute

from beam_pipeline.errors import ConfigError, RecordError, naming
from beam_pipeline.schema.names import check_number
from beam_pipeline.sources.columns.choice import lowered
from beam_pipeline.sources.columns.class_values import is_stated
from beam_pipeline.sources.columns.column import (
    AUDIO,
    BOXES,
    IMAGE,
    LABELS,
    SPLIT,
    ColumnFacts,
    Columns,
    TableOptions,
    attribute_name,
)
from beam_pipeline.sources.columns.kinds import Kind, kind_of_int, kind_of_json, kind_of_text, wider
from beam_pipeline.sources.manifest.boxes import are_beside, boxes_from_lists
from beam_pipeline.sources.manifest.first_rows import FirstRows
from beam_pipeline.sources.manifest.table import Batch, Table

# Columns of these names are files, boxes, classes, splits, or errors.
_OF_ROLES = frozenset({*BOXES, *IMAGE, *AUDIO, *SPLIT, *LABELS.of_record})
# Of so few digits that 64 bits hold each; the rest of `kinds.kind_of_text` is left to that.
_INTEGER = r"\A[+-]?(0|[1-9][0-9]{0,17})\z"
_FRACTION = (
    r"\A[+-]?((0|[1-9][0-9]*)\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\z"
    r"|\A[+-]?(0|[1-9][0-9]*)[eE][+-]?[0-9]+\z"
)


def kind_of_texts(texts: Sequence[str]) -> Kind | None:
    """What holds all fields of a column of a CSV: `kinds.kind_of_text` of each, and the widest."""
    column = pyarrow.array(texts, pyarrow.string())
    is_integer = compute.match_substring_regex(column, _INTEGER)
    rest = column.filter(compute.invert(is_integer))
    is_fraction = compute.match_substring_regex(rest, _FRACTION)
    others = rest.filter(compute.invert(is_fraction)).unique()
    kind: Kind | None = int if len(rest) < len(texts) else None
    if compute.any(is_fraction).as_py():
        kind = wider(kind, float)
    for text in others:
        if kind is str:  # which holds all
            break
        kind = wider(kind, kind_of_text(str(text)))
    return kind


def kind_of_values(values: Sequence[Any]) -> Kind | None:
    """The same of a column of JSON: `kinds.kind_of_json` of each, and the widest.

    Raises:
        RecordError: As `kinds.kind_of_json`.
    """
    types = set(map(type, values)) - {type(None)}
    if not types:
        return None
    if not types <= {int, float, bool, str}:
        return functools.reduce(wider, map(kind_of_json, values))
    if str in types:
        return str
    numbers = [value for value in values if type(value) is int] if int in types else [0]
    kind: Kind | None = wider(kind_of_int(min(numbers)), kind_of_int(max(numbers)))
    return wider(kind, float) if float in types else kind


def kinds_of(table: Table, batch: Batch, columns: Columns) -> dict[str, Kind | None]:
    """The kinds of the columns of some rows, and under "<boxes>.<name>" of boxes' attributes.

    Also of labels where all values are texts, which may be lists.

    Raises:
        RecordError: A row has a value that cannot be used.
        DataError: There are too many columns.
    """
    check_number(batch.columns, "the rows")
    taken = columns.taken
    kind_of: Callable[[Any], Kind | None] = kind_of_values if table.is_typed else kind_of_texts
    if table.is_typed:
        check_plain(batch.columns, columns)
    else:
        taken = taken.difference(column for _, column in columns.labels)
    kinds: dict[str, Kind | None] = {}
    for name, values in batch.columns.items():
        if name not in taken:
            with naming(f"column {name!r}"):
                kinds[name] = kind_of(values)
    if columns.boxes:
        for row in batch.by_row():
            boxes = boxes_from_lists(row, columns, None)
            for name, of_boxes in boxes.attributes.items():
                attribute = f"{columns.boxes}.{name}"
                kinds[attribute] = wider(kinds.get(attribute), kind_of(of_boxes))
    return kinds


def check_plain(values_by_column: dict[str, list[Any]], columns: Columns) -> None:
    """Holds values against the columns, but for lists of boxes and what goes with them.

    Raises:
        RecordError: "unsupported column": an object, or a list in a column without lists, or
            another value among lists.
    """
    excepted = {columns.boxes, columns.box_labels, *columns.box_lists} | columns.ignored
    for name, values in values_by_column.items():
        if name in excepted:
            continue
        fault = _fault(set(map(type, values)) - {type(None)}, name, columns)
        if fault:
            types, what = fault
            shown = next(str(value) for value in values if type(value) in types)
            raise RecordError(
                "unsupported column",
                f"column {name!r} holds {shown[:100]}, {what}; fix it, or leave the column "
                "out with --ignore-columns",
            )


def _fault(types: set[type], name: str, columns: Columns) -> tuple[set[type], str] | None:
    """The types among these that the column cannot have, and why."""
    if dict in types:
        return {dict}, "an object"
    if list in types and name in columns.plain:
        return {list}, "but numbers or text in other rows"
    if name in columns.nested and types - {list}:
        return types - {list}, "but lists in other rows"
    return None


def objects_of(rows: FirstRows, options: TableOptions) -> frozenset[str]:
    """Columns that are texts in JSON: most values are objects or lists of them, and no boxes."""
    values: dict[str, list[bool]] = {}
    for row in rows:
        for name, value in row.values.items():
            if is_stated(value) and value not in ([], {}):
                values.setdefault(name, []).append(_holds_object(value))
    stated = {options.image_column, options.audio_column, options.split_column, *options.labels}
    return frozenset(
        name
        for name, hold in values.items()
        if sum(hold) * 2 > len(hold) and name not in stated and lowered(name) not in _OF_ROLES
    )


def _holds_object(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(map(_holds_object, value)))


def with_lists(columns: Columns, facts: ColumnFacts, rows: FirstRows) -> Columns:
    """Which columns of JSON hold lists, and which of these go with the list of boxes beside.

    Most values of a column say whether it holds lists.

    Raises:
        ConfigError: Lists stand beside the one box of each row.
    """
    free = {name for row in rows for name in row.values} - columns.taken
    nested = free.intersection(facts.nested).difference(facts.objects)
    if nested and columns.corners:
        raise ConfigError(
            f"column {min(nested)!r} holds lists, but with a box a row it is an attribute of the "
            "box, a number or text; leave it out with --ignore-columns"
        )
    box_lists = {
        name
        for name in nested
        if columns.boxes
        and all(
            are_beside(row.values.get(columns.boxes), row.values[name])
            for row in rows
            if isinstance(row.values.get(name), list)
        )
    }
    return dataclasses.replace(
        columns,
        box_lists=frozenset(box_lists),
        nested=frozenset(nested - box_lists),
        plain=frozenset(free.intersection(facts.nonempty).difference(facts.nested)),
    )


def check_first_rows(table: Table, probed: FirstRows, columns: Columns) -> None:
    """Raises ConfigError where a column's values spoil most of the rows; few are rejected later."""
    faults: list[tuple[str, RecordError]] = []
    for manifest, line, values in probed:
        row = Batch(columns={name: [value] for name, value in values.items()}, lines=[0])
        try:
            kinds_of(table, row, columns)
        except RecordError as error:
            if error.reason == "unsupported column":
                faults.append((f"{manifest.relative}:{line}", error))
    if len(faults) * 2 > len(probed):
        source, fault = faults[0]
        count = f" ({len(faults):,} of the first {len(probed):,} rows are so)" if faults[1:] else ""
        raise ConfigError(f"{source}: {fault}{count}") from fault


def ignorable(values: Mapping[str, Any]) -> Iterator[str]:
    """What `ignored` may name of a row: its columns, and attributes of its boxes in two ways."""
    yield from values
    for column, value in values.items():
        if lowered(column) in BOXES and isinstance(value, list | dict):
            objects = value if isinstance(value, list) else [value]
            members = {name for each in objects if isinstance(each, dict) for name in each}
            beside = {name for name, each in values.items() if isinstance(each, list)} - {column}
            yield from sorted(members)
            yield from (f"{column}.{attribute_name(name)}" for name in sorted(members | beside))
