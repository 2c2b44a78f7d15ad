"""metadata.json: what the dataset is. Its presence is the commit."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from beam_pipeline.assign.census import Census, Plan
from beam_pipeline.config import BuildConfig
from beam_pipeline.describe.shard_info import ShardInfo
from beam_pipeline.schema.feature import Feature

FILE = "metadata.json"
FORMAT_VERSION = 1


def metadata(
    config: BuildConfig, plan: Plan, shards: Mapping[str, Sequence[ShardInfo]]
) -> dict[str, Any]:
    """The contents of metadata.json; nothing in it tells when, where or on what it was made."""
    census = plan.census
    return {
        "format_version": FORMAT_VERSION,
        "name": config.name,
        "version": config.version,
        "features": [feature.to_json() for feature in plan.schema],
        "classes": list(main_classes(plan.schema)),
        "splits": {split: _split(infos) for split, infos in shards.items()},
        "rejected": dict(sorted(census.rejected.items())),
        "changes": dict(sorted(census.notes.items())),
        **({"rounded": plan.rounded} if plan.rounded else {}),
        "duplicates": _duplicates(config.duplicates, census),
        "config": config.content(),
        "fingerprint": config.fingerprint,
    }


def adopted(
    config: BuildConfig,
    schema: Sequence[Feature],
    notes: Mapping[str, int],
    shards: Mapping[str, Sequence[ShardInfo]],
    *,
    compressed: bool,
) -> dict[str, Any]:
    """The contents of metadata.json beside shards that others wrote.

    Duplicates are not looked for; the fingerprint is that of the files and of what they are
    taken for.
    """
    splits = {split: _split(infos) for split, infos in shards.items()}
    features = [feature.to_json() for feature in schema]
    return {
        "format_version": FORMAT_VERSION,
        "name": config.name,
        "version": config.version,
        "features": features,
        "classes": list(main_classes(schema)),
        "splits": splits,
        "rejected": {},
        "changes": dict(sorted(notes.items())),
        "config": {
            "adopted": True,
            "compression": "gzip" if compressed else "none",
            "schema": [feature.to_json() for feature in config.schema],
        },
        "fingerprint": hashlib.sha256(json.dumps([features, splits]).encode()).hexdigest(),
    }


def _split(infos: Sequence[ShardInfo]) -> dict[str, Any]:
    return {
        "num_records": sum(info.num_records for info in infos),
        "num_bytes": sum(info.num_bytes for info in infos),
        "shards": [
            {
                "file": info.file,
                "num_records": info.num_records,
                "num_bytes": info.num_bytes,
                "sha256": info.sha256,
            }
            for info in infos
        ],
    }


def _duplicates(policy: str, census: Census) -> dict[str, Any]:
    return {
        "policy": policy,
        "groups": census.duplicate_groups,
        "records": census.duplicate_records,
        "conflicting": census.conflicting,
        "across_splits": census.across_splits,
        "examples": [
            {"keys": list(group.keys), "labels": list(group.labels), "splits": list(group.splits)}
            for _, group in census.duplicates
        ],
    }


def main_classes(schema: Sequence[Feature]) -> tuple[str, ...]:
    """The class names that the dataset is known by: the label's, else the first there are."""
    labelled = [feature for feature in schema if feature.classes]
    named = [feature for feature in labelled if feature.name == "label"]
    return (named or labelled)[0].classes if labelled else ()


def to_text(value: Mapping[str, Any]) -> str:
    """JSON as the dataset's files have it."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
