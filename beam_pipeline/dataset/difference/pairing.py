"""Records of two datasets, paired by their keys: what was added, removed, changed and moved."""

import contextlib
import dataclasses
import itertools
import operator
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from beam_pipeline.dataset.difference.rows import Row, parts_of
from beam_pipeline.errors import BeamTFRecordsError, ConfigError

EXAMPLES = 5
# In `Paired.changed_keys`, of records whose ids alone differ.
ID = -1
# Records of one key that differ from each other.
_MOST_OF_A_KEY = 100
_CACHE_KIB = 64 << 10

Groups = Iterator[Iterator[tuple[Row, int]]]
"""Rows that are alike, with their side: 0 of the old dataset, 1 of the new one."""


@dataclasses.dataclass(slots=True, kw_only=True)
class Paired:
    """Counts of records, and the first of each kind.

    Attributes:
        added, removed: Records that only the new, or only the old dataset has, by split.
        changed: Records of the same key that hold something else.
        changed_keys: Of these, how many differ in each key of the Example, by its number.
        renamed: Records of the same content and split, but another key.
        moved: Records by their old and their new split, where those differ.
        examples: Of each of the five kinds, the first rows.
    """

    added: Counter[str] = dataclasses.field(default_factory=Counter)
    removed: Counter[str] = dataclasses.field(default_factory=Counter)
    changed: int = 0
    changed_keys: Counter[int] = dataclasses.field(default_factory=Counter)
    renamed: int = 0
    moved: Counter[tuple[str, str]] = dataclasses.field(default_factory=Counter)
    examples: dict[str, list[Row]] = dataclasses.field(default_factory=dict)

    def note(self, kind: str, row: Row, count: int) -> None:
        """Keeps an example."""
        kept = self.examples.setdefault(kind, [])
        kept += [row] * min(count, EXAMPLES - len(kept))


class RowTable:
    """Rows of two datasets in a file that has no name, by key; memory does not grow with them."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect("", isolation_level=None)
        for pragma in ("journal_mode = OFF", "temp_store = FILE", f"cache_size = -{_CACHE_KIB}"):
            self._connection.execute(f"PRAGMA {pragma}")
        columns = "key BLOB, split TEXT, number INT, whole BLOB, id BLOB, parts BLOB, side INT"
        self._connection.execute(f"CREATE TABLE rows ({columns})")
        self._connection.execute("BEGIN")

    def add(self, rows: Iterable[Row], side: int) -> None:
        """Adds the rows of the old dataset (side 0) or of the new one (1)."""
        self.add_all((row, side) for row in rows)

    def add_all(self, rows: Iterable[tuple[Row, int]]) -> None:
        """Adds rows with their sides."""
        with _told():
            self._connection.executemany(
                "INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?)",
                ((*row, side) for row, side in rows),
            )

    def groups(self, columns: str = "key") -> Groups:
        """The rows that are alike in columns, with their side, in the order of these columns."""
        alike = operator.attrgetter(*columns.split(", "))
        with _told():
            order = f"{columns}, side, split, number"
            found = self._connection.execute(f"SELECT * FROM rows ORDER BY {order}")
            rows = ((Row(*values), side) for *values, side in found)
            for _, group in itertools.groupby(rows, lambda each: alike(each[0])):
                yield group

    def close(self) -> None:
        """Gives its file back."""
        self._connection.close()


@contextlib.contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise BeamTFRecordsError(
            f"the table of both datasets' records cannot be kept: {error}; it takes some hundred "
            "bytes a record, in the folder that TMPDIR names"
        ) from error


def pair(rows: RowTable, with_ids: bool) -> Paired:
    """Pairs the rows of each key, and rows of keys that only one dataset has by what they hold.

    Args:
        rows: Of both datasets.
        with_ids: Whether rows whose ids differ are changed.

    Raises:
        ConfigError: Too many records have one key, which is none then.
    """
    paired = Paired()
    with contextlib.closing(RowTable()) as others:
        others.add_all(_pair_keys(rows.groups(), with_ids, paired))
        for group in others.groups("whole, id" if with_ids else "whole"):
            _pair_contents(group, paired)
    return paired


def _pair_keys(groups: Groups, with_ids: bool, paired: Paired) -> Iterator[tuple[Row, int]]:
    """Pairs rows of the same key; yields those that have no partner.

    First those that are equal, then those that only moved, then others of the same split.
    """
    for group in groups:
        olds, news = _sides(group, with_ids)
        both = list(itertools.product(olds, news))
        same_split = [(old, new) for old, new in both if old[0] == new[0]]
        equal = [(old, new) for old, new in same_split if old == new]
        moved = [(old, new) for old, new in both if old[1:] == new[1:]]
        for old, new in (*equal, *moved, *same_split, *both):
            count = min(olds[old][0], news[new][0])
            olds[old][0] -= count
            news[new][0] -= count
            if count and old != new:
                is_changed = old[1:] != new[1:]
                _note_pair(paired, olds[old][1], news[new][1], count, is_changed=is_changed)
        for side, rows in enumerate((olds, news)):
            for count, row in rows.values():
                yield from itertools.repeat((row, side), count)


# How many rows there are of each content, and the first of them.
_Side = dict[tuple[str, bytes, bytes], list[Any]]


def _sides(group: Iterable[tuple[Row, int]], with_ids: bool) -> tuple[_Side, _Side]:
    """The old and the new rows of a key."""
    sides: tuple[_Side, _Side] = ({}, {})
    for row, side in group:
        content = (row.split, row.whole, row.id if with_ids else b"")
        sides[side].setdefault(content, [0, row])[0] += 1
        if len(sides[side]) > _MOST_OF_A_KEY:
            key = row.key.decode(errors="replace")
            raise ConfigError(
                f"more than {_MOST_OF_A_KEY} records that differ have the key {key!r}; give a "
                "--key that tells records apart"
            )
    return sides


def _note_pair(paired: Paired, old: Row, new: Row, count: int, *, is_changed: bool) -> None:
    if is_changed:
        paired.changed += count
        if old.whole == new.whole:
            paired.changed_keys[ID] += count
        before, after = parts_of(old.parts), parts_of(new.parts)
        for number in before.keys() | after.keys():
            if before.get(number) != after.get(number):
                paired.changed_keys[number] += count
        paired.note("changed", new, count)
    if old.split != new.split:
        paired.moved[old.split, new.split] += count
        paired.note("moved", new, count)


def _pair_contents(group: Iterable[tuple[Row, int]], paired: Paired) -> None:
    """Rows that hold the same under keys that only one dataset has: of no partner but these."""
    counts: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    first: dict[tuple[int, str], Row] = {}
    for row, side in group:
        counts[side][row.split] += 1
        first.setdefault((side, row.split), row)
    olds, news = counts
    for old, new in sorted(itertools.product(olds, news), key=lambda both: both[0] != both[1]):
        if not (count := min(olds[old], news[new])):
            continue
        olds[old] -= count
        news[new] -= count
        if old == new:
            paired.renamed += count
        else:
            paired.moved[old, new] += count
        paired.note("renamed" if old == new else "moved", first[1, new], count)
    for side, (kind, total) in enumerate((("removed", paired.removed), ("added", paired.added))):
        for split, count in (+counts[side]).items():
            total[split] += count
            paired.note(kind, first[side, split], count)
