"""Opens a dataset: a directory with metadata.json, a parent of one, or bare TFRecord files."""

import dataclasses
import functools
import os
from collections.abc import Callable, Mapping, Sequence

from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.inference import DECLARE, Sample
from tfrecord_dataset.records.opening import Schema, is_directory, named_paths, open_paths
from tfrecord_dataset.store import storage
from trainer.dataset import Dataset
from trainer.dataset.declaration import (
    Declaration,
    declared_features,
    read_schema,
)
from trainer.errors import ConfigError


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
    paths, schema_of = named_paths(path), None
    if features is not None:
        _check_bare(paths)
        schema_of = _declared(features)
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
        _check_bare(paths)
        schema_of = _declared(read_schema(schema))
    elif training_features:
        schema_of = functools.partial(training_schema, training_features)
    missing = allow_missing_shards
    return open_paths(
        Dataset, paths, cache_dir, cache_bytes, schema_of, allow_missing_shards=missing
    )


def _check_bare(paths: Sequence[str]) -> None:
    """Raise ConfigError if features are declared for a directory."""
    if len(paths) == 1 and is_directory(paths[0]):
        raise ConfigError(
            f"--schema is for bare TFRecord files, but {paths[0]} is a directory; remove it, "
            f"or open the files: {os.path.join(paths[0], '*.tfrecord*')}"
        )


def _declared(declaration: Declaration) -> Callable[[Sample], Schema]:
    """Return a function from the first records to the declared schema."""
    remedy = f"change the declaration of that key in {DECLARE}"
    return lambda sample: Schema(features=declared_features(declaration, sample), remedy=remedy)


def training_schema(features: Mapping[str, Feature], sample: Sample) -> Schema:
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


def _as_stored(feature: Feature, sample: Sample) -> Feature:
    statistics = sample.keys
    if feature.key not in statistics and feature.name in statistics:
        feature = dataclasses.replace(feature, key=feature.name)
    is_label = feature.kind == "class_label" and not feature.shape and feature.default is None
    known = statistics.get(feature.key)
    if is_label and known is not None and known.num_records < sample.num_records:
        return dataclasses.replace(feature, default=-1)
    return feature
