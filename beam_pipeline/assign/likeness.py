"""Finds near-duplicate images: perceptual hashes ("looks") differ in few bits.

If two 64-bit hashes differ in at most four bits, at least one of five parts is equal. So an image
is compared only with images that share a part with it.

No Beam here: worker processes import this module.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from beam_pipeline.assign import columns
from beam_pipeline.assign.placement import Int64s, SplitChooser
from beam_pipeline.batch import Examples

# 122 photographs, each shrunk or recompressed three times: seven of ten copies are within this
# distance, and the nearest unlike pair differs in 12.
_MAX_DISTANCE = 4
_BANDS, _BAND_BITS = 5, 13
# Hashes with a common part that each one is compared with, in sorted order: enough for all of them
# in a dataset of eight million evenly spread hashes.
_MOST_COMPARED = 1_024
# Groups named, and records named per group; all are counted.
_GROUPS_NAMED, _KEYS_NAMED = 100, 10
# Marks a group that replaces a split's name, for records whose split is chosen last.
_OPEN = "\0"
_ONES = np.array([number.bit_count() for number in range(256)], np.uint8)

# The columns of images; each row is a record:
#   look     its perceptual hash
#   place    its split, or its group until the split is chosen (`open_place`)
#   content  content_digest of columns.SCHEMA
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
    """A record that looks like others, with fields of SCHEMA."""

    key: str
    place: str
    content: bytes


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class NearGroup:
    """Records that look alike: the first keys, one per content, and their splits."""

    keys: tuple[str, ...]
    splits: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NearDuplicates:
    """Groups of records that look alike but do not all have equal content.

    Attributes:
        groups, records: Their numbers; records of equal content count once.
        across_splits: Number of groups in several splits.
        examples: The first groups by key, those in several splits before others.
    """

    groups: int = 0
    records: int = 0
    across_splits: int = 0
    examples: tuple[NearGroup, ...] = ()


class Joined(NamedTuple):
    """All groups, and the split chosen for each open place with one of their records."""

    found: NearDuplicates
    splits: Mapping[str, str]


NOTHING_JOINED = Joined(NearDuplicates(), {})


def looks_of(examples: Examples, places: Sequence[str]) -> pa.Table:
    """Return a table of the hashes of images in these places."""
    nothing = [None] * len(examples)
    stated = (examples.fields.get("look", nothing), examples.fields["key"], places)
    contents = map(columns.content_of, examples.fields["content_digest"])
    table = pa.Table.from_arrays(
        [
            pa.array(values, each.type)
            for values, each in zip((*stated, [*contents]), SCHEMA, strict=True)
        ],
        schema=SCHEMA,
    )
    return table.filter(table.column("look").is_valid())


def open_place(group: str) -> str:
    """Return the placeholder for a group's split until it is chosen."""
    return _OPEN + group


def split_at(place: str, joined: Mapping[str, str], chooser: SplitChooser) -> str:
    """Return the split of a place: stated, else from `joined`, else chosen by its group."""
    if not place.startswith(_OPEN):
        return place
    return joined.get(place) or chooser.split_of(place.removeprefix(_OPEN))


def with_splits(table: pa.Table, split_of: Callable[[str], str]) -> pa.Table:
    """Replace places by splits in records (`columns.SCHEMA`)."""
    places = table.column("split").combine_chunks().dictionary_encode()
    field = columns.SCHEMA.field("split")
    names = pa.array(map(split_of, places.dictionary.to_pylist()), field.type)
    number = columns.SCHEMA.get_field_index("split")
    return table.set_column(number, field, names.take(places.indices))


def by_band(table: pa.Table, buckets: int) -> Iterator[tuple[int, pa.Table]]:
    """Yield (bucket, its rows): every row is in one bucket for each part of its hash."""
    for band in range(_BANDS):
        keys = _parts(columns.numbers(table, "look"), band) % buckets
        for key, rows in columns.divide(table, keys):
            yield band * buckets + key, rows


def compare(table: pa.Table, band: int) -> Iterator[list[Alike]]:
    """Yield sets of similar records in a bucket, except sets with only one content."""
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
    """Yield index pairs of sorted hashes that share this part and differ in few bits."""
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
    """Join the sets of all buckets.

    Records of one group (`placement.group_of`) are in one set.

    Args:
        keep_together: Whether to put a set into one split: the one that the input states for its
            records, else that of its first group.
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
    """Describe a group by its first keys, with at least one from each split."""
    first = {split: number for number, split in reversed([*enumerate(splits)])}
    numbers = dict.fromkeys([*sorted(first.values()), *range(len(keys))])
    chosen = sorted(itertools.islice(numbers, _KEYS_NAMED))
    return NearGroup(tuple(keys[each] for each in chosen), tuple(splits[each] for each in chosen))


class _Sets(Generic[_T]):
    """Union-find over sets of values."""

    def __init__(self) -> None:
        self._nearer: dict[_T, _T] = {}

    def __contains__(self, value: _T) -> bool:
        return value in self._nearer

    def join(self, one: _T, other: _T) -> None:
        """Merge the sets of two values."""
        first = self._nearer.setdefault(self.first(other), self.first(other))
        self._nearer[self.first(one)] = first

    def first(self, value: _T) -> _T:
        """Return the representative of a value's set; the value itself if it was never joined."""
        while (nearer := self._nearer.get(value, value)) != value:
            self._nearer[value] = value = self._nearer.get(nearer, nearer)
        return value
