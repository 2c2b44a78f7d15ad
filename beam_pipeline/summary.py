"""What a build made, or would make, in a few lines for a person."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from beam_pipeline.bare import taken_for_granted
from beam_pipeline.census import Census, Plan
from beam_pipeline.dataset import DatasetInfo
from beam_pipeline.describe.metadata import main_classes
from beam_pipeline.schema import Feature


def of_dataset(info: DatasetInfo) -> str:
    """A finished data set."""
    lines = [
        f"{split}: {counted(info.num_records(split), 'record')} in "
        f"{counted(len(shards), 'shard')}, "
        f"{_size(sum(shard.num_bytes for shard in shards))}"
        for split, shards in info.splits.items()
    ]
    config = info.metadata["config"]
    lines += _empty_splits(config.get("split", ()), info.splits)
    lines += _classes(info.classes)
    lines += [] if config.get("schema") else _taken_for_granted(info.features)
    lines += _counted("rejected", info.metadata["rejected"], "see rejects.jsonl")
    lines += _mostly_left_out(info.metadata["rejected"], sum(map(info.num_records, info.splits)))
    lines += _counted("changed", info.metadata["changes"])
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
    lines += [f"feature {feature.name}: {feature.kind}" for feature in plan.schema]
    lines += _classes(main_classes(plan.schema))
    lines += [] if declared else _taken_for_granted(plan.schema)
    lines += _counted("rejected", dict(sorted(census.rejected.items())))
    lines += _mostly_left_out(census.rejected, census.num_records)
    lines += [f"  {source}: {reason} ({detail})" for source, reason, detail in census.told[:10]]
    lines += _counted("changed", dict(sorted(census.notes.items())))
    lines += _duplicates_of(census)
    return "\n".join(lines)


def _taken_for_granted(schema: Iterable[Feature]) -> list[str]:
    """What other people's raw bytes were taken for without proof."""
    return [f"note: {sentence}" for sentence in taken_for_granted(schema)]


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
    plural = "" if len(classes) == 1 else "es"
    return [f"{len(classes)} class{plural}: {shown}"] if classes else []


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
        told = ", ".join(f"{key} ({label})" for key, label in zip(keys, labels, strict=False))
        lines.append(f"warning: {conflicting:,} contents are annotated in several ways: {told}")
    return lines


def _size(num_bytes: int) -> str:
    size = float(num_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
