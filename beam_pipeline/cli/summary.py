"""The result of a build, or of a plan, in a few lines for a person."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from beam_pipeline import kinds
from beam_pipeline.assign.plan import Preview, rounded_numbers
from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.dataset.opening import Dataset
from beam_pipeline.describe.metadata import main_classes
from beam_pipeline.kinds import rounding
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.kinds.wording import count_classes, first_names
from beam_pipeline.option_values import ONE_SPLIT
from beam_pipeline.sources.beside import NOT_READ
from beam_pipeline.sources.shapes import OF_A_POINT
from tfrecord_dataset.feature import Feature
from tfrecord_dataset.shown_text import counted, one_line, size_text


def of_dataset(info: Dataset) -> str:
    """The summary of a finished dataset."""
    lines = [
        f"{split}: {counted(info.num_records(split), 'record')} in "
        f"{counted(len(shards), 'shard')}, "
        f"{size_text(sum(shard.num_bytes for shard in shards))}"
        for split, shards in info.splits.items()
    ]
    config = info.metadata["config"]
    if config.get("adopted"):  # an adopted dataset has no plan to show them
        lines += [_feature(feature, Observed()) for feature in info.schema]
    stated = info.metadata.get("states_splits", "none")
    lines += _split_option(config.get("split", {}), info.splits, stated)
    lines += _classes(info.classes)
    lines += _missing_shards(info)
    lines += _counted("rejected", info.metadata["rejected"], "see rejects.jsonl")
    lines += _warn_of_data(info.metadata["rejected"], "rejects.jsonl names them")
    lines += _warn_of_rejects(info.metadata["rejected"], sum(map(info.num_records, info.splits)))
    lines += _counted("changed", info.metadata["changes"])
    lines += _points(info.metadata["changes"], info.schema)
    lines += _rounded(info.schema, info.metadata.get("rounded", {}))
    lines += _without_boxes(
        info.metadata.get("without_boxes", {}),
        {name: info.num_records(name) for name in info.splits},
    )
    if duplicates := info.metadata.get("duplicates"):  # an adopted dataset has none
        lines += _duplicates(
            duplicates["groups"],
            duplicates["records"],
            duplicates["conflicting"],
            duplicates["across_splits"],
            [(example["keys"], example["labels"]) for example in duplicates["examples"]],
        )
    if near := info.metadata.get("near_duplicates"):
        lines += _near_duplicates(near["groups"], near["records"], near["across_splits"])
    return "\n".join(map(one_line, lines))


def of_plan(preview: Preview, fractions: Mapping[str, float]) -> str:
    """The summary of what a build would write.

    Args:
        preview: The plan, and what it was made from.
        fractions: Of `--split`.
    """
    plan, statistics = preview
    features = statistics.features()
    lines = [
        f"{split}: {counted(cut.num_records, 'record')} in "
        f"{counted(cut.num_shards, 'shard')}, about "
        f"{size_text(cut.num_bytes)}"
        for split, cut in plan.splits.items()
    ]
    if not plan.problem:
        lines += _split_option(fractions, plan.splits, statistics.states_splits)
    lines += [
        _feature(each, features.get(each.name, Observed()), statistics.num_records)
        for each in plan.schema
    ]
    lines += _classes(main_classes(plan.schema))
    lines += _counted("rejected", dict(sorted(statistics.rejected.items())))
    unread = statistics.first_sources.get(NOT_READ, [])
    more = ["…"] if statistics.rejected[NOT_READ] > len(unread) else []
    lines += _warn_of_data(statistics.rejected, ", ".join([*unread, *more]))
    lines += _warn_of_rejects(statistics.rejected, statistics.num_records)
    lines += [
        f"  {source}: {reason} ({detail})"
        for source, reason, detail in statistics.first_rejects[:10]
    ]
    lines += _counted("changed", dict(sorted(statistics.notes.items())))
    lines += _points(statistics.notes, plan.schema)
    lines += _rounded(plan.schema, rounded_numbers(plan.schema, statistics))
    lines += _without_boxes(
        statistics.without_objects(),
        {name: split.num_records for name, split in plan.splits.items()},
    )
    lines += _duplicates_of(statistics)
    near = statistics.near
    lines += _near_duplicates(near.groups, near.records, near.across_splits)
    return "\n".join(map(one_line, lines))


def warnings(text: str) -> list[str]:
    """The sentences of a summary that warn."""
    start = "warning: "
    return [line.removeprefix(start) for line in text.splitlines() if line.startswith(start)]


def _feature(feature: Feature, observed: Observed, num_records: int = 0) -> str:
    """A feature's type and the range of its values: "feature age: scalar int64, 17 to 90".

    Args:
        feature: The feature.
        observed: Its values.
        num_records: Of the dataset; records of existing TFRecords may lack the feature.
    """
    kind = kinds.named(feature)
    facts = [
        " ".join([feature.kind, *kind.type_words(feature)]),
        *kind.summary(feature, observed, num_records),
    ]
    name = (
        feature.name if feature.name.strip() and feature.name.isprintable() else repr(feature.name)
    )
    return f"feature {name}: {', '.join(facts)}"


def _missing_shards(info: Dataset) -> list[str]:
    """A warning where a shard's name states more shards than there are."""
    return [
        f"warning: {split} has {len(shards):,} of the {int(total):,} shards that "
        f"the name {shards[0].file} states"
        for split, shards in info.splits.items()
        for total in re.findall(r"-of-(\d{5,})", shards[0].file)
        if int(total) != len(shards)
    ]


def _rounded(schema: Iterable[Feature], rounded: Mapping[str, float]) -> list[str]:
    """Features whose large numbers lose digits as float32."""
    return [f"note: {sentence}" for sentence in rounding.describe(schema, rounded)]


def _points(notes: Mapping[str, int], schema: Iterable[Feature]) -> list[str]:
    """What else the points in no group may be, by their names."""
    if not (number := notes.get(OF_A_POINT)):
        return []
    names = first_names([name for each in schema for name in each.keypoint_names])
    return [
        f"note: {counted(number, 'object')} made of points in no group; if those of an image are "
        f"landmarks of one, pass --points landmarks, which makes keypoints of them: {names}"
    ]


def _without_boxes(counts: Mapping[str, int], num_records: Mapping[str, int]) -> list[str]:
    """How many images have no boxes, by split; a split where none has any is a warning."""
    lines = []
    if counts:
        shown = ", ".join(
            f"{count:,}{f' of {num_records[split]:,}' if split in num_records else ''} in {split}"
            for split, count in sorted(counts.items())
        )
        lines.append(f"without boxes: {shown}")
    for split, count in sorted(counts.items()):
        if count == num_records.get(split):
            lines.append(f"warning: no image of {split} has boxes; are its annotations there?")
    return lines


def _warn_of_data(rejected: Mapping[str, int], which: str) -> list[str]:
    """A warning where files that may hold data lie beside what was read."""
    if not (number := rejected.get(NOT_READ)):
        return []
    return [
        f"warning: {counted(number, 'file')} that may hold data {'was' if number == 1 else 'were'} "
        f"not read ({which}); --ignore leaves out what is meant to be"
    ]


def _warn_of_rejects(rejected: Mapping[str, int], num_records: int) -> list[str]:
    """A warning where more is rejected than used: the layout may be the wrong one."""
    num_rejected = sum(count for reason, count in rejected.items() if reason != "duplicate")
    if num_rejected <= num_records:
        return []
    return [
        f"warning: {num_rejected:,} files or records were rejected and {num_records:,} used; are "
        "the input and the --layout right?"
    ]


def _split_option(
    fractions: Mapping[str, float], splits: Collection[str], stated: str
) -> list[str]:
    """What became of `--split`, as far as it is not what was asked for.

    Args:
        fractions: Of the option.
        splits: That have records.
        stated: Of how many records the input states the split: "none", "some" or "all".
    """
    if not fractions or fractions == ONE_SPLIT:
        return []
    if stated == "all":
        own = "the input states the split of every record"
        return [f"warning: --split is not used, for {own} ({', '.join(splits)}); leave it out"]
    lines = []
    if stated == "some":
        lines.append("note: --split divides the records whose split the input does not state")
    if empty := [name for name in fractions if name not in splits]:
        lines.append(
            f"warning: --split names {', '.join(empty)}, which got no records: there are too few, "
            "or --group-by makes too few groups"
        )
    return lines


def _duplicates_of(statistics: Statistics) -> list[str]:
    return _duplicates(
        statistics.duplicate_groups,
        statistics.duplicate_records,
        statistics.conflicting,
        statistics.across_splits,
        [(list(group.keys), list(group.labels)) for _, group in statistics.duplicates],
    )


def _classes(classes: tuple[str, ...]) -> list[str]:
    shown = ", ".join(classes[:10]) + (", …" if len(classes) > 10 else "")
    return [f"{count_classes(classes)}: {shown}"] if classes else []


def _counted(what: str, counts: Mapping[str, int], hint: str = "") -> list[str]:
    if not counts:
        return []
    shown = ", ".join(f"{count:,} × {reason}" for reason, count in counts.items())
    return [f"{what}: {shown}{f' ({hint})' if hint else ''}"]


def _near_duplicates(groups: int, records: int, across_splits: int) -> list[str]:
    if not groups:
        return []
    told = f"{records:,} records in {counted(groups, 'group')} of images that look alike"
    lines = [f"near-duplicates: {told}"]
    if across_splits:
        lines.append(
            f"warning: groups of near-duplicates in more than one split: {across_splits:,}; "
            "--near-duplicates group keeps them in one, where the input states no splits"
        )
    return lines


def _duplicates(
    groups: int, records: int, conflicting: int, across_splits: int, examples: list[Any]
) -> list[str]:
    if not groups:
        return []
    lines = [f"duplicates: {records:,} records in {counted(groups, 'group')} of equal content"]
    if across_splits:
        lines.append(
            f"warning: groups of duplicates in more than one split: {across_splits:,}; a model "
            "would be tested on its training data; --duplicates drop removes them"
        )
    if conflicting:
        keys, labels = examples[0]
        group = ", ".join(
            f"{key} ({label})" if label else key for key, label in zip(keys, labels, strict=False)
        )
        lines.append(
            f"warning: groups of duplicates with different annotations: {conflicting:,}, such as "
            f"{group}"
        )
    return lines
