"""Split, position and shard as pure functions of a record and the options.

- A record's split is a salted hash of its group, so a group is never in two splits.
- Its position is a salted hash of its key, a uniform 64-bit number: sorting by position
  is a shuffle that needs no other record.
- Its shard is the range of positions that contains it. The ranges are chosen once all records are
  counted by position, so that the shards of a split hold equal bytes.
- Splits stratified by class have their fraction of every class: the groups of a class are sorted by
  hash and divided by the fractions, so most groups keep the split of their hash;
  `SplitChooser.moved` lists the others.

No Beam here: worker processes import this module.
"""

import bisect
import dataclasses
import functools
import hashlib
import itertools
import re
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from beam_pipeline import kinds
from beam_pipeline.batch import Examples
from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.records import ClassLabel, Value, composed

Int64s = npt.NDArray[np.int64]

_POSITION_BITS = 64
# Shard boundaries are bin boundaries: 65,536 bins divide a split of 100 million records to within
# 1,500 records.
_BIN_BITS = 16
# Larger classes are divided only by hash: a tenth of 2,000 records is then 200 ± 13.
_MOST_RECORDS_OF_A_CLASS = 2_000
# Limits memory to 128 MB (8 bytes × this × the above); more classes are divided only by hash.
_MOST_CLASSES = 8_000


def _no_numbers() -> Int64s:
    return np.zeros(0, np.int64)


def _hash(salt: str, text: str) -> int:
    """Hash a text to a uniform 64-bit number (BLAKE2b)."""
    digest = _salted(salt).copy()
    digest.update(text.encode("utf-8", "surrogateescape"))
    return int.from_bytes(digest.digest(), "big")


@functools.lru_cache(8)
def _salted(salt: str) -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=8, key=salt.encode())


def group_of(examples: Examples, row: int, group_by: str) -> str:
    """Return the group that determines an example's split; RecordError if it lacks `group_by`."""
    if not group_by:
        return str(examples.field("group")[row] or examples.fields["content_digest"][row])
    if group_by.isdigit():
        key: str = examples.fields["key"][row]
        levels = key.split("/")
        if 1 <= int(group_by) <= len(levels):
            return levels[int(group_by) - 1]
        raise RecordError("no group", f"{key!r} has no level {group_by} for --group-by")
    features = examples.row(row)
    value = features.get(group_by)
    group = None if value is None else kinds.of(value).group(value)
    if group is None:
        raise RecordError(
            "no group",
            f"there is no column {group_by!r} for --group-by; there are {', '.join(features)}",
        )
    return group


def split_name(stated: str | None) -> str:
    """Convert a layout's split to a name for files and TFDS: "train-set" gives "train_set".

    Keeps letters and digits of every script; "" if no split is stated.

    Raises:
        RecordError: The stated name has no letter or digit.
    """
    if stated is None or not stated.strip():
        return ""
    if name := re.sub(r"\W+", "_", composed(stated)).strip("_"):
        return name
    raise RecordError(
        "unusable split", f"the split {stated!r} has no letter or digit; give it a name"
    )


def check_split_names(stated: Mapping[str, Collection[str]], chosen: Collection[str]) -> None:
    """Raise ConfigError if two splits, `stated` or `chosen` from train, would share a name."""
    for name, names in stated.items():
        if len(names) > 1:
            raise ConfigError(
                f"the splits {' and '.join(map(repr, sorted(names)))} of the input would both be "
                f"called {name!r}; rename one of them, or make them one"
            )
    if both := sorted(set(stated) & set(chosen) - {"train"}):
        raise ConfigError(
            f"--split takes {both[0]!r} from train, but the input has a split of that name; leave "
            "it out of --split, or give it another name"
        )


def split_hash(group: str, seed: int) -> int:
    """Return the hash that determines a group's split: a uniform 64-bit number."""
    return _hash(f"split {seed}", group)


def split_at_hash(group_hash: int, fractions: Mapping[str, float]) -> str:
    """Return the split of a hash, as a fraction within the cumulative `fractions`."""
    names = list(fractions)
    ends = list(itertools.accumulate(fractions.values()))
    point = group_hash / 2**_POSITION_BITS
    return names[min(bisect.bisect_right(ends, point), len(names) - 1)]


def hash_fraction(salt: str, text: str) -> float:
    """Hash a text to a uniform number from 0 to 1."""
    return _hash(salt, text) / float(2**_POSITION_BITS)


def position(key: str, seed: int) -> int:
    """Return a record's position in its split's order: a uniform 64-bit number."""
    return _hash(f"order {seed}", key)


def bins_of(positions: npt.NDArray[np.uint64]) -> Int64s:
    """Return the histogram bins of positions."""
    return (positions >> np.uint64(_POSITION_BITS - _BIN_BITS)).astype(np.int64)


@dataclasses.dataclass(slots=True)
class Histogram:
    """Number and bytes of a split's records by bin: int64 [n], bins ascending, none empty."""

    bins: Int64s = dataclasses.field(default_factory=_no_numbers)
    num_records: Int64s = dataclasses.field(default_factory=_no_numbers)
    num_bytes: Int64s = dataclasses.field(default_factory=_no_numbers)

    def add(self, bins: Int64s, num_records: Int64s, num_bytes: Int64s) -> None:
        """Add records: int64 [n] each; bins may repeat."""
        bins = np.concatenate((self.bins, bins))
        records = np.concatenate((self.num_records, num_records))
        sizes = np.concatenate((self.num_bytes, num_bytes))
        self.bins, place = np.unique(bins, return_inverse=True)
        self.num_records, self.num_bytes = np.zeros((2, len(self.bins)), np.int64)
        np.add.at(self.num_records, place, records)
        np.add.at(self.num_bytes, place, sizes)

    def merge(self, other: "Histogram") -> None:
        """Add all of `other`."""
        self.add(other.bins, other.num_records, other.num_bytes)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SplitPlan:
    """Division of one split into shards.

    Attributes:
        num_bytes: Approximate size of its shards in bytes.
        first_bins: The first bin of each shard; the first is 0.
        first_records: The number of each shard's first record, counted over the split.
    """

    num_records: int
    num_bytes: int
    first_bins: tuple[int, ...]
    first_records: tuple[int, ...]

    @property
    def num_shards(self) -> int:
        """Number of shards of the split."""
        return len(self.first_bins)

    def shards_of(self, positions: npt.NDArray[np.uint64]) -> Int64s:
        """Return the shard of each position: int64, in the shape of `positions`."""
        return np.searchsorted(self.first_bins, bins_of(positions), side="right") - 1


def plan_split(
    histogram: Histogram,
    num_shards: int | None,
    target_shard_bytes: int,
    uncounted_bytes: float = 0,
) -> SplitPlan:
    """Divide a split into shards of equal bytes, up to one bin.

    `num_shards` is at most the number of bins (`wanted_shards`); None derives it from
    `target_shard_bytes`, with `uncounted_bytes` per record added to those of the histogram.
    """
    bins, num_bins = histogram.bins, len(histogram.bins)
    ends = np.cumsum(histogram.num_bytes)
    total, num_records = int(ends[-1]), int(histogram.num_records.sum())
    num_bytes = max(0, round(total + uncounted_bytes * num_records))
    wanted = num_shards or round(num_bytes / target_shard_bytes)
    count = max(1, min(wanted, num_bins))
    cuts = [0]  # indices into bins
    for shard in range(1, count):
        nearest = int(np.searchsorted(ends, total * shard / count)) + 1
        # Leaves at least one bin for the previous shard, and one for each remaining shard.
        cuts.append(max(cuts[-1] + 1, min(nearest, num_bins - (count - shard))))
    first_bins = (0, *(int(bins[cut]) for cut in cuts[1:]))
    before = np.cumsum(histogram.num_records) - histogram.num_records
    return SplitPlan(
        num_records=num_records,
        num_bytes=num_bytes,
        first_bins=first_bins,
        first_records=tuple(int(before[cut]) for cut in cuts),
    )


def wanted_shards(
    num_shards: int | Mapping[str, int] | None, histograms: Mapping[str, Histogram]
) -> dict[str, int | None]:
    """Return the number of shards by split from `--num-shards`; None if bytes determine it.

    Raises:
        ConfigError: A split is unknown, or has too few records for so many shards.
    """
    splits = sorted(histograms)
    wanted: dict[str, int | None]
    if not isinstance(num_shards, Mapping):
        wanted = dict.fromkeys(splits, num_shards)
    elif unknown := sorted(set(num_shards) - set(splits)):
        raise ConfigError(
            f"--num-shards names split {unknown[0]!r}, but the data has {', '.join(splits)}; "
            "name one of those"
        )
    else:
        wanted = {split: num_shards.get(split) for split in splits}
    largest = {split: len(histogram.bins) for split, histogram in histograms.items()}
    if too_many := [split for split in splits if (wanted[split] or 0) > largest[split]]:
        fitting = ",".join(
            f"{split}={min(count, largest[split])}" for split, count in wanted.items() if count
        )
        split = too_many[0]
        raise ConfigError(
            f"--num-shards {wanted[split]} is more than the {largest[split]} shards that the "
            f"{histograms[split].num_records.sum()} records of {split} can fill; the most that "
            f"works is --num-shards {fitting}"
        )
    return wanted


def class_of(features: Mapping[str, Value]) -> str | None:
    """Return an example's only class: from feature "label", or the only feature with a class."""
    label = features.get("label")
    if isinstance(label, ClassLabel):
        return label.name
    labels = [value for value in features.values() if isinstance(value, ClassLabel)]
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
