"""Opens a dataset: a directory with metadata.json, a parent of one, or bare TFRecord files."""

import functools
import os
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from tfrecord_dataset.feature import Feature
from trainer.dataset import Dataset, metadata
from trainer.dataset.bare_files import declared_schema, inferred_schema, open_files, training_schema
from trainer.dataset.declaration import Declaration, read_schema
from trainer.dataset.files import compression_of
from trainer.dataset.metadata import StatedShard
from trainer.errors import ConfigError, DatasetChangedError, DatasetDamagedError, NotADatasetError
from trainer.records.shard_files import ShardFiles, index_beside
from trainer.records.split import Split
from trainer.store import storage
from trainer.store.cache import Cache
from trainer.store.folders import Folder, open_folder

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)$")


def open(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    features: Declaration | None = None,
    *,
    cache_dir: str | None = None,
    cache_bytes: int | None = None,
) -> Dataset:
    """Opens a dataset.

    Args:
        path: A dataset directory (…/name/version); or its parent, for the newest
            finished version; or the parent of that, if it holds only one dataset; or a
            glob, a file, or a list of them, of TFRecord files, plain or gzip. Local, or on a
            store: gs://, s3://, az:// or https:// (docs/object-stores.md).
        features: Of bare files: as in metadata.json's `features`, a list of
            `{"name", "kind", …}`; or a mapping from name to such a declaration, to a `tf.io`
            spec as for `tf.io.parse_example`, or to a Feature of another dataset.
            Without it every key is a feature, whose kind is inferred from up to 256 records,
            the first of up to 16 files; guesses are in `Dataset.notes`, and logged as
            warnings of the logger "trainer".
        cache_dir: A local folder for copies of a store's shards, which processes may share;
            by default `~/.cache/beam-tfrecords/shards`.
        cache_bytes: What these copies may take; by default half of the space on their disk
            that is free, or theirs. Those that were not used for longest are deleted.

    If the names of all bare files state a split, these are the splits: as in TFDS
    (`cells-train.tfrecord-00000-of-00008`), else by a folder after the first wildcard
    (`train/0.tfrecord`), else by a word (`val_1.tfrecord`, `coco_test.record`). Otherwise the
    files are one split `train`.

    Raises:
        NotADatasetError: A directory without a finished dataset, no such file, or files
            without Examples.
        ConfigError: A declaration is wrong, or contradicts the first records.
        DatasetDamagedError: metadata.json cannot be read, shards that it lists are missing,
            or a file is damaged.
    """
    cache = cache_of(cache_dir, cache_bytes)
    if isinstance(path, str | os.PathLike):
        patterns = [storage.readable(os.fspath(path))]
        if _is_directory(patterns[0]):
            if features is not None:
                raise _of_bare_files("features=", patterns[0])
            return _open_directory(patterns[0], cache)
    else:
        patterns = [storage.readable(os.fspath(item)) for item in path]
    names = ", ".join(patterns)
    if features is None:
        schema_of = functools.partial(inferred_schema, names)
    else:
        schema_of = functools.partial(declared_schema, features)
    return open_files(names, patterns, schema_of, cache)


def open_data(
    data: str,
    schema: str | None = None,
    training_features: Mapping[str, Feature] | None = None,
    cache: Callable[[], Cache] = storage.open_cache,
) -> Dataset:
    """Opens the dataset of a command's --data.

    Args:
        data: A directory with metadata, as for `open`; or a path or glob of bare files.
        schema: The file of --schema, which declares the features of bare files.
        training_features: Of a run's training data, for bare files without
            `schema`; without either, features are inferred.
        cache: Opens the cache for copies of remote files.

    Raises:
        TrainerError: As for `open`; or bare files do not fit `training_features`.
    """
    data = storage.readable(data)
    if _is_directory(data):
        if schema is not None:
            raise _of_bare_files("--schema", data)
        return _open_directory(data, cache)
    if schema is not None:
        schema_of = functools.partial(declared_schema, read_schema(schema))
    elif training_features:
        schema_of = functools.partial(training_schema, training_features)
    else:
        schema_of = functools.partial(inferred_schema, data)
    return open_files(data, [data], schema_of, cache)


def is_dataset(path: str) -> bool:
    """Whether a path names a directory with a dataset, or TFRecord files by their names."""
    if not _is_directory(path):
        return ".tfrecord" in path or ".record" in path
    try:
        find_dataset(path)
    except NotADatasetError:
        return False
    return True


def cache_of(folder: str | None, max_bytes: int | None) -> Callable[[], Cache]:
    """Opens the cache for copies of remote files, once there are some."""
    return functools.partial(storage.open_cache, folder, max_bytes)


def _of_bare_files(argument: str, path: str) -> ConfigError:
    return ConfigError(
        f"{argument} is for bare TFRecord files, but {path} is a directory; leave it out, "
        f"or open the files: {os.path.join(path, '*.tfrecord*')}"
    )


def _is_directory(path: str) -> bool:
    """Whether there is a folder; of a web server, a dataset's own, whose URL has no query."""
    if storage.lists_nothing(path):
        return "?" not in path and _is_finished(path)
    return storage.is_folder(path)


def _open_directory(path: str, cache: Callable[[], Cache]) -> Dataset:
    directory = find_dataset(path)
    folder = open_folder(directory, cache, metadata.FILE)
    if folder.commit.data is None:
        raise DatasetChangedError(
            f"{directory} was deleted, or is being built again; start again once it is there"
        )
    stated = metadata.parse_metadata(folder.commit.data, folder.commit.path)
    return Dataset(
        path=directory,
        features=stated.features,
        splits=MappingProxyType(
            {
                name: _split(folder, name, shards, stated.digests)
                for name, shards in stated.splits.items()
            }
        ),
        fingerprint=stated.fingerprint,
        read_statistics=functools.partial(metadata.read_statistics, folder, stated.digests),
    )


def _split(
    folder: Folder, name: str, shards: Sequence[StatedShard], digests: Mapping[str, str]
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
        name = index_beside(names[number])
        if name not in digests and storage.lists_nothing(folder.path):
            return None  # a web server may answer anything
        return metadata.read_stated(folder, name, digests)

    return Split(
        name=name,
        shards=ShardFiles(files, compression, read_index),
        num_records=sum(shard.num_records for shard in shards),
        num_bytes=sum(shard.num_bytes for shard in shards),
        sha256=sha256,
        check=folder.commit.check,
    )


def find_dataset(path: str) -> str:
    """The dataset directory at or below `path`.

    Raises:
        NotADatasetError: There is no finished dataset.
        ConfigError: There are several datasets.
    """
    if _is_finished(path):
        return path
    newest = _newest_version(path)
    if newest is not None:
        return newest
    names = {}
    for child in storage.folders(path):
        version = _newest_version(os.path.join(path, child))
        if version is not None:
            names[child] = version
    if len(names) > 1:
        raise ConfigError(
            f"{path} holds several datasets: {', '.join(names)}; open one, such as "
            f"{os.path.join(path, min(names))}"
        )
    if names:
        return next(iter(names.values()))
    raise NotADatasetError(
        f"{path} is not a finished dataset: there is no {metadata.FILE} in it, nor in a version "
        "(1.0.0) below it. Its build was interrupted, or it never was a dataset: run "
        "`python -m beam_pipeline build` (again), or open bare TFRecord files by a glob: "
        f"{os.path.join(path, '*.tfrecord*')}"
    )


def _newest_version(path: str) -> str | None:
    versions = []
    for child in storage.folders(path):
        match = _VERSION.match(child)
        if match and _is_finished(os.path.join(path, child)):
            versions.append((tuple(int(part) for part in match.groups()), child))
    return os.path.join(path, max(versions)[1]) if versions else None


def _is_finished(path: str) -> bool:
    return storage.exists(os.path.join(path, metadata.FILE))
