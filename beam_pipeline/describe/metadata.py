"""metadata.json: the description of a dataset; writing it commits the dataset."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from beam_pipeline.assign.plan import Plan, rounded_numbers, several_sample_rates
from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.config import BuildConfig
from beam_pipeline.option_values import ONE_SPLIT
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.metadata import FILE as FILE
from tfrecord_dataset.format.metadata import FORMAT_VERSION, FileEntry, ShardEntry
from tfrecord_dataset.json_file import sealed


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
        "rounded": rounded_numbers(plan.schema, statistics),
        "sample_rates": several_sample_rates(statistics),
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
