"""Decide which columns of a table hold boxes."""

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.sources.tables.labels import is_stated
from beam_pipeline.sources.tables.names import (
    BOXES,
    CORNERS,
    HEIGHT,
    LABELS,
    RUN_LENGTHS,
    WIDTH,
    attribute_name,
    first,
    lowered,
)
from beam_pipeline.sources.tables.options import TableOptions
from beam_pipeline.sources.tables.sample import ColumnFacts, FirstRow, Sample
from beam_pipeline.sources.tables.types import list_of_text


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BoxColumns:
    """The columns of an image's boxes; empty if no column has a role.

    Attributes:
        corners: Four numbers of one box, or one list of them; an image's boxes are then several
            rows.
        has_runs: Whether that one is run lengths of a mask, which is an object of the image.
        lists: All boxes of the image.
        labels: The class of the box, or a list of classes beside the list of boxes.
        beside: Lists of JSON with a value for each box of the list of boxes.
        format: One of `kinds.boxes.FORMATS`; "" leaves it to the names.
        size: The image's width and height in pixels.
    """

    corners: tuple[str, ...] = ()
    has_runs: bool = False
    lists: str = ""
    labels: str = ""
    beside: frozenset[str] = frozenset()
    format: str = ""
    size: tuple[str, str] | None = None

    @property
    def taken(self) -> frozenset[str]:
        """The columns that have one of these roles."""
        return self.beside.union(self.corners, self.size or (), (self.lists, self.labels))

    def lists_beside(self, nested: Iterable[str], rows: Sequence[FirstRow]) -> set[str]:
        """Return those columns of lists that have a value for each box of the list of boxes."""
        return {
            name
            for name in nested
            if self.lists
            and all(
                _are_beside(row.values.get(self.lists), row.values[name])
                for row in rows
                if isinstance(row.values.get(name), list)
            )
        }


def box_columns(
    usable: Iterable[str], free: Mapping[str, str], options: TableOptions, facts: ColumnFacts
) -> BoxColumns:
    """Find the columns of boxes by their names.

    Args:
        usable: All columns.
        free: Columns with neither lists nor paths, by their name in lower case.
        options: The user's.
        facts: What the columns hold.

    Raises:
        ConfigError: A column of a CSV holds lists of boxes.
    """
    lists = {lowered(name): name for name in usable if name in facts.nested}
    in_texts = {lowered(name): name for name in usable if name in facts.lists}
    one = first(BOXES, {key: name for key, name in in_texts.items() if name in facts.fours})
    boxes = "" if one else first(BOXES, lists)
    corners: tuple[str, ...] = ()
    stated_format = ""
    if one:
        corners, stated_format = (one,), "xyxy"
    elif not boxes:
        corners, stated_format = _corners(free)
    runs = ""
    if not boxes and not corners:
        runs = first(RUN_LENGTHS, {name.replace("_", ""): free[name] for name in free})
        if not runs and (name := first(BOXES, in_texts)):
            raise ConfigError(
                f"column {name!r} holds lists that are not four numbers: write JSON Lines for "
                f"several boxes in a row, or pass --ignore-columns {name}"
            )
    if runs:
        corners, stated_format = (runs,), "xywh"
    size = None
    if boxes or corners:
        beside = {key: name for key, name in free.items() if name not in corners}
        width, height = first(WIDTH, beside), first(HEIGHT, beside)
        size = (width, height) if width and height else None
    return BoxColumns(
        size=size,
        corners=corners,
        has_runs=bool(runs),
        lists=boxes,
        labels=first(LABELS.beside_boxes, lists) if boxes else "",
        format=stated_format if runs else options.box_format or stated_format,
    )


def _corners(names: Mapping[str, str]) -> tuple[tuple[str, ...], str]:
    for (left, top, right, bottom), box_format in CORNERS:
        third = right.replace("2", "3")  # of a landmark or a quadrilateral
        if {left, top, right, bottom} <= names.keys() and (third == right or third not in names):
            return (names[left], names[top], names[right], names[bottom]), box_format
    return (), ""


def box_format_of(columns: BoxColumns, sample: Sample) -> str:
    """Return the format of boxes that names of columns do not say; "" if they do.

    Open Images states fractions. Lists of four numbers are corners, unless most of them can be
    none, since the third number is not above the first, or the fourth not above the second.
    """
    if len(columns.corners) == 4 and {"imageid", "labelname"} <= set(map(lowered, sample.names)):
        return "rel_xyxy"
    if len(columns.corners) != 1 or columns.has_runs:
        return ""
    fours = [
        box for row in sample.rows if len(box := _numbers(row.values.get(columns.corners[0]))) == 4
    ]
    no_corners = sum(box[2] <= box[0] or box[3] <= box[1] for box in fours)
    no_sides = any(box[2] <= 0 or box[3] <= 0 for box in fours)
    return "xywh" if no_corners * 2 > len(fours) and not no_sides else ""


def _numbers(value: Any) -> list[float]:
    if is_stated(value):
        with contextlib.suppress(RecordError, TypeError, ValueError):
            box: list[Any] = list_of_text(value) if isinstance(value, str) else [*value]
            return [float(number) for number in box]
    return []


def _are_beside(boxes: Any, values: Any) -> bool:
    """Return whether `values` may be lists of a value for each box of the list `boxes`."""
    return (
        isinstance(boxes, list)
        and isinstance(values, list)
        and len(values) == len(boxes)
        and not any(isinstance(box, dict) for box in boxes)
        and not any(isinstance(value, list | dict) for value in values)
    )


def ignorable(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield what `ignore_columns` may name of a row: columns, and attributes of its boxes."""
    yield from values
    for column, value in values.items():
        if lowered(column) in BOXES and isinstance(value, list | dict):
            objects = value if isinstance(value, list) else [value]
            members = {name for each in objects if isinstance(each, dict) for name in each}
            beside = {name for name, each in values.items() if isinstance(each, list)} - {column}
            yield from sorted(members)
            yield from (f"{column}.{attribute_name(name)}" for name in sorted(members | beside))
