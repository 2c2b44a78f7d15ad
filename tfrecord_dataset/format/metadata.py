"""Locates a dataset, and parses its metadata.json and statistics.json."""

import dataclasses
import functools
import glob
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
from tfrecord_dataset.json_file import JsonError, check_seal, parse_object, typed
from tfrecord_dataset.shown_text import one_line
from tfrecord_dataset.store.urls import is_object

if TYPE_CHECKING:  # loads the store library, which a build's worker processes do not need
    from tfrecord_dataset.store.folders import Folder

FILE = "metadata.json"
STATISTICS_FILE = "statistics.json"
FORMAT_VERSION = 3
VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_SHA256 = re.compile(r"[0-9a-f]{64}|")

# A feature's facts in statistics.json that are used.
_Numbers = float | None | list[float | None]
_FACTS: Mapping[str, Any] = {
    **dict.fromkeys(("classes", "strings"), Mapping[str, int]),
    **dict.fromkeys(("count", "missing"), int | list[int]),
    **dict.fromkeys(("minimum", "maximum", "mean", "variance"), _Numbers),
}
_BY_COLUMN = ("count", "missing", "minimum", "maximum", "mean", "variance")


def named_path(path: str | os.PathLike[str]) -> str:
    """Return the path that a caller of `open` gives.

    Raises:
        ConfigError: It is not a path.
    """
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise ConfigError(
            f"{one_line(repr(path))} is not a path; give the path of a dataset's folder or files"
        )
    return os.fspath(path)


def find_dataset(
    path: str, exists: Callable[[str], bool], folders: Callable[[str], Sequence[str]]
) -> str:
    """Return the dataset directory at `path`, or the newest version of the only one below it.

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
            if (match := VERSION.fullmatch(child)) and is_finished(os.path.join(folder, child))
        ]
        return os.path.join(folder, max(versions)[1]) if versions else None

    if here := path if is_finished(path) else newest_version(path):
        return here
    versions = {child: newest_version(os.path.join(path, child)) for child in folders(path)}
    newer = {child: version for child, version in versions.items() if version}
    if len(newer) > 1:
        raise ConfigError(
            f"{path} holds several datasets: {', '.join(newer)}; open one, such as "
            f"{os.path.join(path, min(newer))}"
        )
    if newer:
        return next(iter(newer.values()))
    raise NotADatasetError(
        f"{path} is not a finished dataset: neither it nor a version (1.0.0) below it has "
        f"a {FILE}. If its build was interrupted, run `beam-tfrecords build` again; open "
        "bare TFRecord files with a glob of their names, such as "
        f"{os.path.join(glob.escape(path), '*.tfrec*')}"
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ShardEntry:
    """An entry of metadata.json for a shard.

    Attributes:
        num_bytes: Size of the records before compression, with their framing.
        sha256: Hex digest of the file on disk; "" if unknown.
    """

    file: str
    num_records: int
    num_bytes: int
    sha256: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the entry as a JSON object."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(ShardEntry)}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _SplitEntry:
    num_records: int
    num_bytes: int
    shards: tuple[ShardEntry, ...]


def index_file(shard: str) -> str:
    """Return the path of the offsets and lengths of a shard's records for DALI.

    Relative to the dataset's directory, like the shard's path. The rows of the index are in another
    folder, since a folder with only Parquet opens as one table.
    """
    return f"idx/{shard}.idx"


def rows_file(shard: str) -> str:
    """Return the path of the rows of a shard's index, one per record."""
    return f"index/{shard}.parquet"


@dataclasses.dataclass(frozen=True, slots=True)
class FileEntry:
    """An entry of metadata.json for a file other than a shard."""

    num_bytes: int
    sha256: str

    @classmethod
    def of(cls, data: bytes) -> Self:
        """Return the entry of a file with these bytes."""
        return cls(len(data), hashlib.sha256(data).hexdigest())


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """Parsed metadata.json.

    Attributes:
        features: Features by name.
        splits: Shards by split.
        files: All other files except metadata.json and build.json, by path.
        fingerprint: Fingerprint of the content; empty if unknown.
        facts: The complete JSON object.
    """

    features: Mapping[str, Feature]
    splits: Mapping[str, tuple[ShardEntry, ...]]
    files: Mapping[str, FileEntry]
    fingerprint: str
    facts: Mapping[str, Any]

    def problems(self) -> Iterator[str]:
        """Contradictions, one per line."""
        for split, shards in self.splits.items():
            for count in ("num_records", "num_bytes"):
                stated = self.facts["splits"][split].get(count)
                if stated != (total := sum(getattr(shard, count) for shard in shards)):
                    yield f"split {split} states {stated} {count}, its shards {total}"
        names = Counter(shard.file for shards in self.splits.values() for shard in shards)
        yield from (f"it lists {name} {times} times" for name, times in names.items() if times > 1)


@functools.lru_cache(maxsize=1)  # a build checks what it wrote, opens it and draws its page
def parse_metadata(data: bytes, path: str) -> Metadata:
    """Parse the content of a file after checking its checksum and format.

    Raises:
        ConfigError: Another format version.
        DatasetDamagedError: Not the content that a build wrote.
    """
    try:
        value = _facts(data, path)
        splits = typed(value.get("splits"), Mapping[str, _SplitEntry], "splits")
        for name, split in splits.items():
            for number, shard in enumerate(split.shards):
                _check(shard, f"splits.{name}.shards[{number}]")
        files = typed(value.get("files", {}), Mapping[str, FileEntry], "files")
        for name, entry in files.items():
            inner_path(name, f"{FILE}: a path of files")
            _check_sha256(entry.sha256, f"files.{name}.sha256")
        return Metadata(
            features=_features(value.get("features")),
            splits={name: split.shards for name, split in splits.items()},
            files=files,
            fingerprint=typed(value.get("fingerprint", ""), str, "fingerprint"),
            facts=value,
        )
    except ValueError as error:
        raise damaged(path, error) from error


def damaged(path: str, error: object) -> DatasetDamagedError:
    """Return the error for a damaged metadata.json."""
    return DatasetDamagedError(
        f"{path} is not a dataset's metadata: {error}; restore it, or build the dataset again"
    )


def _facts(data: bytes, path: str) -> dict[str, Any]:
    value = parse_object(data)
    check_seal(data)  # first, to detect a version changed by a flipped bit
    version = typed(value.get("format_version"), int, "format_version")
    if version != FORMAT_VERSION:
        raise ConfigError(
            f"{path} has format version {version}, but this version reads {FORMAT_VERSION}; "
            "build the dataset again, or use the version of beam-tfrecords that wrote it"
        )
    return value


def _features(declared: Any) -> Mapping[str, Feature]:
    entries = typed(declared, list[Mapping[str, Any]], "features")
    try:
        return features_from_json(entries)
    except ConfigError as error:
        raise JsonError(str(error)) from error


def _check(shard: ShardEntry, place: str) -> None:
    if min(shard.num_records, shard.num_bytes) < 0:
        raise JsonError(f"{place} states a negative number")
    inner_path(shard.file, f"{FILE}: {place}.file")
    _check_sha256(shard.sha256, f"{place}.sha256")


def _check_sha256(value: str, place: str) -> None:
    if not _SHA256.fullmatch(value):
        raise JsonError(f"{place} is not a SHA-256 digest of 64 hex digits")


def read_stated(folder: "Folder", name: str, files: Mapping[str, FileEntry]) -> bytes | None:
    """Read a small file of a dataset; None if it is missing, or on a store and has no entry.

    Raises:
        DatasetDamagedError: The file differs from its entry.
        DatasetChangedError: Another build has replaced the dataset.
    """
    stated = files.get(name)
    if stated is None and is_object(folder.path):
        return None  # not worth a request
    data = folder.read(name)
    if data is not None and stated and FileEntry.of(data).sha256 != stated.sha256:
        folder.check()
        raise DatasetDamagedError(
            f"{os.path.join(folder.path, name)} does not match its sha256 in metadata.json; "
            "restore it, or build the dataset again"
        )
    return data


def read_statistics(
    folder: "Folder", files: Mapping[str, FileEntry]
) -> Mapping[str, Mapping[str, Any]]:
    """Read statistics.json by split and feature; empty if missing, as for adopted datasets.

    Raises:
        DatasetDamagedError: Not the content that a build wrote.
        DatasetChangedError: Another build has replaced the dataset.
    """
    data = read_stated(folder, STATISTICS_FILE, files)
    if data is None:
        folder.check()
        return {}
    return parse_statistics(data, os.path.join(folder.path, STATISTICS_FILE))


@functools.lru_cache(maxsize=1)
def parse_statistics(data: bytes, path: str) -> Mapping[str, Mapping[str, Any]]:
    """Parse the content of a statistics.json to facts by split and feature.

    Raises:
        DatasetDamagedError: Not the content that a build wrote.
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
