"""Opens a dataset: a directory with metadata.json, a parent of one, or bare TFRecord files."""

import dataclasses
import functools
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import tensorflow as tf

from tfrecord_dataset.format.declaration import features_from_json
from tfrecord_dataset.format.feature import STRINGS, Feature
from tfrecord_dataset.format.feature_keys import with_key_of
from tfrecord_dataset.format.inference import DECLARE, KeyStatistics, RecordSample, one_kind
from tfrecord_dataset.records.opening import Schema, is_directory, named_paths, open_paths
from tfrecord_dataset.shown_text import counted
from tfrecord_dataset.store import storage
from trainer.dataset import Dataset
from trainer.errors import ConfigError, DatasetDamagedError, UnknownNameError
from trainer.parsing import parse_specs

# A list as in metadata.json; or by name, as there or as a Feature of another dataset.
Declaration = Iterable[Mapping[str, Any]] | Mapping[str, Mapping[str, Any] | Feature]

_KINDS = {tf.int64: "int64", tf.float32: "float32", tf.string: "bytes"}
_SCHEMA_FORM = '{"label": {"kind": "class_label"}, …}, like the features of metadata.json'


def open(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    features: Declaration | None = None,
    *,
    cache_dir: str | None = None,
    cache_bytes: int | None = None,
    allow_missing_shards: bool = False,
) -> Dataset:
    """Open a dataset.

        >>> trainer.open("data/cells")
        <Dataset data/cells/1.0.0: 6 in test, 24 in train; image, label>

    Args:
        path: A dataset directory (…/name/version); or its parent, for the newest finished version;
            or the parent of that, if it has only one dataset; or TFRecord files, plain or gzip, as
            a glob, a path or a list of them. Local, or on a store: gs://, s3://, az:// or https://
            (docs/object-stores.md).
        features: Features of bare files: as in metadata.json, a list of `{"name", "kind", …}`; or a
            mapping from name to such a declaration, or to a Feature of another dataset. By default
            every key is a feature, whose kind is inferred from up to 256 records, the first of up
            to 16 files.
        cache_dir: Local folder for copies of a store's shards, which processes may share;
            by default `~/.cache/beam-tfrecords/shards`.
        cache_bytes: Maximum size of the copies; by default half of the disk space that is free or
            used by them. The least recently used ones are deleted.
        allow_missing_shards: Whether to open bare files if some are missing from a numbering such
            as `train-00000-of-00010`.

    If all names of bare files contain a split, these are the splits: as in TFDS
    (`cells-train.tfrecord-00000-of-00008`), else by a folder after the first wildcard
    (`train/0.tfrecord`), else by a word (`val_1.tfrecord`, `coco_test.record`). Otherwise the files
    are one split `train`.

    Raises:
        NotADatasetError: The directory has no finished dataset, a file does not exist, or files
            have no Examples.
        ConfigError: A declaration is invalid, or contradicts the first records.
        DatasetDamagedError: metadata.json cannot be read, one of its shards is missing,
            or a file is damaged.
    """
    paths = named_paths(path)
    schema_of = None if features is None else _declared(lambda: features, paths)
    missing = allow_missing_shards
    return open_paths(
        Dataset, paths, cache_dir, cache_bytes, schema_of, allow_missing_shards=missing
    )


def open_data(
    data: str,
    schema: str | None = None,
    training_features: Mapping[str, Feature] | None = None,
    cache_dir: str | None = None,
    cache_bytes: int | None = None,
    *,
    allow_missing_shards: bool = False,
) -> Dataset:
    """Open the dataset of a command's --data.

    Args:
        data: A directory with metadata, as for `open`; or a path or glob of bare files.
        schema: File of --schema, which declares the features of bare files.
        training_features: Features of a run's training data, for bare files without
            `schema`; without either, features are inferred.
        cache_dir, cache_bytes, allow_missing_shards: As in `open`.

    Raises:
        TrainerError: See `open`; or bare files do not fit `training_features`.
    """
    paths, schema_of = [storage.readable(data)], None
    if schema is not None:
        schema_of = _declared(functools.partial(read_schema, schema), paths)
    elif training_features:
        schema_of = functools.partial(training_schema, training_features)
    missing = allow_missing_shards
    return open_paths(
        Dataset, paths, cache_dir, cache_bytes, schema_of, allow_missing_shards=missing
    )


def _declared(
    read: Callable[[], Declaration], paths: Sequence[str]
) -> Callable[[RecordSample], Schema]:
    """Return a function from the first records to the declared schema.

    Raises:
        ConfigError: The path is a directory.
    """
    if len(paths) == 1 and is_directory(paths[0]):
        raise ConfigError(
            f"--schema is for bare TFRecord files, but {paths[0]} is a directory; remove it, "
            f"or open the files: {os.path.join(paths[0], '*.tfrecord*')}"
        )
    declaration = read()
    remedy = f"change the declaration of that key in {DECLARE}"
    return lambda sample: Schema(features=declared_features(declaration, sample), remedy=remedy)


def training_schema(features: Mapping[str, Feature], sample: RecordSample) -> Schema:
    """Return the schema of a model's training data, for other records.

    Records may lack a class label, and may use a feature's name as its key.

    Raises:
        ConfigError: The records do not fit the schema.
    """
    expected = {name: _as_stored(feature, sample) for name, feature in features.items()}
    try:
        declared = declared_features(expected, sample)
    except ConfigError as error:
        raise ConfigError(
            f"{error}. The model was trained on these features; use data with the same ones, or "
            "declare them with --schema FILE"
        ) from error
    return Schema(
        features=declared,
        remedy="the model was trained on these features; leave the record out, or declare that key "
        "with --schema FILE",
    )


def _as_stored(feature: Feature, sample: RecordSample) -> Feature:
    statistics = sample.keys
    if feature.key not in statistics and feature.name in statistics:
        feature = dataclasses.replace(feature, key=feature.name)
    is_label = feature.kind == "class_label" and not feature.shape and feature.default is None
    known = statistics.get(feature.key)
    if is_label and known is not None and known.num_records < sample.num_records:
        return dataclasses.replace(feature, default=-1)
    return feature


def read_schema(path: str) -> Mapping[str, Feature]:
    """Read the features of a JSON file, by name and in order.

    Args:
        path: A file, local or gs://, with metadata.json's `features`: a list of
            `{"name", "kind", …}`, or a mapping from name to `{"kind", …}`; or a complete
            metadata.json.

    Raises:
        ConfigError: The file cannot be read, is not JSON, or declares no features.
    """
    try:
        data = storage.read(path)
        if data is None:
            raise ValueError("the file does not exist")
        declared = json.loads(data)
    except (DatasetDamagedError, ValueError, RecursionError) as error:
        raise ConfigError(
            f"--schema {path} cannot be read as JSON: {error}; give a file with {_SCHEMA_FORM}"
        ) from error
    inner = declared.get("features") if isinstance(declared, Mapping) else None
    # A feature may be named "features".
    if isinstance(inner, list | Mapping) and not (
        isinstance(inner, Mapping) and isinstance(inner.get("kind"), str)
    ):
        declared = inner
    if not declared or not isinstance(declared, list | Mapping):
        raise ConfigError(f"--schema {path} declares no features; give {_SCHEMA_FORM}")
    try:
        return features_from_json(declared)
    except ConfigError as error:
        raise ConfigError(f"in --schema {path}, {error}") from error


def declared_features(declared: Declaration, sample: RecordSample) -> Mapping[str, Feature]:
    """Return the features of `declared`, by name and in order.

    The records in `sample` determine what is not declared: a standard key of the kind, and whether
    a tensor is stored as bytes.

    Raises:
        ConfigError: A declaration is invalid, or contradicts the records.
        UnknownNameError: A kind does not exist, or a key is in no record.
    """
    if isinstance(declared, Mapping):
        features = {name: _declared_feature(name, each) for name, each in declared.items()}
    else:
        features = dict(features_from_json(declared))
    features = {
        name: _with_encoding_of(with_key_of(feature, sample.keys) or feature, sample)
        for name, feature in features.items()
    }
    if sample.num_records:
        for feature in features.values():
            _check(feature, sample)
    return MappingProxyType(features)


def _declared_feature(name: str, declared: Any) -> Feature:
    if isinstance(declared, Feature):
        return dataclasses.replace(declared, name=name)
    if isinstance(declared, Mapping):
        return features_from_json({name: declared})[name]
    raise ConfigError(
        f"feature {name!r} is declared as {declared!r}, which cannot be used; declare it as "
        '{"kind": …}'
    )


def _with_encoding_of(feature: Feature, sample: RecordSample) -> Feature:
    """Declare raw bytes for a tensor of numbers whose key has bytes."""
    statistics = sample.keys.get(feature.key)
    if feature.kind != "tensor" or feature.dtype in STRINGS or statistics is None:
        return feature
    return (
        dataclasses.replace(feature, encoding="bytes") if "bytes" in statistics.where else feature
    )


def _check(feature: Feature, sample: RecordSample) -> None:
    """Raise ConfigError if the records lack a feature's key or contradict its declaration."""
    needed = parse_specs([feature])
    for number, (key, spec) in enumerate(needed.items()):
        statistics = sample.keys.get(key)
        if statistics is None:
            if number == 0 and getattr(spec, "default_value", None) is None:
                what = f"key (of feature {feature.name!r})"
                raise UnknownNameError(what, key, sample.keys, "the first records")
            continue
        kind, expected = one_kind(key, statistics), _KINDS[spec.dtype]
        if kind and kind != expected:
            raise _misfit(feature, f"a list of {expected}", f"{kind} in {statistics.where[kind]}")
        if isinstance(spec, tf.io.FixedLenFeature):
            _check_lengths(feature, spec, statistics, sample.num_records)


def _check_lengths(
    feature: Feature, spec: Any, statistics: KeyStatistics, num_records: int
) -> None:
    shortest, longest = statistics.shortest, statistics.longest
    if statistics.num_records < num_records and spec.default_value is None:
        raise _misfit(feature, "a value of every record or a default", "none in some records")
    expected = math.prod(spec.shape)
    if (shortest, longest) != (expected, expected):
        raise _misfit(
            feature, f"{counted(expected, 'value')} per record", f"{shortest} to {longest}"
        )
    if feature.encoding == "bytes":
        expected = math.prod(size or 0 for size in feature.shape)
        expected *= tf.as_dtype(feature.dtype).size
        if other := sorted(statistics.num_bytes - {expected}):
            raise _misfit(feature, f"{expected} bytes", ", ".join(map(str, other[:5])))


def _misfit(feature: Feature, expected: str, found: str) -> ConfigError:
    shape = f" {list(feature.shape)}" if feature.shape else ""
    return ConfigError(
        f"feature {feature.name!r} is declared as {feature.kind} of {feature.dtype}{shape}, which "
        f"takes {expected}, but key {feature.key!r} holds {found}; declare what the records hold, "
        'such as a "sequence" of varying length'
    )
