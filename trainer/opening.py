"""Finds a dataset: a directory with metadata.json, its parents, or bare TFRecord files."""

import functools
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import tensorflow as tf

from trainer.bare_files import declared, inferred, known, open_files
from trainer.dataset import Dataset, Split
from trainer.declaration import Declaration, read_schema
from trainer.errors import ConfigError, DatasetDamagedError, NotADatasetError
from trainer.features import Feature, features_from_json
from trainer.files import compression_of

_METADATA = "metadata.json"
_FORMAT_VERSION = 1
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)$")


def open(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    features: Declaration | None = None,
) -> Dataset:
    """Opens a dataset.

    Args:
        path: A dataset directory (…/name/version); or its parent, of which the newest
            finished version is taken, or that one's parent where it holds one name; or a
            glob, a file, or a list of them, of TFRecord files, plain or gzip. Local or gs://.
        features: What bare files hold: metadata.json's `features`, as a list of
            `{"name", "kind", …}`; or a mapping from name to such a declaration, to a `tf.io`
            spec as `tf.io.parse_example` takes it, or to a Feature of another dataset.
            Without it every key is a feature, of the kind that up to 256 records show, the
            first of up to 16 files; what was guessed is in `Dataset.notes`, and logged as a
            warning of the logger "trainer".

    Bare files have the splits that all their names state: as TFDS's do
    (`cells-train.tfrecord-00000-of-00008`), else by a folder below the first wildcard
    (`train/0.tfrecord`), else by a word (`val_1.tfrecord`, `coco_test.record`). Else they are
    one split `train`.

    Raises:
        NotADatasetError: A directory without a finished dataset, no such file, or files
            that hold no Examples.
        ConfigError: A declaration is wrong, or not what the first records hold.
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
    named = ", ".join(patterns)
    if features is None:
        schema_of = functools.partial(inferred, named)
    else:
        schema_of = functools.partial(declared, features)
    return open_files(named, patterns, schema_of)


def open_data(
    data: str, schema: str | None = None, trained_on: Mapping[str, Feature] | None = None
) -> Dataset:
    """Opens what a command's --data names.

    Args:
        data: A directory, as `open` takes it, with metadata of its own; or a path or glob of
            bare files.
        schema: The file of --schema, which declares what bare files hold.
        trained_on: Features of a run's training data, by which bare files are read without
            `schema`; without either they are inferred.

    Raises:
        TrainerError: As `open` does; or bare files do not hold `trained_on`.
    """
    if tf.io.gfile.isdir(data):
        if schema is not None:
            raise _of_bare_files("--schema", data)
        return _open_directory(data)
    if schema is not None:
        schema_of = functools.partial(declared, read_schema(schema))
    elif trained_on:
        schema_of = functools.partial(known, trained_on)
    else:
        schema_of = functools.partial(inferred, data)
    return open_files(data, [data], schema_of)


def _of_bare_files(argument: str, path: str) -> ConfigError:
    return ConfigError(
        f"{argument} is for bare TFRecord files, and {path} is a directory; leave it out, "
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
            f"{file} has format version {version}, and this trainer reads up to "
            f"{_FORMAT_VERSION}; install a newer one"
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
    """The paths below `directory` of what is in the folders of `files`; each is listed once."""
    return {
        os.path.join(folder, name.rstrip("/"))
        for folder in {os.path.dirname(file) for file in files}
        if tf.io.gfile.isdir(path := os.path.join(directory, folder))
        for name in tf.io.gfile.listdir(path)
    }


def find_dataset(path: str) -> str:
    """The dataset directory at or below `path`.

    Raises:
        NotADatasetError: There is none that is finished.
        ConfigError: There are datasets of several names.
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
        "(1.0.0) below it. Its build was interrupted, or never was one: run "
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
