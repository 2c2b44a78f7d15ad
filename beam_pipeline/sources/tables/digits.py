"""Count the numbers of columns that lose digits in the type in which they are stored."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from beam_pipeline.kinds.numbers import FIRST_SKIPPED  # Inspect reports larger ones
from beam_pipeline.sources.tables.types import Kind

_DIGITS = 7  # that float32 keeps of any number
_SAME = 1e-12  # of a number, which float64 itself may change
_INTEGER = re.compile(r"[+-]?[0-9]+")


class Digits(NamedTuple):
    """What the numbers of a column are.

    Attributes:
        number: How many there are.
        lost: Those that change in float32, except those above `FIRST_SKIPPED`.
        large: Those that need over 64 bits.
        are_whole: Whether all values are whole numbers.
    """

    number: int
    lost: int = 0
    large: int = 0
    are_whole: bool = False


def digits_of(
    columns: Mapping[str, Sequence[Any]], kinds: Mapping[str, Kind | None]
) -> dict[str, Digits]:
    """Count the numbers of some rows, by column of fractions or of large whole numbers."""
    found = {}
    for name, values in columns.items():
        kind, are_whole = kinds.get(name), False
        stated = [value for value in values if value not in (None, "")]
        lost = _num_lost(stated) if kind is float else 0
        if kind in (int, str):
            are_whole = kind is int or all(map(is_whole, stated))
        large = sum(map(_is_large, stated)) if are_whole and kind is str else 0
        found[name] = Digits(len(stated), lost, large, are_whole)
    return found


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number of any size, also as text."""
    return type(value) is int or (isinstance(value, str) and bool(_INTEGER.fullmatch(value)))


def _is_large(value: Any) -> bool:
    return not -(2**63) <= int(value) < 2**63


def _num_lost(values: Sequence[Any]) -> int:
    try:
        numbers = np.array(values, np.float64)
    except (ValueError, OverflowError):  # blanks, or true and false, which lose nothing
        return 0
    with np.errstate(all="ignore"):
        scale = 10.0 ** (_DIGITS - 1 - np.floor(np.log10(np.abs(numbers))))
        short = np.round(numbers * scale) / scale
        is_short = (np.abs(short - numbers) <= _SAME * np.abs(numbers)) | ~np.isfinite(short)
        stored = numbers.astype(np.float32)
        is_rounded = (~is_short & (stored != numbers)) | ((stored == 0) & (numbers != 0))
        return int(np.count_nonzero(is_rounded & (np.abs(numbers) < FIRST_SKIPPED)))


def merge_digits(one: Mapping[str, Digits], other: Mapping[str, Digits]) -> dict[str, Digits]:
    """Add the counts of some rows to those of others; none of a column that is text in some."""
    if not one or not other:
        return dict(one or other)
    return {
        name: Digits(
            one[name].number + other[name].number,
            one[name].lost + other[name].lost,
            one[name].large + other[name].large,
            one[name].are_whole and other[name].are_whole,
        )
        for name in one.keys() & other.keys()
    }


def digits_lost(found: Mapping[str, Digits], kinds: Mapping[str, Kind | None]) -> Iterator[str]:
    """Yield a message for each column whose numbers are not stored as they are."""
    for name, (number, lost, large, are_whole) in sorted(found.items()):
        if kinds.get(name) is float and lost:
            yield (
                f"column {name!r}: {lost:,} of {number:,} numbers change in float32, which keeps "
                f"{_DIGITS} digits; declare text with --schema to keep them"
            )
        if kinds.get(name) is str and are_whole and large:
            yield (
                f"column {name!r} is text: {large:,} of {number:,} whole numbers need over 64 bits"
            )
