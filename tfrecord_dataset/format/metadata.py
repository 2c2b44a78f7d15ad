"""Where a dataset lies, and its metadata.json and statistics.json: checked, then taken."""

import dataclasses
import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from tfrecord_dataset.errors import ConfigError, DatasetDamagedError, NotADatasetError
from tfrecord_dataset.format.declaration import features_from_json
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.inner_paths import inner_path
from tfrecord_dataset.json_file import JsonError, parse_object, typed
from tfrecord_dataset.sealed_json import check_seal
from tfrecord_dataset.shown_text import one_line

if TYPE_CHECKING:  # it loads the library of stores, which worker processes of a build do without
    from tfrecord_dataset.store.folders import Folder

FILE = "metadata.json"
STATISTICS_FILE = "statistics.json"
FORMAT_VERSION = 3
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_SHA256 = re.compile(r"[0-9a-f]{64}|")

# What statistics.json may state of a feature, of what is used.
_Numbers = float | None | list[float | None]
_FACTS: Mapping[str, Any] = {
    **dict.fromkeys(("classes", "strings"), Mapping[str, int]),
    **dict.fromkeys(("count", "missing"), int | list[int]),
    **dict.fromkeys(("minimum", "maximum", "mean", "variance"), _Numbers),
}
_BY_COLUMN = ("count", "missing", "minimum", "maximum", "mean", "variance")


def named_path(path: str | os.PathLike[str]) -> str:
    """The path that a caller of `open` names.

    Raises:
        ConfigError: It is none.
    """
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise ConfigError(
            f"{one_line(repr(path))} names no dataset; give the path of its folder or files"
        )
    return os.fspath(path)


def find_dataset(
    path: str, exists: Callable[[str], bool], folders: Callable[[str], Sequence[str]]
) -> str:
    """The dataset directory at or below `path`: itself, or the newest version of the only one.

    Args:
        path: Of a folder.
        exists: Whether there is a file at a path.
        folders: The names of the folders in a folder.

    Raises:
        NotADatasetError: There is no finished dataset.
        ConfigError: There are several datasets.
    """

    def is_finished(folder: str) -> bool:
        return exists(os.path.join(folder, FILE))

    def newest_version(folder: str) -> str | None:
        versions = [
            (tuple(map(int, match.groups())), child)
            for child in folders(folder)
            if (match := _VERSION.fullmatch(child)) and is_finished(os.path.join(folder, child))
        ]
        return os.path.join(folder, max(versions)[1]) if versions else None

    if here := path if is_finished(path) else newest_version(path):
        return here
    versions = {child: newest_version(os.path.join(path, child)) for child in folders(path)}
    found = {child: version for child, version in versions.items() if version}
    if len(found) > 1:
        raise ConfigError(
            f"{path} holds several datasets: {', '.join(found)}; open one, such as "
            f"{os.path.join(path, min(found))}"
        )
    if found:
        return next(iter(found.values()))
    raise NotADatasetError(
        f"{path} is not a finished dataset: there is no {FILE} in it, nor in a version "
        "(1.0.0) below it. Its build was interrupted, or it never was a dataset: run "
        "`python -m beam_pipeline build` (again), or open bare TFRecord files by a glob: "
        f"{os.path.join(path, '*.tfrecord*')}"
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ShardEntry:
    """A shard as metadata.json lists it.

    Attributes:
        file: Its path in the dataset's directory.
        num_records: Records in it.
        num_bytes: Bytes of the records before compression, with their framing.
        sha256: Hex digest of the file as it lies on disk; "" where nothing states it.
    """

    file: str
    num_records: int
    num_bytes: int
    sha256: str

    def to_json(self) -> dict[str, Any]:
        """The entry's object in metadata.json."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(ShardEntry)}


def index_file(shard: str) -> str:
    """The path of the offsets and lengths of a shard's records, as DALI reads them.

    It is in the dataset's directory, as the shard's is; not beside the rows of its index: a folder
    of Parquet alone opens as one table.
    """
    return f"idx/{shard}.idx"


def rows_file(shard: str) -> str:
    """The path of the rows of a shard's index, a row a record, in the dataset's directory."""
    return f"index/{shard}.parquet"


@dataclasses.dataclass(frozen=True, slots=True)
class FileEntry:
    """A file that is no shard, as metadata.json lists it.

    Attributes:
        num_bytes: Its size on disk.
        sha256: Hex digest of it.
    """

    num_bytes: int
    sha256: str

    @classmethod
    def of(cls, data: bytes) -> Self:
        """The entry of a file with these bytes."""
        return cls(len(data), hashlib.sha256(data).hexdigest())


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What is read of metadata.json.

    Attributes:
        features: By name.
        splits: The shards of each.
        files: All other files but metadata.json and build.json, by path.
        fingerprint: Of the content; empty if it is not stated.
        facts: All that it states, as it stands there.
    """

    features: Mapping[str, Feature]
    splits: Mapping[str, tuple[ShardEntry, ...]]
    files: Mapping[str, FileEntry]
    fingerprint: str
    facts: Mapping[str, Any]

    @property
    def group_by(self) -> str:
        """`--group-by` of the build; "" for none."""
        config = self.facts.get("config")
        stated = config.get("group_by") if isinstance(config, Mapping) else None
        return stated if isinstance(stated, str) else ""

    def problems(self) -> Iterator[str]:
        """Where it contradicts itself, a line each."""
        for split, shards in self.splits.items():
            for count in ("num_records", "num_bytes"):
                stated = self.facts["splits"][split].get(count)
                if stated != (total := sum(getattr(shard, count) for shard in shards)):
                    yield f"split {split} states {stated} {count}, its shards {total}"
        names = Counter(shard.file for shards in self.splits.values() for shard in shards)
        yield from (f"it lists {name} {times} times" for name, times in names.items() if times > 1)


def parse_metadata(data: bytes, path: str) -> Metadata:
    """The metadata in the content of a file, once its checksum and format are known to be right.

    Args:
        data: The content.
        path: Of the file, for messages.

    Raises:
        ConfigError: It is of another format.
        DatasetDamagedError: It is not what a build wrote.
    """
    try:
        value = _facts(data, path)
        splits = typed(value.get("splits"), Mapping[str, Mapping[str, Any]], "splits")
        files = typed(value.get("files", {}), Mapping[str, FileEntry], "files")
        for name, entry in files.items():
            inner_path(name, f"{FILE}: a path of files")
            _check_sha256(entry.sha256, f"files.{name}.sha256")
        return Metadata(
            features=_features(value.get("features")),
            splits={name: _shards(entry, f"splits.{name}") for name, entry in splits.items()},
            files=files,
            fingerprint=typed(value.get("fingerprint", ""), str, "fingerprint"),
            facts=value,
        )
    except ValueError as error:
        raise damaged(path, error) from error


def damaged(path: str, error: object) -> DatasetDamagedError:
    """The error for a metadata.json that is not what a build wrote."""
    return DatasetDamagedError(
        f"{path} is not a dataset's metadata: {error}; restore it, or build the dataset again"
    )


def _facts(data: bytes, path: str) -> dict[str, Any]:
    value = parse_object(data)
    check_seal(data)  # so a version that a flipped bit makes another one is found
    version = typed(value.get("format_version"), int, "format_version")
    if version != FORMAT_VERSION:
        raise ConfigError(
            f"{path} has format version {version}, but this program reads {FORMAT_VERSION}; "
            "build the dataset again, or use the version of this program that wrote it"
        )
    return value


def _features(declared: Any) -> Mapping[str, Feature]:
    entries = typed(declared, list[Mapping[str, Any]], "features")
    try:
        return features_from_json(entries)
    except ConfigError as error:
        raise JsonError(str(error)) from error


def _shards(entry: Mapping[str, Any], place: str) -> tuple[ShardEntry, ...]:
    listed = typed(entry.get("shards"), list[Mapping[str, Any]], f"{place}.shards")
    fields = [field.name for field in dataclasses.fields(ShardEntry)]
    shards = []
    for number, stated in enumerate(listed):
        where = f"{place}.shards[{number}]"
        known = {"sha256": ""} | {name: stated[name] for name in fields if name in stated}
        shard: ShardEntry = typed(known, ShardEntry, where)
        if min(shard.num_records, shard.num_bytes) < 0:
            raise JsonError(f"{where} states a negative number")
        inner_path(shard.file, f"{FILE}: {where}.file")
        _check_sha256(shard.sha256, f"{where}.sha256")
        shards.append(shard)
    return tuple(shards)


def _check_sha256(value: str, place: str) -> None:
    if not _SHA256.fullmatch(value):
        raise JsonError(f"{place} is no SHA-256, which has 64 digits of 0-9 and a-f")


def read_stated(folder: "Folder", name: str, files: Mapping[str, FileEntry]) -> bytes | None:
    """The content of a small file of a dataset; None if there is none.

    Args:
        folder: The dataset's.
        name: Path of the file in it.
        files: What metadata.json states of all, by path.

    Raises:
        DatasetDamagedError: It is another file than metadata.json states.
        DatasetChangedError: Another build took the dataset's place.
    """
    data = folder.read(name)
    stated = files.get(name)
    if data is not None and stated and FileEntry.of(data).sha256 != stated.sha256:
        folder.commit.check()
        raise DatasetDamagedError(
            f"{os.path.join(folder.path, name)} is not the file that metadata.json states: its "
            "sha256 differs; restore it, or build the dataset again"
        )
    return data


def read_statistics(
    folder: "Folder", files: Mapping[str, FileEntry]
) -> Mapping[str, Mapping[str, Any]]:
    """What statistics.json states by split and feature; nothing without it, as where adopted.

    Raises:
        DatasetDamagedError: It is not what a build wrote.
        DatasetChangedError: Another build took the dataset's place.
    """
    data = read_stated(folder, STATISTICS_FILE, files)
    return (
        {} if data is None else parse_statistics(data, os.path.join(folder.path, STATISTICS_FILE))
    )


def parse_statistics(data: bytes, path: str) -> Mapping[str, Mapping[str, Any]]:
    """The facts by split and feature in the content of a statistics.json.

    Args:
        data: The content.
        path: Path of the file, for messages.

    Raises:
        DatasetDamagedError: It is not what a build wrote.
    """
    try:
        splits = parse_object(data).get("splits")
        by_split = typed(splits, Mapping[str, Mapping[str, Any]], "splits")
        return {name: _statistics(entry, f"splits.{name}") for name, entry in by_split.items()}
    except JsonError as error:
        raise DatasetDamagedError(
            f"{path} is not a dataset's statistics: {error}; restore it, delete it, or build the "
            "dataset again"
        ) from error


def _statistics(entry: Mapping[str, Any], place: str) -> Mapping[str, Mapping[str, Any]]:
    place = f"{place}.features"
    features = typed(entry.get("features"), Mapping[str, Mapping[str, Any]], place)
    return {name: _value_facts(stated, f"{place}.{name}") for name, stated in features.items()}


def _value_facts(stated: Mapping[str, Any], place: str) -> Mapping[str, Any]:
    facts = {
        name: typed(stated[name], expected, f"{place}.{name}")
        for name, expected in _FACTS.items()
        if name in stated
    }
    for name in ("classes", "strings"):
        if min(facts.get(name, {}).values(), default=0) < 0:
            raise JsonError(f"{place}.{name} states a negative number")
    columns = {
        len(value) if isinstance(value, list) else 0
        for value in map(facts.get, _BY_COLUMN)
        if value is not None
    }
    if len(columns) > 1:
        raise JsonError(f"{place} states lists of different lengths")
    return facts
