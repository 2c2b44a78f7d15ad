"""Counts the classes of bare TFRecord files, which have no metadata."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tfrecord_dataset.format.feature import Feature
from trainer.errors import ConfigError, UnknownNameError


def count_classes(batches: tf.data.Dataset, name: str) -> int:
    """Return 1 + the largest of the int64 numbers `name` in `batches`; 0 if all are -1."""
    return 1 + max((int(each[name].numpy().max(initial=-1)) for each in batches), default=-1)


def check_class_numbers(feature: Feature) -> None:
    """Raise ConfigError unless the feature contains class numbers."""
    if feature.dtype != "int64":
        raise ConfigError(
            f"feature {feature.name!r} is a {feature.kind} of {feature.dtype}, not a class number; "
            "declare it as class_label, or choose another feature"
        )


def _check_one_class(feature: Feature) -> None:
    if feature.shape or feature.dtype not in ("int64", "string", "bytes"):
        raise ConfigError(
            f"feature {feature.name!r} is a {feature.kind} of {feature.dtype}, not one class per "
            "record; name another"
        )


def read_classes(
    features: Mapping[str, Feature], name: str, batches: Callable[..., tf.data.Dataset]
) -> Any:
    """Return the class of each record, int64 [records]; for strings their alphabetical rank.

    Args:
        features: Features of the dataset.
        name: Name of the feature.
        batches: `Dataset.batches` for the split.

    Raises:
        UnknownNameError: The feature does not exist.
        ConfigError: The feature is not one class per record, or a record has none.
    """
    if name not in features:
        raise UnknownNameError("feature", name, features)
    _check_one_class(features[name])
    parts = [each[name].numpy() for each in batches(batch_size=1024, features=[name])]
    values = np.concatenate(parts)
    if values.dtype == object:
        return np.unique(values, return_inverse=True)[1]
    if (values < 0).any():
        raise ConfigError(
            f"{name} of record {int(np.argmax(values < 0))} is {values.min()}, not a class; "
            "leave such records out of the dataset"
        )
    return values
