"""Convert values to names of classes."""

import math
from collections.abc import Sequence
from typing import Any

from beam_pipeline.errors import RecordError
from beam_pipeline.records import ClassLabel, ClassLabels
from beam_pipeline.sources.tables.types import (
    Kind,
    ListOf,
    kind_of_text,
    list_of_text,
    listed,
    truth_as_number,
)

# More distinct numbers with a point, such as 151.0, are not classes.
_MANY_WRITTEN_SO = 20
# Python refuses to parse numbers with thousands of digits.
_DIGITS = 20
# Separates the names of classes that have a column each.
OF_COLUMNS = "\n"


def class_name(value: Any) -> str:
    """Return the name of a value's class: 3, 3.0 and "3" are the class "3"; "" for none."""
    if isinstance(value, float) and math.isnan(value):
        return ""
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        value = int(value)
    return "" if value is None else str(value).strip()


def named_class(name: str, classes: Sequence[str]) -> str:
    """Return the class called `name` in `classes`, else the one with that number, else `name`."""
    is_number = name.isascii() and name.isdigit() and len(name) < _DIGITS
    if name not in classes and is_number and int(name) < len(classes):
        return classes[int(name)]
    return name


def is_stated(value: Any) -> bool:
    """Return whether a value is neither null nor blank."""
    return bool(value.strip()) if isinstance(value, str) else value is not None


def label_name(value: Any, column: str) -> str:
    """Return the class of a label; raise "missing value" if there is none."""
    name = class_name(value)
    if not name:
        raise RecordError("missing value", f"column {column!r} is empty here: there is no label")
    return name


def class_label(
    value: Any,
    column: str,
    kind: Kind | None,
    classes: Sequence[str] = (),
    separator: str = "",
    has_several: bool = False,
) -> ClassLabel | ClassLabels:
    """Return the class or classes of a text, a number or a list.

    Args:
        value: The value.
        column: Column, for messages.
        kind: Kind of the column.
        classes: Names of classes that are written as numbers.
        separator: Separates the classes in a text; "" if a text is one class.
        has_several: Whether a record may have several classes; a missing value then means none.

    Raises:
        RecordError: "missing value": there is no class, or a name in the list is missing.
    """
    if has_several and not is_stated(value):
        return ClassLabels(())
    is_divided = separator and isinstance(value, str)
    if is_divided and (value or separator != OF_COLUMNS):
        value = list(filter(None, map(str.strip, value.split(separator))))
    elif isinstance(kind, ListOf) and isinstance(value, str) and value.strip():
        value = listed(value, kind)
    if isinstance(value, list):
        return ClassLabels(tuple(named_class(label_name(each, column), classes) for each in value))
    if kind is float and isinstance(value, str) and value.strip():
        value = float(value)  # pandas writes 3 as "3.0" if other values are missing
    return ClassLabel(named_class(label_name(value, column), classes))


def mark_of(value: object) -> str:
    """Return "1", "0" or "-1", also for 1.0 or true; any other value as text."""
    text = str(value).strip().lower().removesuffix(".0")
    return {"true": "1", "false": "0"}.get(text, text)


def classes_marked(names: Sequence[str], values: Sequence[object]) -> str:
    """Join the names of a row's classes to one text; "" if a value is not 1, 0 or -1."""
    marks = list(map(mark_of, values))
    if not {"1", "0", "-1"}.issuperset(marks):
        return ""
    marked = [name for name, mark in zip(names, marks, strict=True) if mark == "1"]
    return OF_COLUMNS.join(marked) or OF_COLUMNS


def are_no_classes(values: Sequence[Any]) -> bool:
    """Return whether numbers or lists cannot be classes, whatever their column's name.

    This is so for numbers with fractions, nested lists, lists with repeated values, or many numbers
    written with a point.
    """
    is_written_so = any(not isinstance(value, list) and "." in str(value) for value in values)
    many = len(set(map(str, values))) > _MANY_WRITTEN_SO
    return (many and is_written_so) or any(map(_is_no_class, values))


def _is_no_class(value: Any) -> bool:
    if isinstance(value, str):
        is_list = isinstance(kind_of_text(value), ListOf)
        value = list_of_text(value) if is_list else float(truth_as_number(value))
    if isinstance(value, list):
        plain = [each for each in value if not isinstance(each, list | dict | float)]
        return len(set(plain)) < len(value)
    return not (isinstance(value, int) or float(value).is_integer())
