"""Splits stratified by class: every split gets its fraction of every class.

A record's plain split follows from the hash of its group only. Here the groups of a class are
put in the order of their hashes, and the order is cut by the fractions, so most groups keep their
plain split; those that do not are listed (`SplitChooser.moved`).

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

# A larger class is divided by hashes only: a tenth of 2,000 records is 200 ± 13 there.
_MOST_RECORDS_OF_A_CLASS = 2_000
# Bounds the memory to 128 MB (8 bytes × this × the above); more classes are divided by hashes only.
_MOST_CLASSES = 8_000


def class_of(record: Inspected) -> str | None:
    """The one class of a record: of its feature "label", or of the only feature with a class."""
    label = record.features.get("label")
    if isinstance(label, ClassLabel):
        return label.name
    labels = [value for value in record.features.values() if isinstance(value, ClassLabel)]
    return labels[0].name if len(labels) == 1 else None


@dataclasses.dataclass(slots=True)
class Strata:
    """Hashes of the groups of records, by class; equal in whatever parts and order they are added.

    A class of too many records has None; if there are too many classes, none is kept.
    """

    hashes: dict[str, "array[int] | None"] = dataclasses.field(default_factory=dict)
    has_too_many_classes: bool = False

    def add(self, name: str, group_hash: int) -> None:
        """Adds a record of a class."""
        self._extend(name, array("Q", [group_hash]))
        self._limit()

    def merge(self, other: "Strata") -> None:
        """Adds what `other` was given."""
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
    """Chooses the split of a group by its hash: from `moved`, else by the fractions."""

    fractions: Mapping[str, float]
    seed: int
    moved: Mapping[int, str] = dataclasses.field(default_factory=dict)

    def split_of(self, group: str) -> str:
        """Return the split of all records of a group."""
        if len(self.fractions) == 1:
            return next(iter(self.fractions))
        group_hash = split_hash(group, self.seed)
        return self.moved.get(group_hash) or split_at_hash(group_hash, self.fractions)


def stratified(strata: Strata, fractions: Mapping[str, float], seed: int) -> SplitChooser:
    """The chooser that divides each class by the fractions.

    A class of n records gets n × fraction of them into a split, rounded up or down by the hash of
    its name; so rare classes are not all rounded alike. Its division depends on no other class. A
    group of several classes counts for the first by name.
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
    """(class, hashes of its groups in ascending order, records of each group)."""
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
