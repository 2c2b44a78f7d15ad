"""Finds a dataset: a directory with metadata.json, its parents, or bare TFRecord files."""

import json
import os
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import tensorflow as tf

from trainer.dataset import Dataset, Split
from trainer.errors import ConfigError, DatasetDamagedError, NotADatasetError
from trainer.features import Declaration, features_from_json, with_keys_of

_METADATA = "metadata.json"
_FORMAT_VERSION = 1
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)$")
_TFDS_FILE = re.compile(r".+-(?P<split>[^-]+)\.[a-z]+-\d{5,}-of-\d{5,}(\.gz)?$")
_GZIP_MAGIC = b"\x1f\x8b\x08"


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
            `{"name", "kind", …}` or as a mapping from name. Bare files whose names are all
            like TFDS's (`cells-train.tfrecord-00000-of-00008`) have their splits; others
            are one split `train`.

    Raises:
        NotADatasetError: A directory without a finished dataset, or no such file.
        ConfigError: Bare files without `features`, or a declaration that is wrong.
        DatasetDamagedError: metadata.json cannot be read, or shards that it lists are missing.
    """
    if isinstance(path, str | os.PathLike):
        location = os.fspath(path)
        if tf.io.gfile.isdir(location):
            return _open_directory(location, features)
        return _open_files(location, [location], features)
    patterns = [os.fspath(item) for item in path]
    return _open_files(", ".join(patterns), patterns, features)


def _open_directory(path: str, features: Declaration | None) -> Dataset:
    if features is not None:
        raise ConfigError(
            f"features= is for bare TFRecord files, and {path} is a directory; leave it out, "
            f"or open the files: {os.path.join(path, '*.tfrecord*')}"
        )
    directory = find_dataset(path)
    file = os.path.join(directory, _METADATA)
    with tf.io.gfile.GFile(file) as handle:
        text = handle.read()
    try:
        metadata = json.loads(text)
        version = metadata["format_version"]
        declared, listed = metadata["features"], metadata["splits"]
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
        features=features_from_json(declared),
        splits=MappingProxyType(_splits_of_metadata(directory, listed)),
        fingerprint=metadata.get("fingerprint", ""),
    )


def _splits_of_metadata(directory: str, listed: Mapping[str, Any]) -> dict[str, Split]:
    present = {name.rstrip("/") for name in tf.io.gfile.listdir(directory)}
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
            compression=_compression(files),
            num_records=entry["num_records"],
            num_bytes=entry.get("num_bytes"),
        )
    return splits


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
        "`python -m beam_pipeline build` (again), or open bare TFRecord files by a glob "
        "with features=…"
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


def _open_files(path: str, patterns: Iterable[str], features: Declaration | None) -> Dataset:
    files = [file for pattern in patterns for file in _matching(pattern)]
    if features is None:
        raise ConfigError(
            f"{path} has no metadata.json that says what its records hold; pass "
            'features=[{"name": "image", "kind": "image"}, …], or open a dataset directory'
        )
    splits = _splits_of_files(list(dict.fromkeys(files)))
    keys = _first_record_keys(splits.values())
    declared = features_from_json(features)
    return Dataset(
        path=path,
        features=with_keys_of(declared, keys) if keys else declared,
        splits=MappingProxyType(splits),
    )


def _matching(pattern: str) -> list[str]:
    files = [pattern] if tf.io.gfile.exists(pattern) else sorted(tf.io.gfile.glob(pattern))
    if not files:
        raise NotADatasetError(f"no file or directory {pattern}; check the path")
    return files


def _splits_of_files(files: Sequence[str]) -> dict[str, Split]:
    matches = [_TFDS_FILE.match(os.path.basename(file)) for file in files]
    grouped: dict[str, list[str]] = {}
    for file, match in zip(files, matches, strict=True):
        name = match["split"] if match and all(matches) else "train"
        grouped.setdefault(name, []).append(file)
    return {
        name: Split(name=name, files=tuple(members), compression=_compression(members))
        for name, members in grouped.items()
    }


def _compression(files: Sequence[str]) -> str:
    """What the first file that is not empty says; a split's shards are all alike."""
    for file in files:
        with tf.io.gfile.GFile(file, "rb") as handle:
            head = handle.read(4096)
        if head:
            return "GZIP" if is_gzip(head) else ""
    return ""


def is_gzip(head: bytes) -> bool:
    """Whether a file that starts with `head` is gzip.

    A plain TFRecord file starts with a length, which may look like gzip's magic bytes;
    what follows them then does not unpack.
    """
    if not head.startswith(_GZIP_MAGIC):
        return False
    try:
        zlib.decompressobj(wbits=31).decompress(head)
    except zlib.error:
        return False
    return True


def _first_record_keys(splits: Iterable[Split]) -> set[str]:
    for split in splits:
        dataset = tf.data.TFRecordDataset(list(split.files), split.compression)
        for serialized in dataset.take(1).as_numpy_iterator():
            return set(tf.train.Example.FromString(serialized).features.feature)
    return set()
