"""Parsing and checking of option values by type, from text and from Python values.

The ValueErrors' messages continue a sentence that begins with the option and its value.
"""

import dataclasses
import math
import numbers
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfrecord_dataset.image_size import ImageSize

_MOST_WHOLE = (1 << 63) - 1  # int64


@dataclasses.dataclass(frozen=True, kw_only=True)
class ValueType:
    """How to parse and check the values of a type.

    `parse` takes a text of the command line and `make` a Python value; both raise a ValueError.
    `metavar` is the value's name in the help; None for the option's.
    """

    parse: Callable[[str], Any]
    make: Callable[[Any], Any]
    metavar: str | None = None


def _numbers(kind: Callable[[Any], Any], others: type, problem: str) -> ValueType:
    """Make the type of numbers of Python and of other libraries, such as NumPy."""

    def make(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, others):
            raise ValueError(problem)
        return kind(value)

    def parse(text: str) -> Any:
        try:
            return kind(text)
        except ValueError:
            return make(text)

    return ValueType(parse=parse, make=make, metavar="N")


WHOLE = _numbers(int, numbers.Integral, "is not a whole number; give one, such as 10")


def make_truth(value: Any) -> bool:
    """Check a bool."""
    if not isinstance(value, bool):
        raise ValueError("is neither True nor False; give one of them")
    return value


def make_text(value: Any) -> str:
    """Check a text or a path."""
    if not isinstance(value, str | os.PathLike):
        raise ValueError("is not a text; give one")
    return os.fspath(value)


def parse_names(text: str) -> tuple[str, ...]:
    """Parse the names in `a,b`."""
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise ValueError("has an empty name; separate names with commas: a,b")
    return names


def make_names(value: Any) -> tuple[str, ...]:
    """Check a list of names."""
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    if not is_list or not all(isinstance(name, str | os.PathLike) for name in value):
        raise ValueError("is not a list of names; give one, such as ['a', 'b']")
    return tuple(map(os.fspath, value))


def parse_lengths(text: str) -> dict[str, int]:
    """Parse the lengths by name in `sequence=128,caption=32`."""
    pairs = [re.fullmatch(r"\s*(.+?)\s*=\s*(\d+)\s*", part) for part in text.split(",")]
    lengths = {pair[1]: int(pair[2]) for pair in pairs if pair}
    if len(lengths) < len(pairs):
        raise ValueError("cannot be read; give each input once: sequence=128,caption=32")
    return lengths


def make_lengths(value: Any) -> dict[str, int]:
    """Check whole numbers by name."""
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise ValueError("does not give whole numbers by name; give some, such as {'a': 32}")
    return {name: WHOLE.make(length) for name, length in value.items()}


def parse_bytes(text: str) -> int:
    """Parse bytes in "50GB" (powers of 1000), "128MiB" or "128M" (of 1024), or "4096"."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?)(b?)|b?)", text.strip().lower())
    if not match:
        raise ValueError("is not a size; write it as 128MiB or 50GB")
    base = 1000 if match[4] and not match[3] else 1024
    power: int = base ** " kmgt".index(match[2] or " ")
    return round(float(match[1]) * power)


TYPES: Mapping[Any, ValueType] = {
    int: WHOLE,
    float: _numbers(float, numbers.Real, "is not a number; give one, such as 0.1"),
    Any: ValueType(parse=str, make=lambda value: value),
    bool: ValueType(parse=bool, make=make_truth),
    str: ValueType(parse=str, make=make_text),
    ImageSize: ValueType(parse=ImageSize.parse, make=ImageSize.of, metavar="SIDE|WxH"),
    tuple[str, ...]: ValueType(parse=parse_names, make=make_names),
    Mapping[str, int]: ValueType(parse=parse_lengths, make=make_lengths),
}


def check_bounds(value: Any, least: float, most: float, above: float, below: float) -> None:
    """Raise ValueError if a number, or one of a mapping's, is out of bounds.

    `least` and `most` are inclusive, `above` and `below` exclusive. A whole number must be an
    int64, which files of options can hold.
    """
    for number in value.values() if isinstance(value, Mapping) else [value]:
        if isinstance(number, bool) or not isinstance(number, int | float):
            continue
        if isinstance(number, int) and number > _MOST_WHOLE:
            most = min(most, _MOST_WHOLE)
        if least <= number <= most and above < number < below:
            continue
        bounds = {"from": least, "above": above, "to": most, "below": below}
        stated = [
            f"{word} {bound:{',' if isinstance(bound, int) else ',.12g'}}"
            for word, bound in bounds.items()
            if abs(bound) < math.inf
        ]
        raise ValueError(f"is out of bounds; give a number {' '.join(stated) or 'that is finite'}")
