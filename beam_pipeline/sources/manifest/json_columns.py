"""What only JSON Lines have: columns of lists and objects."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from beam_pipeline.errors import ConfigError, RecordError
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
    attribute_name,
)
from beam_pipeline.sources.columns.options import TableOptions
from beam_pipeline.sources.manifest.boxes import are_beside
from beam_pipeline.sources.manifest.first_rows import FirstRows
from beam_pipeline.sources.manifest.kinds import kinds_of
from beam_pipeline.sources.manifest.table import Batch, Table

# Columns of these names are files, boxes, classes, splits, or errors.
_OF_ROLES = frozenset({*BOXES, *IMAGE, *AUDIO, *SPLIT, *LABELS.of_record})


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
        columns_of_row = {name: [value] for name, value in values.items()}
        row = Batch(columns=columns_of_row, lines=[0], offsets=[0], lengths=[0])
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
