"""The boxes of one image, as the rows of a manifest state them."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.boxes import check_number
from beam_pipeline.records import Objects
from beam_pipeline.sources.columns.class_values import is_stated, label_name, named_class
from beam_pipeline.sources.columns.column import CORNERS, LABELS, Columns, attribute_name
from beam_pipeline.sources.columns.kinds import Kind, ListOf, convert_column, list_of_text
from beam_pipeline.sources.malformed import malformed
from tfrecord_dataset.image_size import ImageSize

# Members of Hugging Face's `objects` that hold the boxes, in order of preference.
_COORDINATES = ("bbox", "bboxes", "boxes", "box")


def _attribute(
    column: str, values: Sequence[Any], kind: Kind | None, columns: Columns
) -> tuple[Any, ...]:
    """The values of some boxes; lists in a CSV stay the text that they are."""
    kind = str if isinstance(kind, ListOf) else kind
    return tuple(convert_column(values, column, kind, columns.missing_number))


def boxes_from_rows(
    rows: Sequence[Mapping[str, Any]], columns: Columns, kinds: Mapping[str, Kind | None]
) -> Objects:
    """The boxes of one image from its rows, a box each; a row without coordinates adds none.

    Other columns become attributes of the boxes.

    Raises:
        RecordError: A coordinate is not a number or missing, or another value is missing.
    """
    assert columns.corners is not None
    check_number(len(rows))
    stated = [(row, _stated_box(row, columns.corners)) for row in rows]
    with_box = [(row, box) for row, box in stated if any(map(is_stated, box))]
    return dataclasses.replace(
        facts_of_rows([row for row, _ in with_box], columns, kinds),
        boxes=tuple(_four(box) for _, box in with_box),
        format=columns.box_format,
        image_size=stated_size(rows, columns),
    )


def facts_of_rows(
    with_box: Sequence[Mapping[str, Any]], columns: Columns, kinds: Mapping[str, Kind | None]
) -> Objects:
    """The classes and attributes of objects, which have a row each."""
    names = sorted(kinds.keys() - columns.taken)
    return Objects(
        boxes=(),
        labels=tuple(
            label_name(row.get(columns.box_labels), columns.box_labels) for row in with_box
        )
        if columns.box_labels
        else (),
        attributes={
            attribute_name(name): _attribute(
                name, [row.get(name) for row in with_box], kinds[name], columns
            )
            for name in names
        },
    )


def boxes_from_lists(
    row: Mapping[str, Any], columns: Columns, kinds: Mapping[str, Kind | None] | None
) -> Objects:
    """The boxes of one row that has them all.

    The column holds a list of four numbers each (format "xyxy" unless stated otherwise)
    with the classes and other values in lists beside; or Hugging Face's object of lists;
    or a list of objects. In these two a `bbox` is "xywh", as in COCO.

    Args:
        row: The values by column.
        columns: Which column is which.
        kinds: Of the attributes, under "<column>.<attribute>"; None leaves values as they are.

    Raises:
        RecordError: The lists differ in length, or hold something else.
    """
    members, box_format = _as_lists(row, columns)
    coordinates = tuple(_four(box) for box in members.pop("", []))
    labels = members.pop("labels", None)
    attributes = {}
    for stated_name, values in members.items():
        name = attribute_name(stated_name)
        column = f"{columns.boxes}.{name}"
        if columns.ignored & {stated_name, column}:
            continue
        if any(isinstance(value, list | dict) for value in values):
            raise RecordError(
                "unsupported column",
                f"{column!r} holds a list or an object per box; leave it out with --ignore-columns",
            )
        attributes[name] = (
            tuple(values)
            if kinds is None
            else _attribute(column, values, kinds.get(column), columns)
        )
    return Objects(
        boxes=coordinates,
        format=columns.box_format or box_format,
        labels=tuple(
            label_name(label, columns.box_labels or columns.boxes) for label in labels or ()
        ),
        attributes=attributes,
        image_size=stated_size([row], columns),
    )


def _as_lists(row: Mapping[str, Any], columns: Columns) -> tuple[dict[str, list[Any]], str]:
    """Lists of n values: "" the boxes, "labels" their classes, and attributes by name."""
    value = row.get(columns.boxes)
    if isinstance(value, dict):
        members, box_format = _standard_names(value)
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        if not all(isinstance(item, dict) for item in value):
            raise malformed(f"{columns.boxes!r} mixes objects with other values")
        names = dict.fromkeys(name for item in value for name in item)
        members, box_format = _standard_names(
            {name: [item.get(name) for item in value] for name in names}
        )
    elif isinstance(value, list) or value is None:
        beside = {name: row.get(name) for name in sorted(columns.box_lists)}
        stated = {name: values for name, values in beside.items() if values is not None}
        members, box_format = {"": value or [], **stated}, "xyxy"
        if columns.box_labels:
            members["labels"] = row.get(columns.box_labels) or []
    else:
        raise malformed(f"{columns.boxes!r} is {value!r}, not a list of boxes")
    for name, values in members.items():
        if not isinstance(values, list) or len(values) != len(members[""]):
            shown = f"{len(values)} values" if isinstance(values, list) else repr(values)
            raise malformed(f"{name or 'box'!r} has {shown} for {len(members[''])} boxes")
    return members, box_format


def are_beside(boxes: Any, values: Any) -> bool:
    """Whether `values` may be lists of a value for each box of the list `boxes`."""
    return (
        isinstance(boxes, list)
        and isinstance(values, list)
        and len(values) == len(boxes)
        and not any(isinstance(box, dict) for box in boxes)
        and not any(isinstance(value, list | dict) for value in values)
    )


def _standard_names(members: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Boxes under "" and classes under "labels", whatever their names were.

    Raises:
        RecordError: "malformed annotation": the boxes are no list.
    """
    renamed = dict(members)
    boxes = next((name for name in _COORDINATES if name in members), "")
    box_format = "xywh"
    if boxes:
        renamed[""] = renamed.pop(boxes)
        if not isinstance(renamed[""], list):
            raise malformed(f"{boxes!r} is {renamed['']!r:.80}, not a list of boxes")
        if renamed[""] and all(isinstance(box, dict) for box in renamed[""]):
            corners, box_format = _corner_names(renamed[""][0])
            renamed[""] = [[box.get(corner) for corner in corners] for box in renamed[""]]
    elif members:
        corners, box_format = _corner_names(members)
        columns = [renamed.pop(corner) for corner in corners]
        lengths = {len(each) if isinstance(each, list) else -1 for each in columns}
        if len(lengths) > 1 or -1 in lengths:
            raise malformed(f"{', '.join(corners)} are not lists of one length")
        renamed[""] = [list(box) for box in zip(*columns, strict=True)]
    else:
        renamed[""] = []
    if label := next((name for name in LABELS.in_boxes if name in renamed), ""):
        renamed["labels"] = renamed.pop(label)
    return renamed, box_format


def _corner_names(members: Mapping[str, Any]) -> tuple[tuple[str, ...], str]:
    for names, box_format in CORNERS:
        if all(name in members for name in names):
            return names, box_format
    raise malformed(f"no bbox among {', '.join(map(repr, members))}")


def _stated_box(row: Mapping[str, Any], corners: Sequence[str]) -> list[Any]:
    """The numbers of a box as a row states them, in four columns or in one list."""
    if len(corners) > 1:
        return list(map(row.get, corners))
    value = row.get(corners[0])
    if isinstance(value, list):
        return value
    return list_of_text(value) if isinstance(value, str) and value.strip() else [value]


def _four(box: Any) -> tuple[float, float, float, float]:
    try:
        a, b, c, d = map(float, box)
    except (TypeError, ValueError, OverflowError) as error:
        raise malformed(f"box {str(box)[:100]} is not four numbers") from error
    if not all(map(math.isfinite, (a, b, c, d))):
        raise malformed(f"box {box!r} is not four finite numbers")
    return a, b, c, d


def stated_size(rows: Sequence[Mapping[str, Any]], columns: Columns) -> ImageSize | None:
    """What the rows state of the image's size, if they do.

    Raises:
        RecordError: They contradict one another, or state no number.
    """
    if columns.size is None:
        return None
    width, height = columns.size
    stated = {(row.get(width), row.get(height)) for row in rows}
    if len(stated) > 1:
        raise malformed(f"rows of one image state the sizes {sorted(map(str, stated))}")
    sides: tuple[Any, Any] = stated.pop()
    if not all(map(is_stated, sides)):
        return None
    try:
        pixels = ImageSize(width=int(float(sides[0])), height=int(float(sides[1])))
    except (TypeError, ValueError, OverflowError) as error:
        raise malformed(f"width and height are {sides!r}") from error
    return pixels if min(pixels) > 0 else None


def named_boxes(boxes: Objects, columns: Columns) -> Objects:
    """Boxes whose labels are numbers of the user's classes by those, where boxes have them."""
    if columns.labels or not (columns.classes or columns.class_names):
        return boxes
    labels = tuple(
        columns.class_names.get(name) or named_class(name, columns.classes) for name in boxes.labels
    )
    return dataclasses.replace(boxes, labels=labels)
