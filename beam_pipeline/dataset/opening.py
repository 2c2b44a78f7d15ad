"""Opens a dataset directory by its metadata.json."""

import contextlib
import dataclasses
import hashlib
import os
from collections.abc import Mapping
from typing import Any

from beam_pipeline.errors import (
    BeamTFRecordsError,
    ConfigError,
    DataError,
    DatasetChangedError,
    RecordError,
)
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef
from beam_pipeline.schema.declaration import check_stated
from tfrecord_dataset.errors import UnknownNameError
from tfrecord_dataset.format import metadata
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.metadata import (
    FILE,
    STATISTICS_FILE,
    FileEntry,
    ShardEntry,
    damaged,
    parse_metadata,
    parse_statistics,
)
from tfrecord_dataset.json_file import MAX_BYTES, JsonError, typed

# Parts of metadata.json that only this package requires.
_KINDS: Mapping[str, Any] = {
    **dict.fromkeys(("name", "version"), str),
    "classes": tuple[str, ...],
    **dict.fromkeys(("changes", "rejected"), dict[str, int]),
    "config": dict[str, Any],
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A finished dataset.

    Attributes:
        path: Local or remote directory.
        sha256: Hex digest of metadata.json, which identifies the build.
        metadata: Content of metadata.json.
        features: Features by name.
        splits: Shards by split.
        files: All other files except metadata.json and build.json, by path.
        problems: Contradictions in metadata.json, one per line.
    """

    path: str
    sha256: str
    metadata: Mapping[str, Any]
    features: Mapping[str, Feature]
    splits: Mapping[str, tuple[ShardEntry, ...]]
    files: Mapping[str, FileEntry]
    problems: tuple[str, ...]

    def __repr__(self) -> str:
        """Short form for notebooks and debuggers."""
        counts = ", ".join(f"{self.num_records(split):,} in {split}" for split in self.splits)
        return f"<Dataset {self.path}: {counts or 'no records'}>"

    def _repr_html_(self) -> str:
        """HTML for notebooks."""
        from tfrecord_dataset.records.contents import as_html  # not needed by builds

        counts = [(split, f"{self.num_records(split):,}") for split in self.splits]
        return as_html(self.path, counts, self.schema)

    @property
    def schema(self) -> tuple[Feature, ...]:
        """The features in order."""
        return tuple(self.features.values())

    @property
    def compressed(self) -> bool:
        """Whether the shards are gzip files."""
        return bool(self.metadata["config"]["compression"] != "none")

    @property
    def is_adopted(self) -> bool:
        """Whether the shards are existing files that this project only described."""
        return bool(self.metadata["config"].get("adopted"))

    @property
    def holds_existing_examples(self) -> bool:
        """Whether the input records were already Examples."""
        return self.is_adopted or bool(self.metadata.get("existing_examples"))

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the main classes, in the order of their numbers."""
        return tuple(self.metadata["classes"])

    def num_records(self, split: str) -> int:
        """Return the number of records of a split; UnknownNameError if there is no such split."""
        if split not in self.splits:
            raise UnknownNameError("split", split, self.splits, self.path)
        return sum(shard.num_records for shard in self.splits[split])


def is_dataset(directory: str) -> bool:
    """Whether `directory` holds a committed dataset."""
    return storage.exists(storage.join(directory, FILE))


def find_dataset(path: str | os.PathLike[str]) -> str:
    """Return the dataset's directory: `path`, or the newest version below it.

    Raises:
        ConfigError: There is no finished dataset, or several below `path`.
    """
    directory = storage.absolute(metadata.named_path(path))
    return metadata.find_dataset(directory, storage.exists, _folders)


def _folders(path: str) -> tuple[str, ...]:
    return storage.list_folder(path).folders


def open(path: str | os.PathLike[str]) -> Dataset:
    """Open the dataset at `path`: its directory, or the parent of its versions (opens the newest).

        >>> info = beam_pipeline.open("data/cells")
        >>> info.classes, info.num_records("train")
        (('Platelets', 'RBC', 'WBC'), 24)

    Raises:
        ConfigError: No finished dataset, or an unsupported format version.
        DatasetDamagedError: Its metadata.json is damaged.
    """
    directory = find_dataset(path)
    return _parse(_read(storage.join(directory, FILE)), directory)


def _read(file: str) -> bytes:
    try:
        return storage.read_bytes(FileRef(path=file), MAX_BYTES)
    except RecordError as error:
        raise damaged(file, error) from error


def statistics_of(info: Dataset) -> Mapping[str, Mapping[str, Any]]:
    """Read statistics.json by split and feature; empty if it is missing."""
    if STATISTICS_FILE not in info.files:
        return {}
    file = storage.join(info.path, STATISTICS_FILE)
    return parse_statistics(_read(file), file)


def check_readable(directory: str, texts: Mapping[str, str]) -> None:
    """Raise DataError unless new descriptions, by file name, can be opened as a dataset."""
    directory = storage.absolute(directory)
    try:
        for problem in _parse(texts[FILE].encode(), directory).problems:
            raise damaged(storage.join(directory, FILE), problem)
        if STATISTICS_FILE in texts:
            path = storage.join(directory, STATISTICS_FILE)
            parse_statistics(texts[STATISTICS_FILE].encode(), path)
    except (BeamTFRecordsError, ValueError) as error:
        raise DataError(
            f"nothing was committed: the new dataset could not be opened again: {error}"
        ) from error


def _parse(data: bytes, directory: str) -> Dataset:
    """Parse the dataset that metadata.json describes."""
    file = storage.join(directory, FILE)
    stated = parse_metadata(data, file)
    try:
        _check(stated.facts, stated.features)
    except (ConfigError, JsonError) as error:
        raise damaged(file, error) from error
    return Dataset(
        path=directory,
        sha256=hashlib.sha256(data).hexdigest(),
        metadata=stated.facts,
        features=stated.features,
        splits=stated.splits,
        files=stated.files,
        problems=tuple(stated.problems()),
    )


def _check(facts: Mapping[str, Any], features: Mapping[str, Feature]) -> None:
    """Raise JsonError or ConfigError for contradictions in metadata.json."""
    for name, kind in _KINDS.items():
        typed(facts.get(name), kind, name)
    typed(facts["config"].get("compression"), str, "config.compression")
    check_stated(facts["features"], features)


def check_unchanged(info: Dataset) -> None:
    """Raise DatasetChangedError if another build has replaced the dataset since it was opened."""
    with contextlib.suppress(RecordError):  # missing or damaged, so not another build
        if storage.sha256_of(storage.join(info.path, FILE)) != info.sha256:
            raise DatasetChangedError(
                f"{info.path} was built again while it was read; run the command again, or "
                "build another --version next time"
            )
