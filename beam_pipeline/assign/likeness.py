"""Images that look alike: whose looks (`media.looks`) differ in few bits.

Of two looks that differ in at most four of their 64 bits, one of five parts is equal. So images are
compared only with those that have a part in common with them.

No Beam here: worker processes import this module.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from beam_pipeline.assign import columns
from beam_pipeline.assign.placement import Int64s
from beam_pipeline.assign.stratification import SplitChooser
from beam_pipeline.records import Inspected

# Of 122 photographs, each made smaller or another JPEG thrice, seven of ten differ in no more, of
# unlike ones the nearest in 12.
_MAX_DISTANCE = 4
_BANDS, _BAND_BITS = 5, 13
# Looks with a part in common that one is compared with, by their order: all of them in a dataset
# of eight million that are spread evenly.
_MOST_COMPARED = 1_024
# Groups, and records of one, that are named; all are counted.
_GROUPS_NAMED, _KEYS_NAMED = 100, 10
# Marks a group in place of a split's name, for records whose split is chosen last.
_OPEN = "\0"
_ONES = np.array([number.bit_count() for number in range(256)], np.uint8)

# The columns of images; each row is a record:
#   look     its perceptual hash
#   place    its split, or its group where the split is still to be chosen (`open_place`)
#   content  as columns.SCHEMA has it
SCHEMA = pa.schema(
    [
        ("look", pa.uint64()),
        ("key", pa.large_string()),
        ("place", pa.large_string()),
        ("content", columns.SCHEMA.field("content_digest").type),
    ]
)
_T = TypeVar("_T")


class Alike(NamedTuple):
    """A record that looks like others; as in SCHEMA."""

    key: str
    place: str
    content: bytes


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class NearGroup:
    """Records that look alike: the first of their keys, one of each content, and their splits."""

    keys: tuple[str, ...]
    splits: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NearDuplicates:
    """Groups of records that look alike, of equal content not all.

    Attributes:
        groups, records: How many; of records of equal content only the first counts.
        across_splits: Groups in several splits.
        examples: The first by key, those in several splits before others.
    """

    groups: int = 0
    records: int = 0
    across_splits: int = 0
    examples: tuple[NearGroup, ...] = ()


class Joined(NamedTuple):
    """All groups, and the split of each open place that has one of their records."""

    found: NearDuplicates
    splits: Mapping[str, str]


NOTHING_JOINED = Joined(NearDuplicates(), {})


def looks_of(records: Iterable[tuple[Inspected, str, int]]) -> bytes:
    """Return the table of looks for (inspected record, place, position); b"" without records."""
    rows = [
        (record.look, record.key, place, columns.content_of(record.content_digest))
        for record, place, _ in records
        if record.look is not None
    ]
    if not rows:
        return b""
    values = zip(*rows, strict=True)
    arrays = [pa.array(some, feature.type) for some, feature in zip(values, SCHEMA, strict=True)]
    return columns.to_bytes(pa.Table.from_arrays(arrays, schema=SCHEMA))


def open_place(group: str) -> str:
    """The placeholder for the split of a group until it is chosen."""
    return _OPEN + group


def split_at(place: str, joined: Mapping[str, str], chooser: SplitChooser) -> str:
    """The split of a place: as stated, as `joined`, or by its group."""
    if not place.startswith(_OPEN):
        return place
    return joined.get(place) or chooser.split_of(place.removeprefix(_OPEN))


def with_splits(table: pa.Table, split_of: Callable[[str], str]) -> pa.Table:
    """Return records (`columns.SCHEMA`) with splits instead of places."""
    places = table.column("split").combine_chunks().dictionary_encode()
    field = columns.SCHEMA.field("split")
    names = pa.array(map(split_of, places.dictionary.to_pylist()), field.type)
    number = columns.SCHEMA.get_field_index("split")
    return table.set_column(number, field, names.take(places.indices))


def by_band(table: pa.Table, buckets: int) -> Iterator[tuple[int, pa.Table]]:
    """(bucket, its rows): every row is in a bucket for each part of its look."""
    for band in range(_BANDS):
        keys = _parts(columns.numbers(table, "look"), band) % buckets
        for key, rows in columns.divide(table, keys):
            yield band * buckets + key, rows


def compare(table: pa.Table, band: int) -> Iterator[list[Alike]]:
    """Sets of records of a bucket that look alike; not of those that are all of one content."""
    table = table.sort_by([("key", "ascending")])
    looks, number = np.unique(columns.numbers(table, "look"), return_inverse=True)
    sets = _Sets[int]()
    for one, other in _near(looks, band):
        sets.join(one, other)
    together: dict[int, list[Alike]] = {}
    rows = (table.column(name).to_pylist() for name in ("key", "place", "content"))
    counts = np.bincount(number)
    for look, row in zip(number.tolist(), zip(*rows, strict=True), strict=True):
        if counts[look] > 1 or look in sets:
            together.setdefault(sets.first(look), []).append(Alike(*row))
    yield from (rows for rows in together.values() if len({row.content for row in rows}) > 1)


def _near(looks: npt.NDArray[np.uint64], band: int) -> Iterator[tuple[int, int]]:
    """The numbers of looks, which ascend, that have that part in common and are near."""
    order = np.argsort(_parts(looks, band), kind="stable")
    looks = looks[order]
    parts = _parts(looks, band)
    left = np.arange(len(looks))
    for step in range(1, _MOST_COMPARED):
        left = left[: np.searchsorted(left, len(looks) - step)]
        left = left[parts[left] == parts[left + step]]
        if not len(left):
            return
        bits = (looks[left] ^ looks[left + step]).view(np.uint8).reshape(-1, 8)
        near = left[_ONES[bits].sum(axis=1) <= _MAX_DISTANCE]
        yield from zip(order[near].tolist(), order[near + step].tolist(), strict=True)


def _parts(looks: npt.NDArray[np.uint64], band: int) -> Int64s:
    shifted = looks >> np.uint64(band * _BAND_BITS)
    return (shifted & np.uint64((1 << _BAND_BITS) - 1)).astype(np.int64)


def join(
    sets_alike: Iterable[list[Alike]], chooser: SplitChooser, *, keep_together: bool
) -> Joined:
    """Join the sets that all buckets found.

    A group of records (`placement.group_of`) is in one set.

    Args:
        keep_together: Whether a set is in one split: that of its records that the input states,
            else as its first group has it.
    """
    rows: dict[str, Alike] = {}
    sets = _Sets[tuple[bool, str]]()
    for alike in sets_alike:
        for row in alike:
            rows[row.key] = min(row, rows.get(row.key, row))
            sets.join((False, alike[0].key), (False, row.key))
            if row.place.startswith(_OPEN):
                sets.join((False, row.key), (True, row.place))
    together: dict[tuple[bool, str], list[Alike]] = {}
    for key in sorted(rows):
        together.setdefault(sets.first((False, key)), []).append(rows[key])
    splits: dict[str, str] = {}
    groups = []
    records = across = 0
    for alike in together.values():
        places = {row.place for row in alike}
        if keep_together:
            stated = min((each for each in places if not each.startswith(_OPEN)), default="")
            split = stated or split_at(min(places), {}, chooser)
            splits |= {place: split for place in places if place.startswith(_OPEN)}
        first = {row.content: row for row in reversed(alike)}
        named = sorted(first.values())
        in_splits = [split_at(row.place, splits, chooser) for row in named]
        records += len(named)
        across += len(set(in_splits)) > 1
        groups.append(_named([row.key for row in named], in_splits))
    groups.sort(key=lambda group: (len(set(group.splits)) == 1, group))
    near = NearDuplicates(
        groups=len(groups),
        records=records,
        across_splits=across,
        examples=tuple(groups[:_GROUPS_NAMED]),
    )
    return Joined(near, splits)


def _named(keys: list[str], splits: list[str]) -> NearGroup:
    """A group by its first keys, among which one of each split is."""
    first = {split: number for number, split in reversed([*enumerate(splits)])}
    numbers = dict.fromkeys([*sorted(first.values()), *range(len(keys))])
    chosen = sorted(itertools.islice(numbers, _KEYS_NAMED))
    return NearGroup(tuple(keys[each] for each in chosen), tuple(splits[each] for each in chosen))


class _Sets(Generic[_T]):
    """Sets of values that are joined two by two."""

    def __init__(self) -> None:
        self._nearer: dict[_T, _T] = {}

    def __contains__(self, value: _T) -> bool:
        return value in self._nearer

    def join(self, one: _T, other: _T) -> None:
        """Makes the sets of two values one."""
        first = self._nearer.setdefault(self.first(other), self.first(other))
        self._nearer[self.first(one)] = first

    def first(self, value: _T) -> _T:
        """The representative of a value's set; the value itself if it was never joined."""
        while (nearer := self._nearer.get(value, value)) != value:
            self._nearer[value] = value = self._nearer.get(nearer, nearer)
        return value
