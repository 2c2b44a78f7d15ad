"""What kind of values a column holds: whole numbers, numbers, text, or lists of one of these.

The kind of a column is the narrowest that holds all of its values.
"""

import contextlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from beam_pipeline.errors import RecordError
from beam_pipeline.records import Value
from beam_pipeline.sources.columns.lists import flatten, listed_texts, number_array

Scalar = type[int] | type[float] | type[str]
_WIDTH: dict[Scalar, int] = {int: 0, float: 1, str: 2}

_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_DECIMAL = re.compile(
    r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|nan|[+-]?inf(inity)?"
)
_TRUTHS = {"true": 1, "false": 0}


class ListOf(NamedTuple):
    """The kind of lists.

    Attributes:
        element: What they hold; None while all of them are empty.
        inner: The sizes of the lists in them, by axis; empty where they hold none. Where rows
            differ, the largest.
    """

    element: Scalar | None
    inner: tuple[int, ...] = ()


Kind = Scalar | ListOf


def kind_of_text(text: str) -> Kind | None:
    """What a CSV field is: int, float, str, or a list in JSON; None where it is empty.

    "007" is text, since a number would lose its zeros; so is an integer beyond 64 bits. "True" and
    "false" are integers.
    """
    text = text.strip()
    if not text:
        return None
    if text.lower() in _TRUTHS:
        return int
    if _INTEGER.fullmatch(text):
        return _kind_of_int(int(text)) if len(text) < 25 else str
    if text[0] == "[":
        try:
            return _kind_of_list(parse_list(text))
        except RecordError:
            return str
    return float if _DECIMAL.fullmatch(text.lower()) else str


def truth_as_number(text: str) -> int | str:
    """1 for "True", 0 for "false", in any case; any other text as it is."""
    return _TRUTHS.get(text.strip().lower(), text)


def parse_list(text: str) -> list[Any]:
    """The list that is written in JSON.

    Raises:
        RecordError: "malformed annotation": it is none.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RecordError("malformed annotation", f"{text[:100]!r} is no list: {error}") from error
    if not isinstance(value, list):
        raise RecordError("malformed annotation", f"{text[:100]!r} is no list")
    return value


def kind_of_json(value: Any) -> Kind | None:
    """What a JSON value is: int (also true and false), float, str or a list; None: it is null.

    Raises:
        RecordError: It is an object, or a list with objects, or of lists that differ.
    """
    match value:
        case None:
            return None
        case int():
            return _kind_of_int(value)
        case float():
            return float
        case str():
            return str
        case list():
            return _kind_of_list(value)
    raise RecordError("unsupported column", f"{str(value)[:100]} is a {type(value).__name__}")


def _kind_of_int(number: int) -> Scalar:
    return int if -(2**63) <= number < 2**63 else str


def _kind_of_list(value: list[Any]) -> ListOf:
    flat, shape = flatten(value)
    types = set(map(type, flat)) - {type(None)}
    if dict in types or (str in types and len(shape) > 1):
        raise RecordError("unsupported column", f"{str(value)[:100]} is no list of plain values")
    if not types:
        return ListOf(None)
    return ListOf(str if str in types else float if float in types else int, shape[1:])


def merge_kinds(seen: Iterable[Mapping[str, Kind | None]]) -> dict[str, Kind | None]:
    """Of every column the kind that holds all its values; None while all are missing."""
    merged: dict[str, Kind | None] = {}
    for kinds in seen:
        for name, kind in kinds.items():
            merged[name] = wider(merged.get(name), kind)
    return dict(sorted(merged.items()))


def wider(one: Kind | None, other: Kind | None) -> Kind | None:
    """The kind that holds the values of both: int < float < str, also of lists' elements.

    Lists beside other values are text: what a CSV field is anyway.
    """
    if one == other or one is None or other is None:
        return one or other
    if isinstance(one, ListOf) and isinstance(other, ListOf):
        return ListOf(_wider_scalar(one.element, other.element), max(one.inner, other.inner))
    if isinstance(one, ListOf) or isinstance(other, ListOf):
        return str
    return _wider_scalar(one, other)


def _wider_scalar(one: Scalar | None, other: Scalar | None) -> Scalar | None:
    if one is None or other is None:
        return one or other
    return max(one, other, key=_WIDTH.__getitem__)


def convert(name: str, value: Any, kind: Kind | None) -> Value:
    """`value` of the column `name` as its column's kind; a missing text is "".

    Returns:
        An int, float or str; of a list an `Array` of int64 or float32, or a tuple of str.

    Raises:
        RecordError: "missing value": a number or a list is missing, and nothing stands for
            that; "unsupported column": a list or object where other rows have none;
            "malformed annotation", "value out of range": a list cannot be used.
    """
    if kind is int or kind is float:
        try:
            return kind(value)  # nearly always
        except (TypeError, ValueError):
            if isinstance(value, str) and isinstance(truth := truth_as_number(value), int):
                return kind(truth)
    if value is None or (kind not in (None, str) and isinstance(value, str) and not value.strip()):
        if kind not in (None, str):
            what, fill = (
                ("lists", "") if isinstance(kind, ListOf) else ("numbers", ", say with nan")
            )
            raise RecordError(
                "missing value",
                f"column {name!r} is empty here, but has {what} elsewhere; fill it{fill}, or "
                "leave the column out with --ignore-columns",
            )
        return ""
    if isinstance(kind, ListOf):
        with naming(name):
            return _listed(value, kind)
    if isinstance(value, list | dict):
        raise RecordError(
            "unsupported column",
            f"column {name!r} holds {str(value)[:100]}, but numbers or text in other rows; make "
            "them alike, or leave it out with --ignore-columns",
        )
    return (kind or str)(value)


def _listed(value: Any, kind: ListOf) -> Value:
    values = parse_list(value) if isinstance(value, str) else value
    if kind.element is str:
        return listed_texts(values)
    return number_array(values, "float32" if kind.element is float else "int64", kind.inner)


@contextlib.contextmanager
def naming(column: str) -> Iterator[None]:
    """Names the column in the detail of a RecordError."""
    try:
        yield
    except RecordError as error:
        raise RecordError(error.reason, f"column {column!r}: {error.detail}") from error


def class_name(value: Any) -> str:
    """The class that a value names: 3, 3.0 and "3" are all the class "3"; "" for none."""
    if isinstance(value, float) and math.isnan(value):
        return ""
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        value = int(value)
    return "" if value is None else str(value).strip()
