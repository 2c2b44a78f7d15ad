"""Files that name the classes of maps: a name a line, or a table of names and colours.

The forms are those of CamVid (`class_dict.csv`, `label_colors.txt`, `codes.txt`), Roboflow
(`_classes.csv`), CVAT (`labelmap.txt`), labelme (`class_names.txt`) and ADE20K
(`objectInfo150.txt`).
"""

import csv
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from beam_pipeline.errors import ConfigError

MOST_CLASSES = 255
_LEVEL = re.compile("[0-9]{1,3}")
_COLOR_LINE = re.compile(r"(\d+)[\s,]+(\d+)[\s,]+(\d+)[\s,]+(\S.*)")
_CVAT_LINE = re.compile(r"([^:#]+):\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*:.*")
_NAMES = frozenset({"name", "class", "class_name", "label", "category"})
_NUMBERS = frozenset({"pixel value", "pixel_value", "value", "index", "id", "label_id", "idx"})
_COLORS = (("r", "g", "b"), ("red", "green", "blue"))


class Classes(NamedTuple):
    """The classes of maps.

    Attributes:
        names: By their numbers, from 0.
        colors: Red, green and blue of each; none where nothing says them.
    """

    names: tuple[str, ...] = ()
    colors: tuple[tuple[int, int, int], ...] = ()


def is_table(path: str) -> bool:
    """Whether a file is called as one that names classes."""
    return path.rpartition("/")[2].lower() in _FORMS


def read_table(text: str, path: str) -> Classes | None:
    """The classes that a file of such a name states; None of a file that states other things.

    Raises:
        ConfigError: A class or colour is there twice, or there are too many.
    """
    rows = [line for line in map(str.strip, text.splitlines()) if line]
    found = _FORMS[path.rpartition("/")[2].lower()](rows) if rows else None
    if found is None or not found.names:
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
    """labelme's first line is of the pixels that are ignored, which have no number."""
    return Classes(tuple(rows[rows[:1] == ["__ignore__"] :]))


def _csv(rows: Sequence[str]) -> Classes | None:
    """A table with a header, of names and their colours or numbers."""
    try:
        header, *cells = csv.reader(rows, skipinitialspace=True)
    except csv.Error:
        return None
    columns = {each.strip().lower(): place for place, each in enumerate(header)}
    name = next((columns[each] for each in columns if each in _NAMES), None)
    number = next((columns[each] for each in columns if each in _NUMBERS), None)
    color = next((each for each in _COLORS if columns.keys() >= set(each)), None)
    places = [columns[each] for each in color] if color else [number]
    if name is None or None in places or any(len(row) != len(header) for row in cells):
        return None
    found = [
        (row[name].strip(), *(row[place].strip() for place in places if place is not None))
        for row in cells
    ]
    return _of_colors(found) if color else _numbered(found)


def _color_lines(rows: Sequence[str]) -> Classes | None:
    found = filter(None, map(_COLOR_LINE.fullmatch, rows))
    return _of_colors([(match[4], match[1], match[2], match[3]) for match in found])


def _cvat(rows: Sequence[str]) -> Classes | None:
    found = filter(None, map(_CVAT_LINE.fullmatch, rows))
    return _of_colors([(match[1], match[2], match[3], match[4]) for match in found])


def _ade(rows: Sequence[str]) -> Classes | None:
    """ADE20K's table has a number, three shares and the names of each class, from 1."""
    cells = [row.split("\t") for row in rows[1:]]
    names = [row[-1].split(",")[0].strip() for row in cells]
    again = {name for name, count in Counter(names).items() if count > 1}
    unique = [
        (f"{name} {row[0]}" if name in again else name, row[0])
        for name, row in zip(names, cells, strict=True)
    ]
    return _numbered([("other", "0"), *unique])


def _of_colors(rows: Sequence[Sequence[str]]) -> Classes | None:
    """Of (name, red, green, blue)."""
    if not all(_LEVEL.fullmatch(text) and int(text) < 256 for row in rows for text in row[1:]):
        return None
    colors = tuple((int(red), int(green), int(blue)) for _, red, green, blue in rows)
    return Classes(tuple(name.strip() for name, *_ in rows), colors)


def _numbered(rows: Sequence[Sequence[str]]) -> Classes | None:
    """Of (name, number); numbers without a name are called after themselves."""
    if not all(_LEVEL.fullmatch(text) for _, text in rows):
        return None
    names = {int(text): name for name, text in rows}
    if len(names) < len(rows):
        return None
    return Classes(tuple(names.get(each, str(each)) for each in range(max(names, default=-1) + 1)))


_FORMS: Mapping[str, Callable[[Sequence[str]], Classes | None]] = {
    "class_dict.csv": _csv,
    "_classes.csv": _csv,
    "classes.csv": _csv,
    "labels.csv": _csv,
    "label_colors.txt": _color_lines,
    "labelmap.txt": _cvat,
    "classes.txt": _lines,
    "class_names.txt": _lines,
    "labels.txt": _lines,
    "codes.txt": _lines,
    "objectinfo150.txt": _ade,
}
