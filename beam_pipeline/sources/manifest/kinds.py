"""The kinds of a table's columns, and which values no feature can be made of."""

from typing import Any

from beam_pipeline.errors import RecordError, naming
from beam_pipeline.schema.names import check_number
from beam_pipeline.sources.columns.column import Columns
from beam_pipeline.sources.columns.kinds import Kind, wider
from beam_pipeline.sources.manifest.boxes import boxes_from_lists
from beam_pipeline.sources.manifest.table import Batch, Table


def kinds_of(table: Table, batch: Batch, columns: Columns) -> dict[str, Kind | None]:
    """The kinds of the columns of some rows, and under "<boxes>.<name>" of boxes' attributes.

    Also of labels where all values are texts, which may be lists.

    Raises:
        RecordError: A row has a value that cannot be used.
        DataError: There are too many columns.
    """
    check_number(batch.columns, "the rows")
    taken = columns.taken
    if table.is_typed:
        check_plain(batch.columns, columns)
    else:
        taken = taken.difference(column for _, column in columns.labels)
    kinds: dict[str, Kind | None] = {}
    for name, values in batch.columns.items():
        if name not in taken:
            with naming(f"column {name!r}"):
                kinds[name] = table.kind_of(values)
    if columns.boxes:
        for row in batch.by_row():
            boxes = boxes_from_lists(row, columns, None)
            for name, of_boxes in boxes.attributes.items():
                attribute = f"{columns.boxes}.{name}"
                kinds[attribute] = wider(kinds.get(attribute), table.kind_of(of_boxes))
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
