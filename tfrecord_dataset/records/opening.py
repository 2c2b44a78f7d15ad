"""Opens a dataset from a directory with metadata.json, or from bare TFRecord files."""

import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from tfrecord_dataset.errors import DatasetChangedError, DatasetDamagedError, NotADatasetError
from tfrecord_dataset.format import metadata
from tfrecord_dataset.format.inference import Sample
from tfrecord_dataset.format.metadata import FileEntry, ShardEntry, find_dataset, named_path
from tfrecord_dataset.records.bare_files import Schema, compression_of, open_files
from tfrecord_dataset.records.contents import Contents
from tfrecord_dataset.records.shard_files import ShardFiles
from tfrecord_dataset.records.split import Split
from tfrecord_dataset.store import storage
from tfrecord_dataset.store.cache import ShardCache
from tfrecord_dataset.store.folders import Folder, open_folder
from tfrecord_dataset.store.urls import is_web

_Opened = TypeVar("_Opened", bound=Contents)


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
    schema_of: Callable[[Sample], Schema] | None = None,
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
        NotADatasetError, ConfigError: As in `find_dataset` or `open_files`.
        DatasetDamagedError: metadata.json is damaged, or shards are missing.
    """
    cache = functools.partial(ShardCache, cache_dir, cache_bytes)
    if len(paths) == 1 and is_directory(paths[0]):
        return _open_directory(kind, paths[0], cache)
    return open_files(kind, paths, cache, schema_of, allow_missing_shards=allow_missing_shards)


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
        group_by=stated.group_by,
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
        num_bytes=sum(shard.num_bytes for shard in shards),
        sha256=sha256,
        read_rows=read_rows,
        check=folder.check,
    )
