"""statistics.json: exact statistics of each split's values, some of which training needs."""

from collections.abc import Mapping, Sequence
from typing import Any

from beam_pipeline import kinds
from beam_pipeline.kinds.observed import Moments, Observed, of_feature
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.json_file import to_text

FILE = "statistics.json"


def statistics_text(
    schema: Sequence[Feature],
    values: Mapping[str, Mapping[str, Observed]],
    num_records: Mapping[str, int],
) -> str:
    """Render statistics.json from statistics by split and name of a feature."""
    facts = statistics_by_split(schema, values)
    splits = {
        split: {"num_records": number, "features": facts.get(split, {})}
        for split, number in num_records.items()
    }
    return to_text({"splits": splits})


def statistics_by_split(
    schema: Sequence[Feature], values: Mapping[str, Mapping[str, Observed]]
) -> dict[str, dict[str, Any]]:
    """Return the file's entries by split and feature."""
    return {
        split: {
            feature.name: feature_facts(feature, of_feature(feature, observed))
            for feature in schema
        }
        for split, observed in values.items()
    }


def feature_facts(feature: Feature, values: Observed) -> dict[str, Any]:
    """Return a feature's entry in a split."""
    kind = kinds.named(feature)
    facts: dict[str, Any] = {"num_values": values.num_values}
    for name, (least, most, total) in sorted(values.lengths.items()):
        facts[name] = {"minimum": least, "maximum": most, "total": total}
    if values.list_range:
        facts["minimum"], facts["maximum"] = values.list_range
    if values.list_not_finite:
        facts["not_finite"] = values.list_not_finite
    if values.columns and not kind.has_classes:
        facts |= _moments(values.columns, is_list=feature.kind != "scalar")
    if kind.has_classes:
        facts["classes"] = _by_count(kind.class_counts(feature, values))
    if values.strings:
        facts["strings"] = _by_count(values.strings)
    return facts


def _moments(columns: Sequence[Moments], *, is_list: bool) -> dict[str, Any]:
    facts = [column.facts() for column in columns]
    return {name: [fact[name] for fact in facts] for name in facts[0]} if is_list else facts[0]


def _by_count(counts: Mapping[str, int]) -> dict[str, int]:
    """Sort by frequency, most frequent first, then by name."""
    return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0])))
