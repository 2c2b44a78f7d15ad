"""The top of a CSV file: what lies above its header, whether it has one, and names where not."""

import csv
import itertools
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from beam_pipeline.errors import ConfigError
from beam_pipeline.sources.columns.kinds import kind_of_text
from beam_pipeline.sources.paths import kind_of_all, media_kind, stem, suffix
from beam_pipeline.sources.references import name_of
from tfrecord_dataset.split_names import is_of_training, is_split

_FRACTION = re.compile(r"-?[0-9]*\.[0-9]+|-[0-9]+")
_WHOLE = re.compile("[0-9]{1,18}")
_YEARS = range(1000, 3000)
_RUN = re.compile("[0-9]+|[^0-9]+")
# Dates and numbered names have as many digits, letters and signs in every row.
_FEWEST_DIGITS, _FEWEST_ROWS = 2, 2
_ID = re.compile(r"(?i)id\d*$")
_WORDS = 5  # of a sentence
_COLUMNS_NAMED, _MAX_TABLES = 5, 3
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?")
_CORNERS = ("xmin", "ymin", "xmax", "ymax")
_SIDES = ("x", "y", "w", "h")
_WORDS_OF_TEXT = 4  # on average
_LONGEST = 3  # digits of a class


def cell_of_data(names: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[str, str] | None:
    """A cell of the first row that names no column, and why; None where all may be names.

    Args:
        names: The cells of the first row.
        rows: Some below it, with as many.
    """
    rows = [row for row in rows if len(row) == len(names) and [*map(str.strip, row)] != [*names]]
    found = next((name for name in names if media_kind(name) or _FRACTION.fullmatch(name)), "")
    if found:
        return found, "it is a number or a file"
    if number := next(_stray_numbers(names), ""):
        return (
            number,
            "it is a number, and numbers name columns where each is larger than the one before",
        )
    columns = [[row[at].strip() for row in rows] for at in range(len(names))]
    for name, column in zip(names, columns, strict=True):
        values = list(filter(None, column))
        if name and values and (why := _like(name, values, names)):
            return name, why
    return None


def _stray_numbers(names: Sequence[str]) -> Iterator[str]:
    """Numbers that are not in the order of names such as pixels, years and depths."""
    numbers = [(int(name), name) for name in names if _WHOLE.fullmatch(name)]
    return (other for (one, _), (two, other) in pairwise(numbers) if two <= one)


def _like(name: str, values: Sequence[str], names: Sequence[str]) -> str:
    """Why a cell is as the values below it; "" where it may be their name."""
    if _WHOLE.fullmatch(name):
        numbers = [int(each) for each in names if _WHOLE.fullmatch(each)]
        may_name = len(numbers) > 2 or all(number in _YEARS for number in numbers)
        if may_name or str not in map(kind_of_text, values):
            return "" if may_name else "numbers are below it"
    if name in values and len(set(values)) < len(values):
        return "it occurs again below"
    if name.endswith((".", "!")) and _is_sentence(name):
        sentences = sum(map(_is_sentence, values))
        return "it is a sentence, as those below it" if sentences * 2 > len(values) else ""
    if sum(map(str.isdigit, name)) >= _FEWEST_DIGITS and len(values) >= _FEWEST_ROWS:
        alike = {_shape(each) for each in values} == {_shape(name)}
        return "the values below it are written alike" if alike else ""
    return ""


def _is_sentence(text: str) -> bool:
    return len(text.split()) >= _WORDS


def _shape(text: str) -> tuple[tuple[bool, int | str], ...]:
    """Its runs: of digits their number, of others the text: "LJ001-0002" as "LJ001-0001"."""
    return tuple((run.isdigit(), len(run) if run.isdigit() else run) for run in _RUN.findall(text))


def check_headers(
    headers: Mapping[str, Sequence[str]], may_lack: Collection[str], label: str = ""
) -> None:
    """Raises ConfigError where a table lacks columns that another one has, but these.

    Args:
        headers: By table.
        may_lack: Columns that a table may lack, in lower case or as they are.
        label: The column that is the label, if that is known.
    """
    headers = {table: header for table, header in headers.items() if header}
    having: dict[tuple[str, ...], list[str]] = {}
    for name in dict.fromkeys(name for header in headers.values() for name in header if name):
        if name.strip().lower() not in may_lack and name not in may_lack:
            tables = tuple(table for table, header in headers.items() if name in header)
            having.setdefault(tables, []).append(name)
    having.pop((*headers,), None)
    if not having:
        return
    tables, names = max(having.items(), key=lambda each: any(map(_is_of_training, each[0])))
    without = [table for table in headers if table not in tables]
    shown = ", ".join([*map(repr, names[:_COLUMNS_NAMED]), *["…"][: len(names) > _COLUMNS_NAMED]])
    each, of_all, are = ("one", "them", "s {} are") if names[1:] else ("it", "it", " {} is")
    likely = next((name for name in names if not _ID.search(name)), names[0])
    if_label = f"if {each} is the label, pass --label-column {shlex.quote(likely)}; else "
    left_out = " ".join(
        f"--ignore {shlex.quote(name_of(table))}" for table in without[:_MAX_TABLES]
    )
    alone = "read one table alone" if any(map(_is_of_training, without)) else f"pass {left_out}"
    raise ConfigError(
        f"the column{are.format(shown)} in {', '.join(tables[:_MAX_TABLES])}, but not in "
        f"{', '.join(without[:_MAX_TABLES])}: {'' if label else if_label}leave {of_all} out by "
        f"--ignore-columns {shlex.quote(','.join(names))}, or {alone}"
    )


def _is_of_training(table: str) -> bool:
    return is_of_training(stem(table))


_SEPARATOR = re.compile(r"sep=(.)\s*", re.IGNORECASE)  # which Excel writes and takes
_COMMENT = "#"
_MOST = 1_000


class Prelude(NamedTuple):
    """The lines above the header.

    Attributes:
        num_lines: How many they are.
        delimiter: That they state; "" where they state none.
        first: The header, without the sign of a comment; "" of an empty file.
        row: The first line below them that is no comment.
    """

    num_lines: int
    delimiter: str
    first: str
    row: str


def prelude_of(lines: Iterator[str], delimiters: str) -> Prelude:
    """What lies above the header, of which `lines` have those behind it afterwards.

    Comments are lines of "#" that have other fields than the first line behind them, of which the
    last is the header if it has as many.
    """
    first = next(lines, "")
    if found := _SEPARATOR.fullmatch(first):
        first = next(lines, "")
        return Prelude(1, found[1], first, first)
    if not first.startswith(_COMMENT):
        return Prelude(0, "", first, first)
    comments, row = [first], ""
    for line in itertools.islice(lines, _MOST):
        if not line.startswith(_COMMENT):
            row = line
            break
        comments.append(line)
    delimiter = max(delimiters, key=row.count)
    if (
        not row.strip()
        or delimiter not in row
        or _fields(first, delimiter) == (width := _fields(row, delimiter))
    ):
        return Prelude(0, "", first, first)
    if _fields(comments[-1], delimiter) == width:
        return Prelude(len(comments) - 1, delimiter, comments[-1].lstrip("# "), row)
    return Prelude(len(comments), delimiter, row, row)


def _fields(line: str, delimiter: str) -> int:
    return len(next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), []))


def check_title(path: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Raises ConfigError where the first row is a title alone, and the second the header."""
    if len(rows) < _FEWEST_ROWS or not header[0] or any(header[1:]):
        return
    names, values = rows[:_FEWEST_ROWS]
    is_header = all(names) and not any(map(_is_number, names)) and any(map(_is_number, values))
    if len(names) > _FEWEST_ROWS and is_header and len(values) == len(names):
        table = shlex.quote(f"{path.removesuffix(f'.{suffix(path)}')}-without-title.csv")
        raise ConfigError(
            f"{path} begins with {header[0]!r} alone, a title above the header: leave it out by "
            f"tail -n +2 {shlex.quote(path)} > {table}, and give that"
        )


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\s*[+-]?[0-9]+([.,][0-9]*)?\s*", text) is not None


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
        if sum(len(value.split()) for value in columns[at]) >= _WORDS_OF_TEXT * len(columns[at]):
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
    return all(map(NUMBER.fullmatch, column))


def _is_class(text: str) -> bool:
    return text.isdecimal() and len(text) <= _LONGEST


def _box(columns: Sequence[Sequence[str]]) -> Sequence[str]:
    boxes = [[*map(float, box)] for box in zip(*columns, strict=False)]
    are_corners = all(right > left and lower > upper for left, upper, right, lower in boxes)
    return _CORNERS if are_corners else _SIDES
