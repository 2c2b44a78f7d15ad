"""A dataset directory, opened by its metadata.json."""

import contextlib
import dataclasses
import hashlib
from collections.abc import Mapping
from typing import Any

from beam_pipeline.errors import ConfigError, DatasetChangedError, DatasetDamagedError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef
from beam_pipeline.schema.declaration import parse_schema
from tfrecord_dataset import finding
from tfrecord_dataset.feature import Feature
from tfrecord_dataset.inner_paths import inner_path
from tfrecord_dataset.json_file import MAX_BYTES, JsonError, typed
from tfrecord_dataset.metadata import FILE, FIRST_SEALED, FileEntry, ShardEntry, stated_facts


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DatasetInfo:
    """A finished dataset.

    Attributes:
        directory: Where it lies.
        sha256: Of metadata.json, in hex: what tells it from another build's.
        metadata: All of metadata.json.
        features: The schema.
        splits: Shards by split.
        files: All other files but metadata.json and build.json, by path; none of a dataset of
            format version 1 or 2, which does not list them.
    """

    directory: str
    sha256: str
    metadata: Mapping[str, Any]
    features: tuple[Feature, ...]
    splits: Mapping[str, tuple[ShardEntry, ...]]
    files: Mapping[str, FileEntry]

    @property
    def format_version(self) -> int:
        """Of its files (docs/format.md)."""
        return int(self.metadata["format_version"])

    @property
    def lists_files(self) -> bool:
        """Whether `files` are all; formats 1 and 2 list none."""
        return self.format_version >= FIRST_SEALED

    @property
    def compressed(self) -> bool:
        """Whether the shards are gzip files."""
        return bool(self.metadata["config"]["compression"] != "none")

    @property
    def is_adopted(self) -> bool:
        """Whether the shards are others' files, which this project only described."""
        return bool(self.metadata["config"].get("adopted"))

    @property
    def holds_existing_examples(self) -> bool:
        """Whether the records were Examples already; formats 1 and 2 do not tell of all."""
        config = self.metadata["config"]
        maybe = not self.lists_files and bool(config.get("schema"))
        return self.is_adopted or maybe or bool(self.metadata.get("existing_examples"))

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the main classes, in the order of their numbers."""
        return tuple(self.metadata["classes"])

    def num_records(self, split: str) -> int:
        """Records of a split."""
        return sum(shard.num_records for shard in self.splits[split])


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Split:
    """A split as metadata.json lists it."""

    num_records: int
    num_bytes: int
    shards: tuple[ShardEntry, ...]


def is_dataset(directory: str) -> bool:
    """Whether `directory` holds a committed dataset."""
    return storage.exists(storage.join(directory, FILE))


def find_dataset(path: str) -> str:
    """The dataset's directory at `path`: itself, or the newest version below it.

    Raises:
        ConfigError: There is not a finished dataset, or below `path` are several.
    """
    return finding.find_dataset(storage.absolute(path), storage.exists, _folders)


def _folders(path: str) -> tuple[str, ...]:
    return storage.list_folder(path).folders


def open_dataset(path: str) -> DatasetInfo:
    """The dataset at `path`: its directory, or one above it (then the newest version).

    Raises:
        ConfigError: There is not a finished dataset, or it is of a later format version.
        DatasetDamagedError: Its metadata.json is damaged.
    """
    directory = find_dataset(path)
    file = storage.join(directory, FILE)
    try:
        data = storage.read_bytes(FileRef(path=file), MAX_BYTES)
        metadata = stated_facts(data, file)
        return _dataset_info(directory, hashlib.sha256(data).hexdigest(), metadata)
    except (RecordError, ValueError) as error:
        raise DatasetDamagedError(
            f"{file} is damaged: {error}; restore it from a copy, or make the dataset again"
        ) from error


def check_unchanged(info: DatasetInfo) -> None:
    """Checks that a dataset, of which something was found amiss, is still the one that was opened.

    Raises:
        DatasetChangedError: Another build has taken its place.
    """
    with contextlib.suppress(RecordError):  # it is missing or damaged: that is no other build
        if storage.sha256_of(storage.join(info.directory, FILE)) != info.sha256:
            raise DatasetChangedError(
                f"{info.directory} was built again while it was read; run the command again, or "
                "build another --version next time"
            )


def _dataset_info(directory: str, sha256: str, metadata: dict[str, Any]) -> DatasetInfo:
    """Raises JsonError where metadata.json states something that it cannot."""

    def stated(name: str, kind: Any) -> Any:
        return typed(metadata.get(name), kind, name)

    stated("name", str)
    stated("version", str)
    stated("classes", tuple[str, ...])
    stated("changes", dict[str, int])
    stated("rejected", dict[str, int])
    config = stated("config", dict[str, Any])
    typed(config.get("compression"), str, "config.compression")
    splits: dict[str, _Split] = stated("splits", dict[str, _Split])
    files: dict[str, FileEntry] = stated("files", dict[str, FileEntry] | None) or {}
    for split, each in splits.items():
        for number, shard in enumerate(each.shards):
            inner_path(shard.file, f"{FILE}: splits.{split}.shards[{number}].file")
    for path in files:
        inner_path(path, f"{FILE}: a path of files")
    return DatasetInfo(
        directory=directory,
        sha256=sha256,
        metadata=metadata,
        features=_features(stated("features", list[dict[str, Any]])),
        splits={split: each.shards for split, each in splits.items()},
        files=files,
    )


def _features(stated: list[dict[str, Any]]) -> tuple[Feature, ...]:
    features = typed(stated, tuple[Feature, ...], "features")
    try:
        if stated:
            parse_schema(stated)
    except ConfigError as error:
        raise JsonError(f"features: {error}") from error
    return tuple(features)
