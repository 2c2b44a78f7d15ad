"""Make the objects of an image from the rows of a table."""

import contextlib
import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.kinds.boxes import check_number
from beam_pipeline.kinds.masks import box_of, mask_of_runs
from beam_pipeline.media.images import size_in_file
from beam_pipeline.records import FileRef, Mask, Objects
from beam_pipeline.sources.rejects import malformed
from beam_pipeline.sources.tables.roles import Roles
from beam_pipeline.sources.tables.types import (
    Kind,
    ListOf,
    convert_column,
    is_stated,
    label_name,
    list_of_text,
    named_class,
    unsupported,
)
from beam_pipeline.sources.tables.usual_columns import CORNERS, LABELS, attribute_name
from tfrecord_dataset.image_size import ImageSize

# Members of Hugging Face's `objects` that may hold the boxes, in order of preference.
_COORDINATES = ("bbox", "bboxes", "boxes", "box")
_HEADER_BYTES = 1 << 16

_Row = Mapping[str, Any]
_Columns = Mapping[str, Sequence[Any]]
_Kinds = Mapping[str, Kind | None]


def objects_from_rows(
    columns: _Columns, roles: Roles, kinds: _Kinds, image_path: str = ""
) -> Objects:
    """Make the objects of an image from its rows; one without coordinates or runs adds none.

    Other columns become attributes of the objects.

    Args:
        columns: The rows' values by column.
        roles: The role of each column.
        kinds: Kinds of attributes by column.
        image_path: The image, whose size is read if rows of run lengths do not state it.

    Raises:
        RecordError: A coordinate is not a number, or a coordinate or other value is missing.
    """
    nothing = [None] * len(next(iter(columns.values())))
    check_number(len(nothing))
    stated = [columns.get(name, nothing) for name in roles.boxes.corners]
    if roles.boxes.has_runs:
        size = _stated_size(columns, roles) or _size_in_file(image_path)
        has_mask = [*map(is_stated, stated[0])]
        masks = [
            mask_of_starts(str(runs), size) for runs in itertools.compress(stated[0], has_mask)
        ]
        return dataclasses.replace(
            _facts_of_rows(columns, has_mask, roles, kinds),
            boxes=tuple(box for mask in masks if (box := box_of(mask))),
            format="xywh",
            masks=tuple(masks),
            image_size=size,
        )
    boxes = (
        [*map(_coordinates, stated[0])]
        if len(stated) == 1
        else [*map(list, zip(*stated, strict=True))]
    )
    has_box = [any(map(is_stated, box)) for box in boxes]
    return dataclasses.replace(
        _facts_of_rows(columns, has_box, roles, kinds),
        boxes=tuple(map(_four, itertools.compress(boxes, has_box))),
        format=roles.boxes.format,
        image_size=_stated_size(columns, roles),
    )


def _facts_of_rows(
    columns: _Columns, is_object: Sequence[bool], roles: Roles, kinds: _Kinds
) -> Objects:
    """Make the classes and attributes of objects, one per row that is one."""
    rows = {name: [*itertools.compress(each, is_object)] for name, each in columns.items()}
    nothing, label = [None] * sum(is_object), roles.boxes.labels
    attributes = {
        attribute_name(name): _attribute(name, rows.get(name, nothing), kinds[name], roles)
        for name in sorted(kinds.keys() - roles.taken)
    }
    labels = [_class_of(value, roles) for value in rows.get(label, nothing)] if label else ()
    return Objects(boxes=(), labels=tuple(labels), attributes=attributes)


def _attribute(
    column: str, values: Sequence[Any], kind: Kind | None, roles: Roles
) -> tuple[Any, ...]:
    """Convert an attribute's values; lists in a CSV stay text."""
    kind = str if isinstance(kind, ListOf) else kind
    return tuple(convert_column(values, column, kind, roles.missing_number))


def boxes_from_lists(row: _Row, roles: Roles, kinds: _Kinds | None) -> Objects:
    """Make the boxes of an image from its only row.

    The column holds a list of boxes with four numbers (format "xyxy" unless stated otherwise),
    next to lists of classes and other values; or Hugging Face's object of lists; or a list of
    objects. In the last two, `bbox` is "xywh", as in COCO.

    Args:
        row: The values by column.
        roles: The role of each column.
        kinds: Kinds of attributes, by "<column>.<attribute>"; None leaves values unconverted.

    Raises:
        RecordError: The lists differ in length, or hold invalid values.
    """
    members, box_format = _as_lists(row, roles)
    coordinates = tuple(_four(box) for box in members.pop("", []))
    labels = members.pop("labels", None)
    attributes = {}
    for stated_name, values in members.items():
        name = attribute_name(stated_name)
        column = f"{roles.boxes.lists}.{name}"
        if roles.ignored & {stated_name, column}:
            continue
        if any(isinstance(value, list | dict) for value in values):
            raise unsupported(f"{column!r} holds a list or an object per box", column)
        attributes[name] = (
            tuple(values) if kinds is None else _attribute(column, values, kinds.get(column), roles)
        )
    return Objects(
        boxes=coordinates,
        format=roles.boxes.format or box_format,
        labels=tuple(_class_of(label, roles) for label in labels or ()),
        attributes=attributes,
        image_size=_stated_size({name: [value] for name, value in row.items()}, roles),
    )


def _as_lists(row: _Row, roles: Roles) -> tuple[dict[str, list[Any]], str]:
    """Return lists of equal length by name: "" for boxes, "labels", and attributes."""
    value = row.get(roles.boxes.lists)
    items = value if isinstance(value, list) else []
    if any(isinstance(item, dict) for item in items):
        if not all(isinstance(item, dict) for item in items):
            raise malformed(f"{roles.boxes.lists!r} mixes objects with other values")
        names = dict.fromkeys(name for item in items for name in item)
        value = {name: [item.get(name) for item in items] for name in names}
    if isinstance(value, dict):
        members, box_format = _standard_names(value)
    elif isinstance(value, list) or value is None:
        per_box = {name: row.get(name) for name in sorted(roles.boxes.per_box)}
        stated = {name: values for name, values in per_box.items() if values is not None}
        members, box_format = {"": items, **stated}, "xyxy"
        if roles.boxes.labels:
            members["labels"] = row.get(roles.boxes.labels) or []
    else:
        raise malformed(f"{roles.boxes.lists!r} is {value!r}, not a list of boxes")
    for name, values in members.items():
        if not isinstance(values, list) or len(values) != len(members[""]):
            shown = f"{len(values)} values" if isinstance(values, list) else repr(values)
            raise malformed(f"{name or 'box'!r} has {shown} for {len(members[''])} boxes")
    return members, box_format


def _standard_names(members: _Row) -> tuple[dict[str, Any], str]:
    """Rename boxes to "" and classes to "labels"."""
    renamed = dict(members)
    box_format = "xywh"
    boxes: Any = []
    if name := next((name for name in _COORDINATES if name in members), ""):
        boxes = renamed.pop(name)
        if not isinstance(boxes, list):
            raise malformed(f"{name!r} is {boxes!r:.80}, not a list of boxes")
        if boxes and all(isinstance(box, dict) for box in boxes):
            corners, box_format = _corner_names(boxes[0])
            boxes = [[box.get(corner) for corner in corners] for box in boxes]
    elif members:
        corners, box_format = _corner_names(members)
        columns = [renamed.pop(corner) for corner in corners]
        lengths = {len(column) if isinstance(column, list) else -1 for column in columns}
        if len(lengths) > 1 or -1 in lengths:
            raise malformed(f"{', '.join(corners)} are not lists of one length")
        boxes = list(map(list, zip(*columns, strict=True)))
    renamed[""] = boxes
    if label := next((name for name in LABELS.in_boxes if name in renamed), ""):
        renamed["labels"] = renamed.pop(label)
    return renamed, box_format


def _corner_names(members: _Row) -> tuple[tuple[str, ...], str]:
    for names, box_format in CORNERS:
        if all(name in members for name in names):
            return names, box_format
    raise malformed(f"no bbox among {', '.join(map(repr, members))}")


def _coordinates(value: Any) -> Sequence[Any]:
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


def _stated_size(columns: _Columns, roles: Roles) -> ImageSize | None:
    """Return the image's size if the rows state it; raise RecordError if they disagree."""
    if roles.boxes.size is None:
        return None
    width, height = (columns.get(name) or [None] for name in roles.boxes.size)
    stated = set(itertools.zip_longest(width, height))
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


def _class_of(value: Any, roles: Roles) -> str:
    """Return a box's class, by name if the value is the number of one of the user's classes."""
    name = label_name(value, roles.boxes.labels or roles.boxes.lists)
    return name if roles.labels else named_class(name, roles.classes)


def _size_in_file(path: str) -> ImageSize:
    """Read the size from an image's header; raise RecordError if there is none."""
    with contextlib.suppress(RecordError):
        return size_in_file(storage.read_start(path, _HEADER_BYTES))
    return size_in_file(storage.read_bytes(FileRef(path=path)))


def mask_of_starts(text: str, size: ImageSize) -> Mask:
    """Decode a mask "start length start length …": pixels count from 1, column by column.

    Raises:
        RecordError: "malformed annotation": runs overlap, or exceed the image.
    """
    try:
        numbers = list(map(int, text.split()))
    except ValueError:
        numbers = []
    runs, behind = list[int](), 0
    for start, length in sorted(zip(numbers[::2], numbers[1::2], strict=False)):
        runs += [start - 1 - behind, length]
        behind = start - 1 + length
    pixels = size.height * size.width
    if not numbers or len(numbers) % 2 or min(runs) < 0 or 0 in runs[1::2] or behind > pixels:
        raise malformed(
            f"run lengths {text[:60]!r} are not starts and lengths of separate pixels "
            f"in an image of {size}"
        )
    return mask_of_runs(size, [*runs, pixels - behind])
