"""What a build made, or would make, in a few lines for a person."""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from beam_pipeline.assign.census import Census, Plan
from beam_pipeline.dataset.opening import DatasetInfo
from beam_pipeline.describe.metadata import main_classes
from beam_pipeline.schema import rounding
from beam_pipeline.schema.feature import Feature
from beam_pipeline.schema.observation import Observed
from beam_pipeline.schema.stored_inference import taken_for_granted


def of_dataset(info: DatasetInfo) -> str:
    """A finished dataset."""
    lines = [
        f"{split}: {counted(info.num_records(split), 'record')} in "
        f"{counted(len(shards), 'shard')}, "
        f"{_size(sum(shard.num_bytes for shard in shards))}"
        for split, shards in info.splits.items()
    ]
    config = info.metadata["config"]
    if config.get("adopted"):  # nobody has seen a plan of it
        lines += [_feature(feature, Observed()) for feature in info.features]
    lines += _empty_splits(config.get("split", ()), info.splits)
    lines += _classes(info.classes)
    lines += [] if config.get("schema") else _taken_for_granted(info.features)
    lines += _missing_shards(info)
    lines += _counted("rejected", info.metadata["rejected"], "see rejects.jsonl")
    lines += _mostly_left_out(info.metadata["rejected"], sum(map(info.num_records, info.splits)))
    lines += _counted("changed", info.metadata["changes"])
    lines += _rounded(info.features, info.metadata.get("rounded", {}))
    if duplicates := info.metadata.get("duplicates"):  # an adopted one has none
        lines += _duplicates(
            duplicates["groups"],
            duplicates["records"],
            duplicates["conflicting"],
            duplicates["across_splits"],
            [(example["keys"], example["labels"]) for example in duplicates["examples"]],
        )
    return "\n".join(lines)


def of_plan(plan: Plan, wanted_splits: Collection[str], *, declared: bool = False) -> str:
    """What a build that was asked for `wanted_splits` would make.

    Args:
        plan: The plan.
        wanted_splits: The names in `--split`.
        declared: Whether a user declared the schema.
    """
    census = plan.census
    lines = [
        f"{split}: {counted(cut.num_records, 'record')} in "
        f"{counted(cut.num_shards, 'shard')}, about "
        f"{_size(cut.num_bytes)}"
        for split, cut in plan.splits.items()
    ]
    lines += [] if plan.problem else _empty_splits(wanted_splits, plan.splits)
    lines += [
        _feature(each, census.observed.get(each.name, Observed()), census.num_records)
        for each in plan.schema
    ]
    lines += _classes(main_classes(plan.schema))
    lines += [] if declared else _taken_for_granted(plan.schema)
    lines += _counted("rejected", dict(sorted(census.rejected.items())))
    lines += _mostly_left_out(census.rejected, census.num_records)
    lines += [f"  {source}: {reason} ({detail})" for source, reason, detail in census.told[:10]]
    lines += _counted("changed", dict(sorted(census.notes.items())))
    lines += _rounded(plan.schema, plan.rounded)
    lines += _duplicates_of(census)
    return "\n".join(lines)


def _feature(feature: Feature, seen: Observed, num_records: int = 0) -> str:
    """A feature's type, and what its values are: "feature age: scalar int64, 17 to 90".

    Args:
        feature: The feature.
        seen: Its values.
        num_records: Of all records; those that others wrote may lack the feature.
    """
    facts = [" ".join([feature.kind, *_type(feature)])]
    match feature.kind:
        case "image":
            height, width = feature.shape[:2]
            facts += [f"{width:,}×{height:,} pixels"] if height and width else []
        case "audio":
            facts += [f"{feature.sample_rate:,} Hz"] if feature.sample_rate else []
            channels = feature.shape[1] if feature.shape[1:] else None
            facts += [counted(channels, "channel")] if channels else []
            # Of others' bytes the samples are not counted.
            facts += [] if seen.lists else _lengths(seen.lengths, "sample")
        case "class_label" | "boxes":
            facts += [_count_classes(feature.classes)]
            if feature.shape == (None,):
                lengths = _list_lengths(seen, num_records)
                facts += [f"{each} a record" for each in _lengths(lengths, "class")]
            facts += ["none in some records"] if feature.default is not None else []
        case "text":
            facts += _lengths(seen.lengths, "character")
        case "sequence":
            inner = math.prod(size for size in feature.shape if size is not None)
            lengths = _list_lengths(seen, num_records, max(1, inner))
            facts += _lengths(lengths, "row" if feature.shape[1:] else "value")
            facts += _range(seen)
        case "scalar" | "tensor":
            facts += _range(seen)
    name = (
        feature.name if feature.name.strip() and feature.name.isprintable() else repr(feature.name)
    )
    return f"feature {name}: {', '.join(facts)}"


def _type(feature: Feature) -> Iterator[str]:
    """What the values are made of and how they are stored, in a few words."""
    if feature.format:
        yield feature.format if feature.format != "mixed" else "of several formats"
    if feature.kind in ("scalar", "tensor", "sequence"):
        yield feature.dtype
    if feature.kind == "tensor" or (feature.kind == "sequence" and feature.shape[1:]):
        yield str([*feature.shape]).replace("None", "n")
    if feature.encoding == "bytes":
        yield "as bytes"


def _count_classes(classes: Collection[str]) -> str:
    return f"{len(classes):,} class{'' if len(classes) == 1 else 'es'}"


def _list_lengths(
    seen: Observed, num_records: int, values_a_row: int = 1
) -> tuple[int, int] | None:
    """(shortest, longest) of lists; others' are counted by values, and a missing one is empty."""
    if not seen.lists or not seen.lists.lengths:
        return seen.lengths
    shortest, longest = seen.lists.lengths
    if seen.dtypes.total() < num_records:
        shortest = 0
    return shortest // values_a_row, longest // values_a_row


def _lengths(lengths: tuple[int, int] | None, what: str) -> list[str]:
    if lengths is None:
        return []
    shortest, longest = lengths
    plural = f"{what}es" if what.endswith("s") else f"{what}s"
    if shortest == longest:
        return [f"{longest:,} {what if longest == 1 else plural}"]
    return [f"{shortest:,} to {longest:,} {plural}"]


def _range(seen: Observed) -> list[str]:
    missing = [f"nan in {counted(seen.nans, 'record')}"] if seen.nans else []
    if seen.minimum is None or seen.maximum is None:
        return missing
    minimum, maximum = (
        f"{each:,}" if isinstance(each, int) else f"{each:,.6g}"
        for each in (seen.minimum, seen.maximum)
    )
    return [f"always {minimum}" if minimum == maximum else f"{minimum} to {maximum}", *missing]


def _missing_shards(info: DatasetInfo) -> list[str]:
    """A warning where others' names of shards tell of more than are there."""
    return [
        f"warning: {split} has {len(shards):,} of the {int(stated):,} shards that "
        f"{shards[0].file} tells of"
        for split, shards in info.splits.items()
        for stated in re.findall(r"-of-(\d{5,})", shards[0].file)
        if int(stated) != len(shards)
    ]


def _taken_for_granted(schema: Iterable[Feature]) -> list[str]:
    """What other people's raw bytes were taken for without proof."""
    return [f"note: {sentence}" for sentence in taken_for_granted(schema)]


def _rounded(schema: Iterable[Feature], rounded: Mapping[str, float]) -> list[str]:
    """Features whose large numbers lose digits."""
    return [f"note: {sentence}" for sentence in rounding.told(schema, rounded)]


def _mostly_left_out(rejected: Mapping[str, int], num_records: int) -> list[str]:
    """A warning where the input may have been taken for something else."""
    left_out = sum(count for reason, count in rejected.items() if reason != "duplicate")
    if left_out <= num_records:
        return []
    return [
        f"warning: {left_out:,} files or records were left out and {num_records:,} used; is this "
        "the right input, and the right --layout?"
    ]


def counted(count: int, what: str) -> str:
    """ "1 shard", "2 shards"."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _empty_splits(wanted: Collection[str], splits: Collection[str]) -> list[str]:
    """A warning where splits that the user named are not there; one alone is the default."""
    empty = [name for name in wanted if name not in splits]
    if len(wanted) < 2 or not empty:
        return []
    return [
        f"warning: no record is in {', '.join(empty)} of --split: the input states splits itself, "
        "which are kept, or --group-by makes too few groups"
    ]


def _duplicates_of(census: Census) -> list[str]:
    return _duplicates(
        census.duplicate_groups,
        census.duplicate_records,
        census.conflicting,
        census.across_splits,
        [(list(group.keys), list(group.labels)) for _, group in census.duplicates],
    )


def _classes(classes: tuple[str, ...]) -> list[str]:
    shown = ", ".join(classes[:10]) + (", …" if len(classes) > 10 else "")
    return [f"{_count_classes(classes)}: {shown}"] if classes else []


def _counted(what: str, counts: Mapping[str, int], hint: str = "") -> list[str]:
    if not counts:
        return []
    shown = ", ".join(f"{count:,} × {reason}" for reason, count in counts.items())
    return [f"{what}: {shown}{f' ({hint})' if hint else ''}"]


def _duplicates(
    groups: int, records: int, conflicting: int, across_splits: int, examples: list[Any]
) -> list[str]:
    if not groups:
        return []
    lines = [f"duplicates: {records:,} records share {groups:,} contents"]
    if across_splits:
        lines.append(
            f"warning: {across_splits:,} contents are in more than one split, so a model is "
            "tested on what it was trained on; --duplicates drop removes them"
        )
    if conflicting:
        keys, labels = examples[0]
        told = ", ".join(
            f"{key} ({label})" if label else key for key, label in zip(keys, labels, strict=False)
        )
        lines.append(f"warning: {conflicting:,} contents are annotated in several ways: {told}")
    return lines


def _size(num_bytes: int) -> str:
    size = float(num_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
