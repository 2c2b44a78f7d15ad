"""A dataset directory, opened by its metadata.json."""

import dataclasses
import json
import re
from collections.abc import Mapping
from typing import Any

from beam_pipeline.describe.metadata import FILE, FORMAT_VERSION
from beam_pipeline.describe.shard_info import ShardEntry
from beam_pipeline.errors import ConfigError, DatasetDamagedError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.schema.feature import Feature


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DatasetInfo:
    """A finished dataset.

    Attributes:
        directory: Where it lies.
        metadata: All of metadata.json.
        features: The schema.
        splits: Shards by split.
    """

    directory: str
    metadata: Mapping[str, Any]
    features: tuple[Feature, ...]
    splits: Mapping[str, tuple[ShardEntry, ...]]

    @property
    def format_version(self) -> int:
        """Of its files (docs/format.md)."""
        return int(self.metadata["format_version"])

    @property
    def compressed(self) -> bool:
        """Whether the shards are gzip files."""
        return bool(self.metadata["config"]["compression"] != "none")

    @property
    def is_adopted(self) -> bool:
        """Whether the shards are others' files, which this project only described."""
        return bool(self.metadata["config"].get("adopted"))

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the main classes, in the order of their numbers."""
        return tuple(self.metadata["classes"])

    def num_records(self, split: str) -> int:
        """Records of a split."""
        return sum(shard.num_records for shard in self.splits[split])


def is_dataset(directory: str) -> bool:
    """Whether `directory` holds a committed dataset."""
    return storage.exists(storage.join(directory, FILE))


def find_dataset(path: str) -> str:
    """The dataset's directory at `path`: itself, or the newest version below it.

    Raises:
        ConfigError: There is not a finished dataset, or below `path` are several.
    """
    path = storage.absolute(path)
    if is_dataset(path):
        return path
    folders = [storage.join(path, name) for name in storage.list_dir(path)]
    datasets = [newest for each in (path, *folders) if (newest := _newest_version(each))]
    if len(datasets) != 1:
        several = f"holds several datasets ({', '.join(datasets)})"
        what = several if datasets else "is not a finished dataset"
        raise ConfigError(
            f"{path} {what}; give a directory <output>/<name>/<version> with a {FILE}, which a "
            "build writes last"
        )
    return datasets[0]


def _newest_version(folder: str) -> str:
    """The newest version of a dataset in the folder of its name, or ""."""
    versions = [
        (tuple(map(int, name.split("."))), storage.join(folder, name))
        for name in storage.list_dir(folder)
        if re.fullmatch(r"\d+\.\d+\.\d+", name) and is_dataset(storage.join(folder, name))
    ]
    return max(versions)[1] if versions else ""


def open_dataset(path: str) -> DatasetInfo:
    """The dataset at `path`: its directory, or one above it (then the newest version).

    Raises:
        ConfigError: There is not a finished dataset.
        DatasetDamagedError: Its metadata.json is invalid.
    """
    directory = find_dataset(path)
    path = storage.join(directory, FILE)
    try:
        metadata = json.loads(storage.read_text(path))
        if metadata["format_version"] > FORMAT_VERSION:
            raise DatasetDamagedError(
                f"{path} has format_version {metadata['format_version']}, this program knows "
                f"{FORMAT_VERSION}; update beam-tfrecords"
            )
        return DatasetInfo(
            directory=directory,
            metadata=metadata,
            features=tuple(map(Feature.from_json, metadata["features"])),
            splits={
                name: tuple(ShardEntry(**shard) for shard in split["shards"])
                for name, split in metadata["splits"].items()
            },
        )
    except (RecordError, ValueError, KeyError, TypeError) as error:
        raise DatasetDamagedError(f"{path} is invalid: {error!r}") from error
