"""Bare TFRecord files: their schema is inferred, declared, or that of a training run."""

import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from google.protobuf.message import DecodeError

from tfrecord_dataset.feature import Feature
from tfrecord_dataset.record_files import (
    describe_mixed_names,
    first_records,
    matching_files,
    names_below,
    splits_of_files,
)
from tfrecord_dataset.shown_text import one_line
from tfrecord_dataset.store.cache import Cache
from trainer.dataset import Dataset
from trainer.dataset.declaration import Declaration, declared_features, names_of_specs
from trainer.errors import ConfigError, NotADatasetError
from trainer.schema.inference import DECLARE, guesses, infer
from trainer.schema.observation import Sample, observe

_LOG = logging.getLogger("trainer")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The features of the records in bare files.

    Attributes:
        features: By name.
        notes: Guesses, as messages.
        remedy: What to do when a record does not fit the features.
    """

    features: Mapping[str, Feature]
    notes: Sequence[str] = ()
    remedy: str


def open_files(
    path: str,
    patterns: Sequence[str],
    schema_of: Callable[[Sample], Schema],
    cache: Callable[[], Cache],
) -> Dataset:
    """The dataset of the files that `patterns` name.

    Args:
        path: Where they are, for messages.
        patterns: Paths and globs.
        schema_of: Makes the schema from the first records.
        cache: Where copies of remote files go.

    Raises:
        NotADatasetError: No such file, or files that hold no Examples.
        ConfigError: As `schema_of` does.
        DatasetDamagedError: A file is damaged.
    """
    files = matching_files(patterns)
    names = names_below(files, patterns)
    splits = splits_of_files(files, names, cache)
    try:
        sample = observe(first_records(files, splits.values()))
    except DecodeError as error:
        raise NotADatasetError(
            f"{path} holds records that cannot be read as tf.train.Examples ({error}); convert them"
        ) from error
    schema = schema_of(sample)
    notes = [*describe_mixed_names(names), *schema.notes]
    for note in notes:
        _LOG.warning("%s", one_line(note))
    return Dataset(
        path=path,
        features=schema.features,
        splits=MappingProxyType(splits),
        notes=tuple(notes),
        remedy=schema.remedy,
    )


def inferred_schema(path: str, sample: Sample) -> Schema:
    """The schema inferred from the first records.

    Args:
        path: Where the files are, for messages.
        sample: Of their records.

    Raises:
        NotADatasetError: They have no values.
        ConfigError: A key holds lists of two kinds.
    """
    if not sample.keys:
        raise NotADatasetError(
            f"{path} has no record with any value, so its features cannot be inferred; "
            f'declare them by {DECLARE} {{"image": {{"kind": "image"}}, …}}'
        )
    features = infer(sample)
    return Schema(
        features=features,
        notes=guesses(features, sample),
        remedy=f"its features were inferred from the first records; declare that key by {DECLARE}",
    )


def declared_schema(declaration: Declaration, sample: Sample) -> Schema:
    """The schema that the caller declares.

    Raises:
        ConfigError: A declaration is wrong, or not what the records hold.
    """
    features = declared_features(declaration, sample)
    guessed = {name: features[name] for name in names_of_specs(declaration)}
    return Schema(
        features=features,
        notes=guesses(guessed, sample),
        remedy=f"change the declaration of that key in {DECLARE}",
    )


def training_schema(features: Mapping[str, Feature], sample: Sample) -> Schema:
    """The schema of a model's training data, for other records.

    Records may lack a class label, and use a feature's name as its key.

    Raises:
        ConfigError: The records do not fit it.
    """
    expected = {name: _as_stored(feature, sample) for name, feature in features.items()}
    try:
        declared = declared_features(expected, sample)
    except ConfigError as error:
        raise ConfigError(
            f"{error}. The model was trained on these features: give data with the same ones, or "
            "declare them by --schema FILE"
        ) from error
    return Schema(
        features=declared,
        remedy="the model was trained on such features; leave the record out, or declare that key "
        "by --schema FILE",
    )


def _as_stored(feature: Feature, sample: Sample) -> Feature:
    statistics = sample.keys
    if feature.key not in statistics and feature.name in statistics:
        feature = dataclasses.replace(feature, key=feature.name)
    is_label = feature.kind == "class_label" and not feature.shape and feature.default is None
    if (
        is_label
        and feature.key in statistics
        and statistics[feature.key].num_records < sample.num_records
    ):
        return dataclasses.replace(feature, default=-1)
    return feature
