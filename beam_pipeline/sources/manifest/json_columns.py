"""What only JSON Lines have: columns of lists and objects."""

import dataclasses
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.sources.columns.choice import check_ignored, lowered
from beam_pipeline.sources.columns.column import BOXES, Columns, Looks, attribute_name
from beam_pipeline.sources.manifest.boxes import are_beside
from beam_pipeline.sources.manifest.files import Manifest
from beam_pipeline.sources.manifest.looks import Probed, rows_of
from beam_pipeline.sources.manifest.records import json_row_kinds
from beam_pipeline.sources.manifest.rows import json_rows


def with_lists(columns: Columns, looks: Looks, rows: Sequence[Mapping[str, Any]]) -> Columns:
    """Which columns of JSON hold lists, and which of these go with the list of boxes beside.

    Most values of a column say whether it holds lists.

    Raises:
        ConfigError: Lists stand beside the one box of each row.
    """
    free = {name for row in rows for name in row} - columns.taken
    nested = free.intersection(looks.nested).difference(looks.objects)
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
            are_beside(row.get(columns.boxes), row[name])
            for row in rows
            if isinstance(row.get(name), list)
        )
    }
    return dataclasses.replace(
        columns,
        box_lists=frozenset(box_lists),
        nested=frozenset(nested - box_lists),
        plain=frozenset(free.intersection(looks.seen).difference(looks.nested)),
    )


def check_first_rows(probed: Probed, columns: Columns) -> None:
    """Raises ConfigError where a column's values spoil most of the rows; few are rejected later."""
    faults: list[tuple[str, RecordError]] = []
    for manifest, row in probed:
        try:
            json_row_kinds(row.values, columns)
        except RecordError as error:
            if error.reason == "unsupported column":
                faults.append((f"{manifest.relative}:{row.line}", error))
    if len(faults) * 2 > len(probed):
        source, fault = faults[0]
        count = f" ({len(faults):,} of the first {len(probed):,} rows are so)" if faults[1:] else ""
        raise ConfigError(f"{source}: {fault}{count}") from fault


def check_ignored_in_json(
    ignored: Collection[str], manifests: Sequence[Manifest], probed: Probed
) -> None:
    """Raises ConfigError where no row has what a user leaves out; few may have it."""
    names = dict.fromkeys(name for _, row in probed for name in _ignorable(row.values))
    missing = set(ignored).difference(names)
    later = itertools.chain.from_iterable(rows_of(manifest, json_rows) for manifest in manifests)
    while missing and (row := next(later, None)):
        missing.difference_update(_ignorable(row.values))
    check_ignored(missing, names)


def _ignorable(values: Mapping[str, Any]) -> Iterator[str]:
    """What `ignored` may name of a row: its columns, and attributes of its boxes in two ways."""
    yield from values
    for column, value in values.items():
        if lowered(column) in BOXES and isinstance(value, list | dict):
            objects = value if isinstance(value, list) else [value]
            members = {name for each in objects if isinstance(each, dict) for name in each}
            beside = {name for name, each in values.items() if isinstance(each, list)} - {column}
            yield from sorted(members)
            yield from (f"{column}.{attribute_name(name)}" for name in sorted(members | beside))
