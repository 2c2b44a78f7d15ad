"""The files that describe a dataset to other tools, compared with metadata.json."""

import json
from collections.abc import Iterator
from typing import Any

from beam_pipeline.dataset.opening import DatasetInfo
from beam_pipeline.dataset.stated_values import compare_file
from beam_pipeline.describe import class_names, statistics, tensorflow_metadata, tfds
from beam_pipeline.files import storage

_DATASET_INFO = "dataset_info.json"


def description_problems(info: DatasetInfo) -> Iterator[str]:
    """What is wrong in the files that describe it, but for metadata.json."""
    if not info.compressed:  # else TFDS cannot read it, so there is none
        yield from _dataset_info_problems(info)
    if info.is_adopted:  # TFDS's own files may be kept
        return
    if not info.compressed:
        yield from _features_problems(info)
    texts = class_names.texts(info.features)
    if info.format_version == 1:
        texts.pop("label_map.csv", None)
    else:
        texts[tensorflow_metadata.FILE] = tensorflow_metadata.schema_text(info.features)
        num_records = {split: info.num_records(split) for split in info.splits}
        yield from compare_file(
            info.directory,
            statistics.FILE,
            statistics.stated_records,
            num_records,
            "its records are not those of metadata.json",
        )
    for name, text in texts.items():
        problem = "its classes or features are not those of metadata.json"
        yield from compare_file(info.directory, name, str, text, problem)


def _dataset_info_problems(info: DatasetInfo) -> Iterator[str]:
    if info.is_adopted and not storage.exists(storage.join(info.directory, _DATASET_INFO)):
        return  # it could not state the shards' names
    expected = {
        split: (
            [shard.num_records for shard in shards],
            0 if info.is_adopted else sum(shard.num_bytes for shard in shards),
        )
        for split, shards in info.splits.items()
    }

    def parse(text: str) -> Any:
        return {
            split["name"]: (
                list(map(int, split["shardLengths"])),
                0 if info.is_adopted else int(split["numBytes"]),  # TFDS counts other bytes
            )
            for split in json.loads(text)["splits"]
        }

    problem = "its splits are not those of metadata.json"
    yield from compare_file(info.directory, _DATASET_INFO, parse, expected, problem)


def _features_problems(info: DatasetInfo) -> Iterator[str]:
    keys = {key for feature in info.features for key in tfds.leaves(feature)}

    def parse(text: str) -> Any:
        return set(json.loads(text)["featuresDict"]["features"])

    problem = "its keys are not those of metadata.json's features"
    yield from compare_file(info.directory, "features.json", parse, keys, problem)
