"""Names for the columns of a table without a header, by what they hold."""

import re
from collections.abc import Sequence

from beam_pipeline.sources.paths import kind_of_all
from tfrecord_dataset.split_names import is_split

_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?")
_CORNERS = ("xmin", "ymin", "xmax", "ymax")
_SIDES = ("x", "y", "w", "h")
_WORDS = 4  # of a text, on average
_LONGEST = 3  # digits of a class


def names_seen(rows: Sequence[Sequence[str]]) -> list[str]:
    """The names of all columns: "image", "xmin", "label", "text", "column_3", "" of an empty one.

    None where nothing is like a file, a class or a text.

    Args:
        rows: Some of the table, of which those as wide as the first are looked at.
    """
    rows = [[cell.strip() for cell in row] for row in rows if len(row) == len(rows[0])]
    columns = [[*filter(None, column)] for column in zip(*rows, strict=True)]
    names = [f"column_{number}" * bool(column) for number, column in enumerate(columns, 1)]
    free = {at for at, column in enumerate(columns) if column}

    def name(at: int, called: str) -> None:
        number = sum(each.partition("_")[0] == called for each in names)
        names[at] = f"{called}_{number + 1}" if number else called
        free.remove(at)

    for at in sorted(free):
        if kind := kind_of_all(columns[at]):
            name(at, kind)
    if "image" in names:
        for at in range(len(columns) - 3):
            four = range(at, at + 4)
            if free.issuperset(four) and all(map(_are_numbers, columns[at : at + 4])):
                for each, called in zip(four, _box(columns[at : at + 4]), strict=True):
                    name(each, called)
                break
    for at in sorted(free):
        if sum(len(value.split()) for value in columns[at]) >= _WORDS * len(columns[at]):
            name(at, "text")
    for at in sorted(free):
        if all(map(is_split, columns[at])):
            name(at, "split")
    several = [at for at in free if 1 < len({*columns[at]}) < len(columns[at])]
    few = sorted(several, key=lambda at: (len({*columns[at]}), at))
    is_known = {*names} & {"image", "audio", "text"}
    if not few and ({"xmin", "x"} & {*names} or (is_known and len(free) == 1)):
        few = sorted(free, key=lambda at: _are_numbers(columns[at]))
    if not few and "text" in names and 0 in free and all(map(_is_class, columns[0])):
        few = [0]  # of sorted rows
    for at in few[:1]:
        name(at, "label")
    return names if {*names} & {"image", "audio", "label", "text"} else []


def _are_numbers(column: Sequence[str]) -> bool:
    return all(map(_NUMBER.fullmatch, column))


def _is_class(text: str) -> bool:
    return text.isdecimal() and len(text) <= _LONGEST


def _box(columns: Sequence[Sequence[str]]) -> Sequence[str]:
    boxes = [[*map(float, box)] for box in zip(*columns, strict=False)]
    are_corners = all(right > left and lower > upper for left, upper, right, lower in boxes)
    return _CORNERS if are_corners else _SIDES
