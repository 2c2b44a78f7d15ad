"""Which values of JSON a feature can be made of."""

from collections.abc import Mapping, Sequence
from typing import Any

from beam_pipeline.errors import RecordError
from beam_pipeline.sources.columns.column import Columns


def check_plain(rows: Sequence[Mapping[str, Any]], columns: Columns) -> None:
    """Holds the values of rows against the columns, but for lists of boxes and what goes with them.

    Raises:
        RecordError: "unsupported column": an object, or a list in a column without lists, or
            another value among lists.
    """
    excepted = {columns.boxes, columns.box_labels, *columns.box_lists} | columns.ignored
    for name in dict.fromkeys(name for row in rows for name in row):
        if name in excepted:
            continue
        values = [row.get(name) for row in rows]
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
