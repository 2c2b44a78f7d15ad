"""Splits stratified by class: every split gets its fraction of every class.

Without stratification, a record's split depends only on the hash of its group. Here the groups of a
class are sorted by hash and divided by the fractions, so most groups keep the split of their hash;
`SplitChooser.moved` lists the others.

No Beam here: worker processes import this module.
"""

import bisect
import dataclasses
import itertools
from array import array
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from beam_pipeline.assign.placement import hash_fraction, split_at_hash, split_hash
from beam_pipeline.records import ClassLabel, Inspected

# Larger classes are divided only by hash: a tenth of 2,000 records is then 200 ± 13.
_MOST_RECORDS_OF_A_CLASS = 2_000
# Limits memory to 128 MB (8 bytes × this × the above); more classes are divided only by hash.
_MOST_CLASSES = 8_000


def class_of(record: Inspected) -> str | None:
    """Return a record's only class: from feature "label", or the only feature with a class."""
    label = record.features.get("label")
    if isinstance(label, ClassLabel):
        return label.name
    labels = [value for value in record.features.values() if isinstance(value, ClassLabel)]
    return labels[0].name if len(labels) == 1 else None


@dataclasses.dataclass(slots=True)
class Strata:
    """Hashes of the records' groups by class, independent of the order of `add` and `merge`.

    A class with too many records is None; if there are too many classes, none are kept.
    """

    hashes: dict[str, "array[int] | None"] = dataclasses.field(default_factory=dict)
    has_too_many_classes: bool = False

    def add(self, name: str, group_hash: int) -> None:
        """Add a record of a class."""
        self._extend(name, array("Q", [group_hash]))
        self._limit()

    def merge(self, other: "Strata") -> None:
        """Add the records of `other`."""
        self.has_too_many_classes |= other.has_too_many_classes
        for name, hashes in other.hashes.items():
            self._extend(name, hashes)
        self._limit()

    def _extend(self, name: str, more: "array[int] | None") -> None:
        known = self.hashes.setdefault(name, array("Q"))
        if known is None or more is None or len(known) + len(more) > _MOST_RECORDS_OF_A_CLASS:
            self.hashes[name] = None
        else:
            known.extend(more)

    def _limit(self) -> None:
        if self.has_too_many_classes or len(self.hashes) > _MOST_CLASSES:
            self.hashes, self.has_too_many_classes = {}, True


@dataclasses.dataclass(frozen=True, slots=True)
class SplitChooser:
    """Choose a group's split by its hash: from `moved`, else by the fractions."""

    fractions: Mapping[str, float]
    seed: int
    moved: Mapping[int, str] = dataclasses.field(default_factory=dict)

    def split_of(self, group: str) -> str:
        """Return the split of a group's records."""
        if len(self.fractions) == 1:
            return next(iter(self.fractions))
        group_hash = split_hash(group, self.seed)
        return self.moved.get(group_hash) or split_at_hash(group_hash, self.fractions)


def stratified(strata: Strata, fractions: Mapping[str, float], seed: int) -> SplitChooser:
    """Return a chooser that divides each class by the fractions.

    A split gets n × fraction of a class of n records, rounded up or down by the hash of the class
    name, so rare classes are not all rounded the same way. Classes are divided independently. A
    group with several classes counts for the first by name.
    """
    names = list(fractions)
    ends = list(itertools.accumulate(fractions.values()))
    classes = sorted(name for name, hashes in strata.hashes.items() if hashes)
    moved: dict[int, str] = {}
    for name, hashes, sizes in _groups_by_class(strata, classes):
        total, start = int(sizes.sum()), 0
        offset = hash_fraction(f"class {seed}", name)
        for group_hash, size in zip(hashes.tolist(), sizes.tolist(), strict=True):
            point = (start + offset * size) / total
            split = names[min(bisect.bisect_right(ends, point), len(names) - 1)]
            if split != split_at_hash(group_hash, fractions):
                moved[group_hash] = split
            start += size
    return SplitChooser(fractions, seed, moved)


def _groups_by_class(
    strata: Strata, classes: Sequence[str]
) -> Iterator[tuple[str, npt.NDArray[np.uint64], npt.NDArray[np.int64]]]:
    """Yield (class, hashes of its groups in ascending order, records of each group)."""
    hashes = np.concatenate(
        [np.empty(0, np.uint64), *(np.array(strata.hashes[name], np.uint64) for name in classes)]
    )
    lengths = [len(strata.hashes[name] or ()) for name in classes]
    numbers = np.repeat(np.arange(len(classes)), lengths)
    order = np.lexsort((numbers, hashes))
    groups, first, sizes = np.unique(hashes[order], return_index=True, return_counts=True)
    numbers = numbers[order][first]
    order = np.argsort(numbers, kind="stable")
    ends = np.searchsorted(numbers[order], np.arange(1, len(classes) + 1))
    for name, rows in zip(classes, np.split(order, ends), strict=False):  # the last part is empty
        if len(rows):
            yield name, groups[rows], sizes[rows]
