"""The facts of a dataset: metadata.json, statistics.json and build.json."""

import hashlib
import heapq
import json
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import apache_beam

from beam_pipeline import kinds
from beam_pipeline.assign.dataset_plan import (
    Plan,
    missing_numbers,
    rounded_numbers,
    several_sample_rates,
)
from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.config import BuildConfig
from beam_pipeline.kinds.moments import Moments
from beam_pipeline.kinds.observed import Observed, of_feature
from beam_pipeline.option_values import ONE_SPLIT
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.metadata import FILE as FILE
from tfrecord_dataset.format.metadata import FORMAT_VERSION, FileEntry, ShardEntry
from tfrecord_dataset.format.metadata import STATISTICS_FILE as STATISTICS_FILE
from tfrecord_dataset.json_file import sealed, to_text
from tfrecord_dataset.shown_text import without_secrets

BUILD_FILE = "build.json"
# Suffixes of files that are not read; rejects.jsonl lists all files.
_MOST_SUFFIXES = 20


def metadata(
    config: BuildConfig,
    plan: Plan,
    statistics: Statistics,
    shards: Mapping[str, Sequence[ShardEntry]],
    files: Mapping[str, FileEntry],
) -> str:
    """Render metadata.json, which does not depend on time, place or machine of the build.

    `files` are all other files except build.json, by path.
    """
    facts = {
        **facts_of_records(config, plan, statistics),
        "config": config.fingerprinted_options(),
        "fingerprint": config.fingerprint,
    }
    return _text(config, plan.schema, shards, files, facts)


def facts_of_records(config: BuildConfig, plan: Plan, statistics: Statistics) -> dict[str, Any]:
    """Return the facts about a build's records that are known before the write."""
    states_splits = statistics.states_splits if config.split != ONE_SPLIT else "none"
    special = {
        "existing_examples": any(each.lists for each in statistics.features().values()),
        "missing": missing_numbers(plan.schema, statistics),
        "rounded": rounded_numbers(plan.schema, statistics),
        "sample_rates": several_sample_rates(statistics),
        "unread": dict(heapq.nsmallest(_MOST_SUFFIXES, statistics.unread.items(), _by_number)),
        "states_splits": "" if states_splits == "none" else states_splits,
        "without_boxes": statistics.without_objects(),
    }
    return {
        "rejected": dict(sorted(statistics.rejected.items())),
        "changes": dict(sorted(statistics.notes.items())),
        **{name: fact for name, fact in special.items() if fact},
        "duplicates": {
            "policy": config.duplicates,
            "groups": statistics.duplicate_groups,
            "records": statistics.duplicate_records,
            "conflicting": statistics.conflicting,
            "across_splits": statistics.across_splits,
            "examples": [
                {
                    "keys": list(group.keys),
                    "labels": list(group.labels),
                    "splits": [split for split, _ in group.splits],
                }
                for _, group in statistics.duplicates
            ],
        },
        **({"near_duplicates": asdict(statistics.near)} if config.near_duplicates else {}),
    }


def _by_number(item: tuple[str, int]) -> tuple[int, str]:
    name, number = item
    return -number, name


def adoption_metadata(
    config: BuildConfig,
    schema: Sequence[Feature],
    notes: Mapping[str, int],
    shards: Mapping[str, Sequence[ShardEntry]],
    files: Mapping[str, FileEntry],
    *,
    compressed: bool,
) -> str:
    """Render metadata.json for existing shards.

    Does not look for duplicates; the fingerprint is that of the shards and the schema.
    """
    content = json.dumps([_features(schema), _splits(shards)])
    facts = {
        "rejected": {},
        "changes": dict(sorted(notes.items())),
        "config": {
            "adopted": True,
            "compression": "gzip" if compressed else "none",
            "schema": _features(config.schema),
        },
        "fingerprint": hashlib.sha256(content.encode()).hexdigest(),
    }
    return _text(config, schema, shards, files, facts)


def _text(
    config: BuildConfig,
    schema: Sequence[Feature],
    shards: Mapping[str, Sequence[ShardEntry]],
    files: Mapping[str, FileEntry],
    facts: Mapping[str, Any],
) -> str:
    """Render a metadata.json with these facts and the common ones."""
    return sealed(
        {
            "format_version": FORMAT_VERSION,
            "name": config.name,
            "version": config.version,
            "features": _features(schema),
            "classes": list(main_classes(schema)),
            "splits": _splits(shards),
            **facts,
            "files": {path: asdict(entry) for path, entry in sorted(files.items())},
        }
    )


def _features(schema: Sequence[Feature]) -> list[dict[str, Any]]:
    return [feature.to_json() for feature in schema]


def _splits(shards: Mapping[str, Sequence[ShardEntry]]) -> dict[str, Any]:
    return {
        split: {
            "num_records": sum(shard.num_records for shard in entries),
            "num_bytes": sum(shard.num_bytes for shard in entries),
            "shards": [shard.to_json() for shard in entries],
        }
        for split, entries in shards.items()
    }


def main_classes(schema: Sequence[Feature]) -> tuple[str, ...]:
    """Return the dataset's main class names: the label's, else the first feature's."""
    features = [feature for feature in schema if feature.classes]
    labels = [feature for feature in features if feature.name == "label"]
    return (labels or features)[0].classes if features else ()


def provenance(config: BuildConfig, metadata_text: str) -> str:
    """Render build.json for a build that ends now on this machine."""
    return sealed(
        {
            "input": without_secrets(config.input),
            "image_root": without_secrets(config.image_root),
            "allow_outside": [without_secrets(each) for each in config.allow_outside],
            "finished_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "host": platform.node(),
            "python": platform.python_version(),
            "apache_beam": apache_beam.__version__,
            "metadata_sha256": hashlib.sha256(metadata_text.encode()).hexdigest(),
        }
    )


def statistics_text(
    schema: Sequence[Feature],
    values: Mapping[str, Mapping[str, Observed]],
    num_records: Mapping[str, int],
) -> str:
    """Render statistics.json: exact statistics by split and feature, also for training."""
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
