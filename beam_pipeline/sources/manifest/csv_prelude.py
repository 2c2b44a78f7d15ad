"""What lies above the header of a CSV file: a line of Excel's, comments, a title."""

import csv
import itertools
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from beam_pipeline.errors import ConfigError
from beam_pipeline.sources.paths import suffix

_SEPARATOR = re.compile(r"sep=(.)\s*", re.IGNORECASE)  # which Excel writes and takes
_COMMENT = "#"
_MOST = 1_000
_FEWEST_ROWS = 2


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
