"""Summary of a build or a plan in a few lines."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from beam_pipeline import kinds
from beam_pipeline.assign.dataset_plan import Preview
from beam_pipeline.config import BuildConfig
from beam_pipeline.dataset.opening import Dataset, statistics_of
from beam_pipeline.describe.metadata import facts_of_records, main_classes, statistics_by_split
from beam_pipeline.kinds.numbers import describe_missing, describe_rounding
from beam_pipeline.kinds.observed import Observed, of_feature
from beam_pipeline.kinds.wording import brief, count_classes, similar
from beam_pipeline.option_values import ONE_SPLIT
from beam_pipeline.records import NOT_READ
from beam_pipeline.report.checks import duplicate_checks
from beam_pipeline.sources.annotations.shapes import OF_A_POINT
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.shown_text import counted, one_line, size_text

# Suffixes of files that are not read, in a line.
_SUFFIXES = 4
_ARCHIVES = frozenset({".zip", ".tar", ".tgz", ".gz"})


class Warned(str):
    """A warning in the summary."""

    __slots__ = ()


def as_text(lines: Iterable[str]) -> str:
    """Render the lines of a summary."""
    return "\n".join(
        one_line(f"warning: {line}" if isinstance(line, Warned) else line) for line in lines
    )


def of_dataset(info: Dataset) -> list[str]:
    """Summarize a finished dataset."""
    num_records = {split: info.num_records(split) for split in info.splits}
    lines = [
        f"{split}: {counted(num_records[split], 'record')} in "
        f"{counted(len(shards), 'shard')}, "
        f"{size_text(sum(shard.num_bytes for shard in shards))}"
        for split, shards in info.splits.items()
    ]
    config = info.metadata["config"]
    if config.get("adopted"):  # `adopt` has no plan that shows them
        lines += [_feature(feature, Observed()) for feature in info.schema]
    stated = info.metadata.get("states_splits", "none")
    lines += _split_option(config.get("split", {}), info.splits, stated)
    has_classes = any(feature.classes for feature in info.schema)
    statistics = statistics_of(info) if has_classes else {}
    lines += _classes(info.schema, statistics, wants_masks=bool(config.get("masks")))
    lines += _missing_shards(info)
    hint = "see rejects.jsonl"
    lines += _rejects(info.metadata, sum(num_records.values()), hint=hint, unread=hint)
    lines += _of_records(info.metadata, info.schema, num_records)
    return lines


def of_plan(preview: Preview, config: BuildConfig) -> list[str]:
    """Summarize a planned build."""
    plan, statistics = preview
    facts = facts_of_records(config, plan, statistics)
    features = statistics.features()
    lines = [
        f"{split}: {counted(cut.num_records, 'record')} in "
        f"{counted(cut.num_shards, 'shard')}, about "
        f"{size_text(cut.num_bytes)}"
        for split, cut in plan.splits.items()
    ]
    if not plan.problem:
        lines += _split_option(config.split, plan.splits, statistics.states_splits)
    lines += [
        _feature(feature, of_feature(feature, features), statistics.num_records)
        for feature in plan.schema
    ]
    by_split = statistics_by_split(plan.schema, statistics.values)
    lines += _classes(plan.schema, by_split, wants_masks=config.masks)
    files = statistics.first_sources.get(NOT_READ, [])
    unread = f"such as {files[0]}" if files else ""
    lines += _rejects(facts, statistics.num_records, unread=unread)
    lines += [
        f"  {source}: {reason} ({detail})"
        for source, reason, detail in statistics.first_rejects[:10]
    ]
    num_records = {name: split.num_records for name, split in plan.splits.items()}
    lines += _of_records(facts, plan.schema, num_records)
    return lines


def _of_records(
    facts: Mapping[str, Any], schema: Sequence[Feature], num_records: Mapping[str, int]
) -> Iterator[str]:
    """Summarize the records by metadata.json, without rejects."""
    yield from _counted("changed", facts["changes"])
    if OF_A_POINT in facts["changes"]:
        yield "note: if points in no group are landmarks, set points: landmarks in a recipe"
    for sentence in describe_missing(schema, facts.get("missing", {})):
        yield f"note: {sentence}"
    for sentence in describe_rounding(schema, facts.get("rounded", {})):
        yield f"note: {sentence}"
    for name, rates in facts.get("sample_rates", {}).items():
        shown = ", ".join(f"{rate} Hz ({number})" for rate, number in rates)
        yield Warned(
            f"{name} has several sample rates: {shown}; "
            "pass --audio-sample-rate 16000 to resample it"
        )
    yield from _without_boxes(facts.get("without_boxes", {}), num_records)
    for check in duplicate_checks(facts):
        line = f"{check.title}: {check.text}"
        if check.level == "red":
            yield Warned(f"{line}; {check.remedy}")
        elif check.level == "amber":
            yield line


def _feature(feature: Feature, observed: Observed, num_records: int = 0) -> str:
    """Format a feature's type and range: "feature age: scalar int64, 17 to 90"."""
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
    """Warn if a shard's name states more shards than exist."""
    return [
        Warned(
            f"{split} has {len(shards):,} of {int(total):,} shards (by the name {shards[0].file})"
        )
        for split, shards in info.splits.items()
        for total in re.findall(r"-of-(\d{5,})", shards[0].file)
        if int(total) != len(shards)
    ]


def _without_boxes(counts: Mapping[str, int], num_records: Mapping[str, int]) -> Iterator[str]:
    """Count images without boxes by split; warn of a split without any box."""
    if counts:
        shown = ", ".join(
            f"{count:,}{f' of {num_records[split]:,}' if split in num_records else ''} in {split}"
            for split, count in sorted(counts.items())
        )
        yield f"without boxes: {shown}"
    for split, count in sorted(counts.items()):
        if count == num_records.get(split):
            yield Warned(f"no image of {split} has boxes; check its annotations")


def _rejects(
    facts: Mapping[str, Any], num_records: int, *, unread: str, hint: str = ""
) -> Iterator[str]:
    """Summarize rejects by reason; warn of `unread` files, and of more rejects than records."""
    rejected: Mapping[str, int] = facts["rejected"]
    counts = {reason: count for reason, count in rejected.items() if reason != NOT_READ}
    yield from _counted("rejected", counts, hint)
    if number := rejected.get(NOT_READ):
        numbers = Counter(facts.get("unread", {})).most_common()
        suffixes = [f"{count:,} {suffix}" for suffix, count in numbers]
        more = ["…"] if suffixes[_SUFFIXES:] else []
        has_archives = not _ARCHIVES.isdisjoint(facts.get("unread", ()))
        unpack = "unpack archives of the data, or " if has_archives else ""
        yield Warned(
            f"{counted(number, 'file')} not read that may hold data "
            f"({', '.join([*suffixes[:_SUFFIXES], *more, unread])}); "
            f"{unpack}exclude such files with --ignore"
        )
    num_rejected = sum(count for reason, count in rejected.items() if reason != "duplicate")
    if num_rejected > num_records:
        yield Warned(
            f"more rejected ({num_rejected:,}) than used ({num_records:,}); "
            "check the input and --layout"
        )


def _split_option(
    fractions: Mapping[str, float], splits: Collection[str], stated: str
) -> Iterator[str]:
    """Yield notes if `--split` was ignored or only partly applied."""
    if not fractions or fractions == ONE_SPLIT:
        return
    if stated == "all":
        new = [f"{name}={part:g}" for name, part in fractions.items() if name not in splits]
        can_divide = "train" in splits and new
        remedy = f", or divide train with --split {','.join(new)}" if can_divide else ""
        yield Warned(
            f"--split ignored: the input has its own splits ({', '.join(splits)}); leave it out"
            f"{remedy}"
        )
        return
    if stated == "divided":
        yield f"note: --split took {', '.join(fractions)} from the input's train split"
    if stated == "some":
        yield "note: --split divides only records without a split in the input"
    if empty := [name for name in fractions if name not in splits]:
        yield Warned(
            f"--split: no records in {', '.join(empty)}: too few records, or too few groups "
            "of --group-by"
        )


def _classes(
    schema: Sequence[Feature], statistics: Mapping[str, Mapping[str, Any]], *, wants_masks: bool
) -> Iterator[str]:
    """Summarize classes; warn of similar names, classes missing in a split, and missing masks."""
    if classes := main_classes(schema):
        shown = ", ".join(map(brief, classes[:10])) + (", …" if len(classes) > 10 else "")
        yield f"{count_classes(classes)}: {shown}"
    pairs = [f"{one} and {other}" for one, other in similar(classes)]
    if pairs:
        more = f" (and {len(pairs) - 1:,} more pairs)" if pairs[1:] else ""
        yield Warned(f"{pairs[0]}{more} are two classes; rename one if they are the same")
    for feature in schema:
        if feature.classes:
            yield from map(Warned, _missing_classes(feature.name, statistics))
    if wants_masks and not any("mask" in feature.geometry for feature in schema):
        yield Warned("masks (--masks): no object has a mask or polygon; leave the option out")


def _missing_classes(feature: str, statistics: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield a sentence for each split that lacks classes of other splits."""
    counts = {split: facts.get(feature, {}) for split, facts in statistics.items()}
    present = {
        split: {name for name, count in stated.get("classes", {}).items() if count}
        for split, stated in counts.items()
    }
    everywhere = set().union(*present.values())
    for split, names in present.items():
        missing = sorted(everywhere - names)
        if names and missing:
            shown = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
            classes = "class" if len(missing) == 1 else f"{len(missing)} classes"
            yield f"{split} has no {feature} of {classes} {shown}"


def _counted(what: str, counts: Mapping[str, int], hint: str = "") -> Iterator[str]:
    if counts:
        shown = ", ".join(f"{count:,} × {reason}" for reason, count in counts.items())
        yield f"{what}: {shown}{f' ({hint})' if hint else ''}"
