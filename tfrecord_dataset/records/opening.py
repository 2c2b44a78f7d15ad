"""Opens a dataset from a directory with metadata.json, or from bare TFRecord files.

The splits, compression and features of bare files are detected, unless they are declared.
"""

import dataclasses
import functools
import itertools
import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from tfrecord_dataset.errors import (
    ConfigError,
    DatasetChangedError,
    DatasetDamagedError,
    NotADatasetError,
)
from tfrecord_dataset.format import metadata
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.frames import starts_frame
from tfrecord_dataset.format.inference import DECLARE, RecordSample, infer, observe
from tfrecord_dataset.format.metadata import FileEntry, ShardEntry, find_dataset, named_path
from tfrecord_dataset.format.split_names import check_all_shards, splits_of_record_files
from tfrecord_dataset.records.contents import Contents, Split
from tfrecord_dataset.records.shard_files import ShardFiles, windows
from tfrecord_dataset.shown_text import one_line
from tfrecord_dataset.store import storage
from tfrecord_dataset.store.cache import ShardCache
from tfrecord_dataset.store.folders import Folder, open_folder, open_pinned
from tfrecord_dataset.store.pinned_files import Files, changed
from tfrecord_dataset.store.urls import is_web

_LOG = logging.getLogger(__name__)
_Opened = TypeVar("_Opened", bound=Contents)

_PEEKED_BYTES = 4096
_GZIP_MAGIC = b"\x1f\x8b\x08"

# The sample has the first records of several files, evenly spread over all.
_SAMPLE_FILES = 16
_SAMPLE_RECORDS = 256
_SAMPLE_BYTES = 64 << 20


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """Features of the records in bare files, and advice for a record that does not fit them."""

    features: Mapping[str, Feature]
    remedy: str


def _open_files(
    kind: type[_Opened],
    patterns: Sequence[str],
    cache: Callable[[], ShardCache],
    schema_of: Callable[[RecordSample], Schema] | None = None,
    *,
    allow_missing_shards: bool = False,
) -> _Opened:
    """Open the dataset of the files that paths and globs match, as `open_paths`.

    A file given by name is opened without the other shards of its numbering.
    """
    path = ", ".join(patterns)
    files = _matching(patterns)
    if not allow_missing_shards and files != [*patterns][:1]:
        check_all_shards(files)
    names = names_below(files, patterns)
    splits = _splits_of(files, names, cache)
    try:
        sample = observe(first_records(files, splits.values()))
    except ValueError as error:
        raise NotADatasetError(
            f"{path} holds records that cannot be read as tf.train.Examples ({error}); convert them"
        ) from error
    schema = schema_of(sample) if schema_of else _inferred(path, sample)
    notes = _mixed_names(names)
    for note in notes:
        _LOG.warning("%s", one_line(note))
    return kind(
        path=path,
        features=schema.features,
        splits=splits,
        notes=tuple(notes),
        remedy=schema.remedy,
    )


def _inferred(path: str, sample: RecordSample) -> Schema:
    if not sample.keys:
        raise NotADatasetError(
            f"{path} has no record with any value, so its features cannot be inferred; "
            f'declare them by {DECLARE}, as {{"image": {{"kind": "image"}}, …}}'
        )
    return Schema(
        features=infer(sample),
        remedy=f"its features were inferred from the first records; declare that key by {DECLARE}",
    )


def check_exists(path: str) -> None:
    """Raise NotADatasetError if a local path or glob matches nothing."""
    local = [each for each in named_paths(path) if not storage.is_object(each)]
    _matching(each for each in local if not is_directory(each))


def _matching(patterns: Iterable[str]) -> list[str]:
    """Return the files that match paths and globs, without duplicates."""
    files: dict[str, None] = {}
    for pattern in patterns:
        if not (matching := storage.matching(pattern)):
            raise NotADatasetError(f"no file or directory {pattern}; check the path")
        for file in matching:
            folder, name = os.path.split(file)
            if name == metadata.FILE:
                raise NotADatasetError(
                    f"{pattern} matches {name} of a dataset, not only TFRecord files; give the "
                    f"dataset's folder, {folder or '.'}"
                )
        files |= dict.fromkeys(matching)
    return list(files)


def names_below(files: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Return the paths of `files` relative to the common folder of `patterns`."""
    starts = [re.split(r"[*?[{]", pattern, maxsplit=1)[0] for pattern in patterns]
    folders = [path.split("/")[:-1] for path in (*starts, *files)]
    levels = zip(*folders, strict=False)
    depth = len(list(itertools.takewhile(lambda level: len(set(level)) == 1, levels)))
    return ["/".join(file.split("/")[depth:]) for file in files]


def _splits_of(
    files: Sequence[str], names: Sequence[str], cache: Callable[[], ShardCache]
) -> dict[str, Split]:
    """Return the splits by name, if all of `names` state one; else a single split "train"."""
    grouped: dict[str, list[str]] = {}
    for file, split in zip(files, splits_of_record_files(names), strict=True):
        grouped.setdefault(split or "train", []).append(file)
    return {
        name: Split(name=name, shards=open_shards(members, cache))
        for name, members in grouped.items()
    }


def open_shards(names: Sequence[str], cache: Callable[[], ShardCache] = ShardCache) -> ShardFiles:
    """Open the files of a split.

    Raises:
        ConfigError: Only some are remote, or only some gzip.
        DatasetChangedError: A file was just deleted.
        BeamTFRecordsError: A file cannot be opened.
    """
    remote = [name for name in names if storage.is_object(name)]
    if remote and len(remote) < len(names):
        raise ConfigError(f"{remote[0]} is remote, but other files are not; open them separately")
    try:
        files = open_pinned(names, cache, [""] * len(names))
    except FileNotFoundError as error:
        raise changed(error.filename) from error
    return ShardFiles(files, compression_of(files))


def _mixed_names(names: Sequence[str]) -> list[str]:
    """Return a note if only some of `names` state a split, which is then ignored."""
    example = {bool(splits_of_record_files([name])[0]): name for name in reversed(names)}
    if len(example) < 2 or all(splits_of_record_files(names)):
        return []
    return [
        f"{example[True]} is named after a split, but {example[False]} is not, so all {len(names)} "
        "files are one split, train; open the files of each split separately, or rename them"
    ]


def compression_of(files: Files) -> str:
    """Detect the compression of a split's files; only a few of many files are opened."""
    file_of: dict[str, str] = {}
    for packed in (False, True):
        for number, name in enumerate(files.names):
            if name.endswith(".gz") is not packed:
                continue
            with files.open(number, _PEEKED_BYTES) as read:
                head = read(_PEEKED_BYTES, 0)
            if head:  # an empty file fits any compression
                file_of["GZIP" if is_gzip(head) else ""] = name
                break
    if len(file_of) > 1:
        raise ConfigError(
            f"{file_of['GZIP']} is gzip, but {file_of['']} of the same split is not; open them one "
            "by one, or make them alike"
        )
    return next(iter(file_of), "")


def is_gzip(head: bytes) -> bool:
    """Whether a file that starts with `head` is gzip.

    A plain TFRecord file starts with a length that may equal gzip's magic bytes.
    """
    return head.startswith(_GZIP_MAGIC) and not starts_frame(head)


def first_records(files: Sequence[str], splits: Iterable[Split]) -> Iterator[tuple[str, bytes]]:
    """Yield (where, serialized record) of sampled records, spread over the files.

    Takes the first 256 / n records of each of n files, up to 16, evenly spread over all; fewer if
    they exceed 64 MiB / n.

    Raises:
        DatasetDamagedError: A file is damaged, or not a TFRecord file.
    """
    places = {
        name: (number, split.shards) for split in splits for number, name in enumerate(split.files)
    }
    count = min(len(files), _SAMPLE_FILES)
    for place in range(count):
        name = files[place * len(files) // count]
        number, shards = places[name]
        left = _SAMPLE_BYTES // count
        found = windows(shards.files, number, shards.compression, left)
        records = itertools.chain.from_iterable(found)
        for index, record in enumerate(itertools.islice(records, _SAMPLE_RECORDS // count)):
            yield f"record {index} of {name}", record
            left -= len(record)
            if left <= 0:
                break


def named_paths(path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[str]:
    """Normalise the argument of `open`: a path or glob, or several.

    Raises:
        ConfigError: As in `named_path`.
    """
    listed: list[Any] = [path]
    if isinstance(path, Iterable) and not isinstance(path, str | bytes | os.PathLike):
        listed = [*path] or [""]
    return [storage.readable(named_path(each)) for each in listed]


def is_dataset(path: str) -> bool:
    """Whether a path names a directory with a dataset, rather than TFRecord files."""
    if not is_directory(path):
        return ".tfrecord" in path or ".record" in path
    try:
        find_dataset(path, storage.exists, storage.folders)
    except NotADatasetError:
        return False
    return True


def is_directory(path: str) -> bool:
    """Whether a folder exists; on a web server only a dataset's, with a URL without a query."""
    if is_web(path):
        return "?" not in path and storage.exists(os.path.join(path, metadata.FILE))
    return storage.is_folder(path)


def open_paths(
    kind: type[_Opened],
    paths: Sequence[str],
    cache_dir: str | None,
    cache_bytes: int | None,
    schema_of: Callable[[RecordSample], Schema] | None = None,
    *,
    allow_missing_shards: bool = False,
) -> _Opened:
    """Open the dataset at or below a folder, or in bare files, as an object of `kind`.

    Args:
        kind: Contents, or a subclass.
        paths: A folder, as in `find_dataset`, or files and globs.
        cache_dir: Folder for copies of remote files; None for the user's.
        cache_bytes: Maximal size of the copies; None for half of the disk.
        schema_of: Makes the schema of bare files from their first records; None infers it.

    Raises:
        NotADatasetError: There is no finished dataset, a file does not exist, or files have no
            Examples.
        ConfigError: As in `find_dataset` or `schema_of`, or a key has lists of two kinds.
        DatasetDamagedError: metadata.json or a file is damaged, or shards are missing.
    """
    cache = functools.partial(ShardCache, cache_dir, cache_bytes)
    if len(paths) == 1 and is_directory(paths[0]):
        return _open_directory(kind, paths[0], cache)
    return _open_files(kind, paths, cache, schema_of, allow_missing_shards=allow_missing_shards)


def _open_directory(kind: type[_Opened], path: str, cache: Callable[[], ShardCache]) -> _Opened:
    directory = find_dataset(path, storage.exists, storage.folders)
    folder = open_folder(directory, metadata.FILE, cache)
    if folder.content is None:
        raise DatasetChangedError(
            f"{directory} was deleted, or is being built again; start again once it is there"
        )
    file = os.path.join(directory, metadata.FILE)
    stated = metadata.parse_metadata(folder.content, file)
    for problem in stated.problems():
        raise metadata.damaged(file, problem)
    return kind(
        path=directory,
        features=stated.features,
        splits={
            name: _split(folder, name, shards, stated.files)
            for name, shards in stated.splits.items()
        },
        fingerprint=stated.fingerprint,
        facts=stated.facts,
        read_statistics=functools.partial(metadata.read_statistics, folder, stated.files),
    )


def _split(
    folder: Folder, name: str, shards: Sequence[ShardEntry], listed: Mapping[str, FileEntry]
) -> Split:
    sha256 = tuple(shard.sha256 for shard in shards)
    names = [shard.file for shard in shards]
    files = folder.files(names, sha256, f"shards of split {name!r}")
    compression = compression_of(files)
    for number, shard in enumerate(shards):
        if not compression and files.num_bytes(number) != shard.num_bytes:
            raise DatasetDamagedError(
                f"{files.names[number]} has {files.num_bytes(number):,} bytes, but metadata.json "
                f"states {shard.num_bytes:,}: it was cut or changed; copy that file again, or "
                "build the dataset again"
            )

    def read_index(number: int) -> bytes | None:
        return metadata.read_stated(folder, metadata.index_file(names[number]), listed)

    def read_rows(number: int) -> bytes | None:
        name = metadata.rows_file(names[number])
        return metadata.read_stated(folder, name, listed) if name in listed else None

    return Split(
        name=name,
        shards=ShardFiles(files, compression, read_index),
        num_records=sum(shard.num_records for shard in shards),
        shard_lengths=tuple(shard.num_records for shard in shards),
        num_bytes=sum(shard.num_bytes for shard in shards),
        sha256=sha256,
        read_rows=read_rows,
        check=folder.check,
    )
