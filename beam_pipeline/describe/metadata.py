"""metadata.json: what the dataset is. Its presence is the commit."""

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
from tfrecord_dataset.sealed_json import sealed


def metadata(
    config: BuildConfig,
    plan: Plan,
    statistics: Statistics,
    shards: Mapping[str, Sequence[ShardEntry]],
    files: Mapping[str, FileEntry],
) -> str:
    """The text of metadata.json; nothing in it states when, where or on what it was built.

    Args:
        config: The build's.
        plan: How it was written.
        statistics: What the records are.
        shards: The shards of each split, in order.
        files: The other files but build.json, by path.
    """
    facts = {
        **facts_of_records(config, plan, statistics),
        "config": config.fingerprinted_options(),
        "fingerprint": config.fingerprint,
    }
    return _text(config, plan.schema, shards, files, facts)


def facts_of_records(config: BuildConfig, plan: Plan, statistics: Statistics) -> dict[str, Any]:
    """What metadata.json states of the records of a build, as far as it is known before."""
    rounded = rounded_numbers(plan.schema, statistics)
    rates = several_sample_rates(statistics)
    existing = any(observed.lists for observed in statistics.features().values())
    without_boxes = statistics.without_objects()
    stated = statistics.states_splits if config.split != ONE_SPLIT else "none"
    return {
        "rejected": dict(sorted(statistics.rejected.items())),
        "changes": dict(sorted(statistics.notes.items())),
        **({"existing_examples": True} if existing else {}),
        **({"rounded": rounded} if rounded else {}),
        **({"sample_rates": rates} if rates else {}),
        **({"states_splits": stated} if stated != "none" else {}),
        **({"without_boxes": without_boxes} if without_boxes else {}),
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
    """The text of metadata.json beside shards that others wrote.

    Duplicates are not looked for; the fingerprint is that of the shards and the schema.
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
    """The text of a metadata.json that states these facts beside what all of them state."""
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
    """The class names that the dataset is known by: the label's, else the first there are."""
    features = [feature for feature in schema if feature.classes]
    labels = [feature for feature in features if feature.name == "label"]
    return (labels or features)[0].classes if features else ()
