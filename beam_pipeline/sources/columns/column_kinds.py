"""The kinds of whole columns at once: numbers by one pattern, all else value by value."""

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow
import pyarrow.compute as compute

from beam_pipeline.sources.columns.kinds import (
    Kind,
    kind_of_int,
    kind_of_json,
    kind_of_text,
    wider,
)

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
    return _widest(kind, map(kind_of_text, map(str, others)))


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


def _widest(kind: Kind | None, others: Iterable[Kind | None]) -> Kind | None:
    for other in others:
        if kind is str:  # which holds all
            break
        kind = wider(kind, other)
    return kind
