"""Infer the meaning of map pixels from the first maps and from files that name classes.

Such a file has one name per line, or is a table of names and colours, like those of CamVid
(`class_dict.csv`, `label_colors.txt`, `codes.txt`), Roboflow (`_classes.csv`), CVAT
(`labelmap.txt`) and labelme (`class_names.txt`).
"""

import csv
import dataclasses
import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from beam_pipeline.errors import ConfigError
from beam_pipeline.media.maps import BINARY, IGNORED, MapSample
from beam_pipeline.problems import Problem
from beam_pipeline.sources.masks.names import CLASSES, DEPTH
from tfrecord_dataset.delimited import bare_lines
from tfrecord_dataset.shown_text import counted

_BLACK, _WHITE = (0, 0, 0), (255, 255, 255)
_BACKGROUND, _FOREGROUND = "background", "foreground"
# A grey photograph has more levels than a map of unnamed classes.
_MOST_NUMBERS = 100
MOST_CLASSES = 255
# Size limit of a sampled map.
MOST_MAP_BYTES = 64 << 20
_LEVEL = re.compile("[0-9]{1,3}")
_COLOR_LINE = re.compile(r"(?P<r>\d+)[\s,]+(?P<g>\d+)[\s,]+(?P<b>\d+)[\s,]+(?P<name>\S.*)")
_CVAT_LINE = re.compile(r"(?P<name>[^:#]+):\s*(?P<r>\d+)\s*,\s*(?P<g>\d+)\s*,\s*(?P<b>\d+)\s*:.*")
_NAMES = frozenset({"name", "class", "class_name", "label", "category"})
_NUMBERS = frozenset({"pixel value", "pixel_value", "value", "index", "id", "label_id", "idx"})
_COLORS = (("r", "g", "b"), ("red", "green", "blue"))


class Classes(NamedTuple):
    """The classes of maps.

    Attributes:
        names: Names by number, from 0.
        colors: Red, green and blue of each class; empty if unknown.
    """

    names: tuple[str, ...] = ()
    colors: tuple[tuple[int, int, int], ...] = ()


def is_table(path: str) -> bool:
    """Whether a file has the name of a list of classes."""
    return path.rpartition("/")[2].lower() in _FORMS


def read_table(text: str, path: str) -> Classes | None:
    """Parse a file that may name classes; None if it has other content.

    Raises:
        ConfigError: A class or colour occurs twice, or there are too many.
    """
    rows = [line for line in map(str.strip, bare_lines(text)) if line]
    found = _FORMS[path.rpartition("/")[2].lower()](rows) if rows else None
    if not found or not found.names:
        return None
    for what, given in (("name", found.names), ("colour", found.colors)):
        if twice := [each for each, count in Counter(given).items() if count > 1]:
            raise ConfigError(f"{path} has the {what} {twice[0]!r} twice; give each once")
    if len(found.names) > MOST_CLASSES:
        raise ConfigError(
            f"{path} has {len(found.names):,} classes, but maps of 8 bits hold {MOST_CLASSES}; "
            "leave out classes that no map shows"
        )
    return found


def _lines(rows: Sequence[str]) -> Classes:
    """Parse one name per line; labelme's first line stands for ignored pixels."""
    return Classes(tuple(rows[rows[:1] == ["__ignore__"] :]))


def _csv(rows: Sequence[str]) -> Classes | None:
    """Parse a table of names and their colours or numbers, with a header."""
    try:
        header, *cells = csv.reader(rows, skipinitialspace=True)
    except csv.Error:
        return None
    columns = {each.strip().lower(): place for place, each in enumerate(header)}
    name = next((columns[column] for column in columns if column in _NAMES), None)
    number = next((columns[column] for column in columns if column in _NUMBERS), None)
    color = next((each for each in _COLORS if columns.keys() >= set(each)), None)
    places = [name, *(map(columns.get, color) if color else [number])]
    if None in places or any(len(row) != len(header) for row in cells):
        return None
    found = [[row[place].strip() for place in places if place is not None] for row in cells]
    return _of_colors(found) if color else _numbered(found)


def _color_lines(line: re.Pattern[str], rows: Sequence[str]) -> Classes | None:
    matches = filter(None, map(line.fullmatch, rows))
    return _of_colors([match.group("name", "r", "g", "b") for match in matches])


def _of_colors(rows: Sequence[Sequence[str]]) -> Classes | None:
    if not all(_LEVEL.fullmatch(text) and int(text) < 256 for row in rows for text in row[1:]):
        return None
    colors = tuple((int(red), int(green), int(blue)) for _, red, green, blue in rows)
    return Classes(tuple(name.strip() for name, *_ in rows), colors)


def _numbered(rows: Sequence[Sequence[str]]) -> Classes | None:
    """Make classes of (name, number); a number without a name is its own name."""
    are_numbers = all(_LEVEL.fullmatch(text) for _, text in rows)
    names = {int(text): name for name, text in rows} if are_numbers else {}
    if len(names) < len(rows):
        return None
    return Classes(tuple(names.get(each, str(each)) for each in range(max(names, default=-1) + 1)))


_FORMS: Mapping[str, Callable[[Sequence[str]], Classes | None]] = {
    **dict.fromkeys(("class_dict.csv", "_classes.csv", "classes.csv", "labels.csv"), _csv),
    "label_colors.txt": functools.partial(_color_lines, _COLOR_LINE),
    "labelmap.txt": functools.partial(_color_lines, _CVAT_LINE),
    **dict.fromkeys(("classes.txt", "class_names.txt", "labels.txt", "codes.txt"), _lines),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Meaning:
    """Meaning of the pixels of maps.

    Attributes:
        shows: CLASSES or DEPTH.
        names: Class names by number; empty if unknown.
        colors: Red, green and blue of each class if pixels are colours; otherwise empty.
        text: Description for the summary.
        problem: Why the maps cannot be read; None if they can.
    """

    shows: str = CLASSES
    names: tuple[str, ...] = ()
    colors: bytes = b""
    text: str = ""
    problem: Problem | None = None


def is_map(sample: MapSample, shows: str) -> bool:
    """Whether an image may be a map and not a photograph."""
    if shows == DEPTH:
        return sample.numbers is not None
    if sample.colors is None:
        return False
    return sample.numbers is None or len(sample.numbers) <= _MOST_NUMBERS


def meaning_of(
    samples: Iterable[MapSample], shows: str, table: Classes | None, where: str
) -> Meaning:
    """Infer the meaning of maps from samples and from the classes in the file `where`."""
    first = list(samples)
    if shows == DEPTH:
        return Meaning(shows=DEPTH, text="depths")
    named = table.names if table else ()
    source = f" of {where}" if where else ""
    colors = frozenset().union(*(each.colors or () for each in first))
    numbers = frozenset().union(*(each.numbers or () for each in first)) - {IGNORED}
    has_numbers = all(each.numbers is not None for each in first)
    if table and table.colors and _are_colors(colors, numbers, has_numbers, table):
        return Meaning(
            names=table.names,
            colors=bytes(value for color in table.colors for value in color),
            text=f"{counted(len(table.names), 'class')} by the colours{source}",
        )
    if (_WHITE in colors or not (named or numbers - {0})) and colors <= {_BLACK, _WHITE}:
        if len(named) > 2:
            facts = {"table": where, "number": len(named)}
            return Meaning(problem=Problem(code="black and white maps", facts=facts))
        black, white = (_BACKGROUND, *(named or (_FOREGROUND,)))[-2:]
        text = f"black is the class {black}, white the class {white}"
        return Meaning(names=(black, white), colors=BINARY, text=text)
    if not has_numbers:
        color = ",".join(map(str, max(colors)))
        return Meaning(problem=Problem(code="unnamed colours", facts={"colour": color}))
    if named:
        return Meaning(names=named, text=f"{counted(len(named), 'class')}{source}")
    return Meaning(text="class IDs; no names found")


def _are_colors(
    colors: frozenset[tuple[int, ...]], numbers: frozenset[int], has_numbers: bool, table: Classes
) -> bool:
    """Whether the pixels encode classes as colours, not as numbers."""
    if not has_numbers:
        return colors <= {*table.colors, _BLACK} or bool(colors & {*table.colors})
    is_grey = all(len(set(color)) == 1 for color in colors)
    if is_grey and _WHITE not in colors and max(numbers, default=0) < len(table.names):
        return False
    return colors <= set(table.colors)
