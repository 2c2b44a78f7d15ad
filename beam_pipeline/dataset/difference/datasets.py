"""Diff: the records of two datasets by their keys, and what the datasets state of them."""

import contextlib
import dataclasses
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apache_beam.options.pipeline_options import PipelineOptions

import tfrecord_dataset
from beam_pipeline.dataset.difference.pairing import ID, Paired, RowTable, pair
from beam_pipeline.dataset.difference.rows import KeyNumbers, Row, RowReader
from beam_pipeline.dataset.opening import Dataset, check_unchanged, is_dataset
from beam_pipeline.dataset.opening import open as open_dataset
from beam_pipeline.describe.index import rows_file
from beam_pipeline.running.job import watched
from beam_pipeline.running.progress import Meter
from tfrecord_dataset.feature import Feature
from tfrecord_dataset.python_words import speaks_python
from tfrecord_dataset.shown_text import short_repr

Changes = dict[str, list[Any]]
"""The old and the new value by name; None where there is none."""


def feature_changes(old: Mapping[str, Feature], new: Mapping[str, Feature]) -> Changes:
    """Features that only one has, by their name, and fields of others as `image.dtype`.

    Classes are told by `class_changes`.
    """
    changes: Changes = {}
    for name in sorted(old.keys() | new.keys()):
        before, after = (_fields(each.get(name)) for each in (old, new))
        if before and after:
            changes |= {f"{name}.{field}": both for field, both in _differing(before, after)}
        else:
            changes[name] = [before.get("kind"), after.get("kind")]
    return changes


def _fields(feature: Feature | None) -> dict[str, Any]:
    if feature is None:
        return {}
    return {name: value for name, value in feature.to_json().items() if name != "classes"}


def class_changes(
    old: Mapping[str, Feature], new: Mapping[str, Feature]
) -> dict[str, dict[str, Any]]:
    """By the features that both have: the classes that only one has, and others' new numbers.

    "added" and "removed" are names, "renumbered" the old and the new number by name.
    """
    changes = {}
    for name in sorted(old.keys() & new.keys()):
        before, after = (_numbers(each[name].classes) for each in (old, new))
        if before != after:
            common = [each for each in before if each in after]
            changes[name] = {
                "added": [each for each in after if each not in before],
                "removed": [each for each in before if each not in after],
                "renumbered": {
                    each: [before[each], after[each]]
                    for each in common
                    if before[each] != after[each]
                },
            }
    return changes


def _numbers(classes: Sequence[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(classes)}


def option_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Changes:
    """Options that decide what a build writes, but its name, with parts as `image.max_side`."""
    return dict(_differing(_flat(old), _flat(new)))


def _flat(options: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in options.items():
        if name in ("image", "audio") and isinstance(value, Mapping):
            flat |= {f"{name}.{part}": each for part, each in value.items()}
        elif name not in ("name", "version"):
            flat[name] = value
    return flat


def _differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    for name in sorted(old.keys() | new.keys()):
        # An option from before it was, or that says nothing, is left out.
        if (old.get(name) or None) != (new.get(name) or None):
            yield name, [old.get(name), new.get(name)]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What differs between two datasets; it is false if nothing does.

    Attributes:
        old, new: Where they lie.
        num_records: The old and the new number of records, by split.
        has_keys: Whether records have keys, and so may be changed; otherwise a record is found by
            all that it holds.
        added, removed: Records that only the new, or only the old dataset has, by split.
        changed: Records of the same key that hold something else.
        changed_keys: How many of these differ in each key of the Example.
        renamed: Records under another key that hold the same.
        moved: Records that are in another split, as `(old split, new split)`.
        examples: Of "added", "removed", "changed", "renamed" and "moved" the first records, by
            their keys, or by split and number.
        features, options: The old and the new value by name. Features are compared if both
            datasets or none have a description, options if both were built.
        classes: Classes added, removed and renumbered, by feature.
    """

    old: str
    new: str
    num_records: Mapping[str, tuple[int, int]]
    has_keys: bool
    added: Mapping[str, int]
    removed: Mapping[str, int]
    changed: int
    changed_keys: Mapping[str, int]
    renamed: int
    moved: Mapping[tuple[str, str], int]
    examples: Mapping[str, tuple[str, ...]]
    features: Changes
    classes: Mapping[str, Mapping[str, Any]]
    options: Changes

    def __repr__(self) -> str:
        return short_repr(self)

    def __bool__(self) -> bool:
        records = (self.added, self.removed, self.changed, self.renamed, self.moved)
        return any((*records, self.features, self.classes, self.options))


@speaks_python
def diff(old: str | os.PathLike[str], new: str | os.PathLike[str], *, key: str = "") -> Difference:
    """Compares two datasets record by record; any that can be opened, local or on a store.

    Records are found by their keys: those of the index, or `key`. Existing Examples have none of
    their own: without `key` they are found by all that they hold. Shards whose sha256 is stated to
    be the same are not read. Ids that only count the records (docs/format.md) are not compared.
    Memory does not grow with the datasets; the disk that TMPDIR names takes some hundred bytes a
    record.

        >>> difference = beam_pipeline.diff("data/cells", "data/cells")
        >>> bool(difference), difference.changed
        (False, 0)

    Args:
        old: A dataset's directory, or a file or pattern of files.
        new: Another one.
        key: The Example's key that tells records apart, such as `image/filename`.

    Raises:
        ConfigError: There is no dataset, or `key` does not tell its records apart.
        DatasetDamagedError: A record or an index cannot be read.
        DatasetChangedError: A dataset was built again meanwhile.
    """
    datasets = [tfrecord_dataset.open(path) for path in (old, new)]
    infos = [open_dataset(each.path) if is_dataset(each.path) else None for each in datasets]
    has_index = all(info is not None and not info.holds_existing_examples for info in infos)
    found_by = key or ("" if has_index else None)
    numbers = KeyNumbers()
    readers = [
        RowReader(dataset, info, found_by, numbers)
        for dataset, info in zip(datasets, infos, strict=True)
    ]
    skipped = _same_shards(infos, with_index=found_by == "")
    with watched(PipelineOptions([])) as job, contextlib.closing(RowTable()) as table:
        for side, reader in enumerate(readers):
            table.add(reader.rows(skipped[side], Meter(job.progress_dir, "diff")), side)
        with_ids = not all(reader.counts_ids for reader in readers)
        paired = pair(table, with_ids)
    for info in filter(None, infos):
        check_unchanged(info)
    configs = [info.metadata["config"] if info and not info.is_adopted else None for info in infos]
    before, after = configs
    alike = (infos[0] is None) == (infos[1] is None)
    features = [each.features if alike else {} for each in datasets]
    counts = [{split: each.num_records(split) for split in each.splits} for each in datasets]
    return Difference(
        old=datasets[0].path,
        new=datasets[1].path,
        num_records={
            split: (counts[0].get(split, 0), counts[1].get(split, 0))
            for split in sorted(counts[0].keys() | counts[1].keys())
        },
        has_keys=found_by is not None,
        **_told(paired, numbers, has_keys=found_by is not None),
        features=feature_changes(*features),
        classes=class_changes(*features),
        options={} if before is None or after is None else option_changes(before, after),
    )


def _told(paired: Paired, numbers: KeyNumbers, *, has_keys: bool) -> dict[str, Any]:
    names = numbers.names() | {ID: "image/source_id"}

    def shown(row: Row) -> str:
        return row.key.decode(errors="replace") if has_keys else f"{row.split} {row.number}"

    return {
        "added": dict(sorted(paired.added.items())),
        "removed": dict(sorted(paired.removed.items())),
        "changed": paired.changed,
        "changed_keys": {names[key]: count for key, count in paired.changed_keys.most_common()},
        "renamed": paired.renamed,
        "moved": dict(sorted(paired.moved.items())),
        "examples": {kind: tuple(map(shown, rows)) for kind, rows in paired.examples.items()},
    }


def _same_shards(infos: list[Dataset | None], *, with_index: bool) -> list[dict[str, set[int]]]:
    """The numbers of shards, by split, that both datasets state to have; of each dataset."""
    stated = [_stated(info, with_index) if info else [] for info in infos]
    common = Counter(what for what, _ in stated[0]) & Counter(what for what, _ in stated[1])
    same: list[dict[str, set[int]]] = []
    for shards in stated:
        left, chosen = common.copy(), dict[str, set[int]]()
        for what, number in shards:
            if left[what]:
                left[what] -= 1
                chosen.setdefault(what[0], set()).add(number)
        same.append(chosen)
    return same


def _stated(info: Dataset, with_index: bool) -> list[tuple[tuple[str, str, str], int]]:
    """(split, sha256, sha256 of the index that has the keys) of each shard, and its number."""
    found = []
    for split, shards in info.splits.items():
        for number, shard in enumerate(shards):
            entry = info.files.get(rows_file(shard.file)) if with_index else None
            if shard.sha256 and (entry or not with_index):
                found.append(((split, shard.sha256, entry.sha256 if entry else ""), number))
    return found
