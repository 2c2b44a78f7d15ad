"""The features of bare TFRecord files as a caller declares them, or as a training run had them."""

import dataclasses
from collections.abc import Mapping

from tfrecord_dataset.bare_files import Schema
from tfrecord_dataset.feature import Feature
from tfrecord_dataset.inference import DECLARE, guesses
from tfrecord_dataset.observation import Sample
from trainer.dataset.declaration import Declaration, declared_features, names_of_specs
from trainer.errors import ConfigError


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
