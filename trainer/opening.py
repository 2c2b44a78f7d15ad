"""Opens a dataset: a directory with metadata.json, a parent of one, or bare TFRecord files."""

import functools
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import tensorflow as tf

from trainer.bare_files import declared_schema, inferred_schema, open_files, training_schema
from trainer.dataset import Dataset, Split
from trainer.declaration import Declaration, read_schema
from trainer.errors import ConfigError, DatasetDamagedError, NotADatasetError
from trainer.features import Feature, features_from_json
from trainer.files import compression_of

_METADATA = "metadata.json"
_FORMAT_VERSION = 2
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)$")


def open(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    features: Declaration | None = None,
) -> Dataset:
    """Opens a dataset.

    Args:
        path: A dataset directory (…/name/version); or its parent, for the newest
            finished version; or the parent of that, if it holds only one dataset; or a
            glob, a file, or a list of them, of TFRecord files, plain or gzip. Local or gs://.
        features: Of bare files: as in metadata.json's `features`, a list of
            `{"name", "kind", …}`; or a mapping from name to such a declaration, to a `tf.io`
            spec as for `tf.io.parse_example`, or to a Feature of another dataset.
            Without it every key is a feature, whose kind is inferred from up to 256 records,
            the first of up to 16 files; guesses are in `Dataset.notes`, and logged as
            warnings of the logger "trainer".

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
    if isinstance(path, str | os.PathLike):
        patterns = [os.fspath(path)]
        if tf.io.gfile.isdir(patterns[0]):
            if features is not None:
                raise _of_bare_files("features=", patterns[0])
            return _open_directory(patterns[0])
    else:
        patterns = [os.fspath(item) for item in path]
    names = ", ".join(patterns)
    if features is None:
        schema_of = functools.partial(inferred_schema, names)
    else:
        schema_of = functools.partial(declared_schema, features)
    return open_files(names, patterns, schema_of)


def open_data(
    data: str, schema: str | None = None, training_features: Mapping[str, Feature] | None = None
) -> Dataset:
    """Opens the dataset of a command's --data.

    Args:
        data: A directory with metadata, as for `open`; or a path or glob of bare files.
        schema: The file of --schema, which declares the features of bare files.
        training_features: Of a run's training data, for bare files without
            `schema`; without either, features are inferred.

    Raises:
        TrainerError: As for `open`; or bare files do not fit `training_features`.
    """
    if tf.io.gfile.isdir(data):
        if schema is not None:
            raise _of_bare_files("--schema", data)
        return _open_directory(data)
    if schema is not None:
        schema_of = functools.partial(declared_schema, read_schema(schema))
    elif training_features:
        schema_of = functools.partial(training_schema, training_features)
    else:
        schema_of = functools.partial(inferred_schema, data)
    return open_files(data, [data], schema_of)


def _of_bare_files(argument: str, path: str) -> ConfigError:
    return ConfigError(
        f"{argument} is for bare TFRecord files, but {path} is a directory; leave it out, "
        f"or open the files: {os.path.join(path, '*.tfrecord*')}"
    )


def _open_directory(path: str) -> Dataset:
    directory = find_dataset(path)
    file = os.path.join(directory, _METADATA)
    with tf.io.gfile.GFile(file) as handle:
        text = handle.read()
    try:
        metadata = json.loads(text)
        version = metadata["format_version"]
        features, listed = metadata["features"], metadata["splits"]
    except (ValueError, KeyError, TypeError) as error:
        raise DatasetDamagedError(
            f"{file} is not a dataset's metadata ({error!r}); build the dataset again"
        ) from error
    if int(str(version).split(".")[0]) > _FORMAT_VERSION:
        raise ConfigError(
            f"{file} has format version {version}, but this trainer reads up to "
            f"{_FORMAT_VERSION}; install a newer trainer"
        )
    return Dataset(
        path=directory,
        features=features_from_json(features),
        splits=MappingProxyType(_splits_of_metadata(directory, listed)),
        fingerprint=metadata.get("fingerprint", ""),
    )


def _splits_of_metadata(directory: str, listed: Mapping[str, Any]) -> dict[str, Split]:
    present = _files_beside(
        directory, (shard["file"] for entry in listed.values() for shard in entry["shards"])
    )
    splits = {}
    for name, entry in listed.items():
        shards = entry["shards"]
        missing = [shard["file"] for shard in shards if shard["file"] not in present]
        if missing:
            raise DatasetDamagedError(
                f"{directory} lacks {len(missing)} of {len(shards)} shards of split {name!r}, "
                f"such as {missing[0]}; copy them there, or build the dataset again"
            )
        files = tuple(os.path.join(directory, shard["file"]) for shard in shards)
        splits[name] = Split(
            name=name,
            files=files,
            compression=compression_of(files),
            num_records=entry["num_records"],
            num_bytes=entry.get("num_bytes"),
        )
    return splits


def _files_beside(directory: str, files: Iterable[str]) -> set[str]:
    """The paths, relative to `directory`, of everything in the folders of `files`."""
    return {
        os.path.join(folder, name.rstrip("/"))
        for folder in {os.path.dirname(file) for file in files}
        if tf.io.gfile.isdir(path := os.path.join(directory, folder))
        for name in tf.io.gfile.listdir(path)
    }


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
    for child in _folders(path):
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
        f"{path} is not a finished dataset: there is no {_METADATA} in it, nor in a version "
        "(1.0.0) below it. Its build was interrupted, or it never was a dataset: run "
        "`python -m beam_pipeline build` (again), or open bare TFRecord files by a glob: "
        f"{os.path.join(path, '*.tfrecord*')}"
    )


def _newest_version(path: str) -> str | None:
    versions = []
    for child in _folders(path):
        match = _VERSION.match(child)
        if match and _is_finished(os.path.join(path, child)):
            versions.append((tuple(int(part) for part in match.groups()), child))
    return os.path.join(path, max(versions)[1]) if versions else None


def _is_finished(path: str) -> bool:
    return bool(tf.io.gfile.exists(os.path.join(path, _METADATA)))


def _folders(path: str) -> list[str]:
    names = (name.rstrip("/") for name in tf.io.gfile.listdir(path))
    return sorted(name for name in names if tf.io.gfile.isdir(os.path.join(path, name)))
