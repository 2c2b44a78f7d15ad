"""Bare TFRecord files: what they hold is inferred, declared, or known from a training run."""

import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from google.protobuf.message import DecodeError

from trainer.dataset import Dataset
from trainer.declaration import Declaration, declared_features, names_of_specs
from trainer.errors import ConfigError, NotADatasetError
from trainer.features import Feature
from trainer.files import first_records, matching_files, mixed_up, names_below, splits_of_files
from trainer.inference import DECLARE, guesses, infer
from trainer.observation import Sample, observe

_LOG = logging.getLogger("trainer")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """What the records of bare files hold.

    Attributes:
        features: By name.
        notes: What was guessed, to be read by people.
        remedy: What to do when a record does not fit the features.
    """

    features: Mapping[str, Feature]
    notes: Sequence[str] = ()
    remedy: str


def open_files(
    path: str, patterns: Sequence[str], schema_of: Callable[[Sample], Schema]
) -> Dataset:
    """The dataset of the files that `patterns` name.

    Args:
        path: Where they are, for messages.
        patterns: Paths and globs.
        schema_of: From the first records to what all hold.

    Raises:
        NotADatasetError: No such file, or files that hold no Examples.
        ConfigError: As `schema_of` does.
        DatasetDamagedError: A file is damaged.
    """
    files = matching_files(patterns)
    names = names_below(files, patterns)
    try:
        sample = observe(first_records(files))
    except DecodeError as error:
        raise NotADatasetError(
            f"{path} holds records that are no tf.train.Example ({error}); convert them"
        ) from error
    schema = schema_of(sample)
    notes = [*mixed_up(names), *schema.notes]
    for note in notes:
        _LOG.warning(note)
    return Dataset(
        path=path,
        features=schema.features,
        splits=MappingProxyType(splits_of_files(files, names)),
        notes=tuple(notes),
        remedy=schema.remedy,
    )


def inferred(path: str, sample: Sample) -> Schema:
    """The schema that the first records show.

    Args:
        path: Where the files are, for messages.
        sample: Of their records.

    Raises:
        NotADatasetError: They show nothing.
        ConfigError: A key holds lists of two kinds.
    """
    if not sample.observed:
        raise NotADatasetError(
            f"{path} has no record with any value, so what its records hold cannot be told; "
            f'declare by {DECLARE} {{"image": {{"kind": "image"}}, …}}'
        )
    features = infer(sample)
    return Schema(
        features=features,
        notes=guesses(features, sample),
        remedy="as its features were inferred from the first records, declare that key by "
        f"{DECLARE}",
    )


def declared(declaration: Declaration, sample: Sample) -> Schema:
    """The schema that the caller states.

    Raises:
        ConfigError: A declaration is wrong, or not what the records hold.
    """
    features = declared_features(declaration, sample)
    guessed = {name: features[name] for name in names_of_specs(declaration)}
    return Schema(
        features=features,
        notes=guesses(guessed, sample),
        remedy=f"declare that key otherwise by {DECLARE}",
    )


def known(features: Mapping[str, Feature], sample: Sample) -> Schema:
    """The schema of what a model was trained on, of more records that it shall take.

    They may lack a class label here and there, and call a key what the feature is called.

    Raises:
        ConfigError: The records do not hold it.
    """
    expected = {name: _as_stored(feature, sample) for name, feature in features.items()}
    try:
        found = declared_features(expected, sample)
    except ConfigError as error:
        raise ConfigError(
            f"{error}. That is what the model was trained on: give data of the same features, or "
            "declare them by --schema FILE"
        ) from error
    return Schema(
        features=found,
        remedy="the model was trained on records that do; leave this one out, or declare that key "
        "by --schema FILE",
    )


def _as_stored(feature: Feature, sample: Sample) -> Feature:
    seen = sample.observed
    if feature.key not in seen and feature.name in seen:
        feature = dataclasses.replace(feature, key=feature.name)
    is_label = feature.kind == "class_label" and not feature.shape and feature.default is None
    if is_label and feature.key in seen and seen[feature.key].num_records < sample.num_records:
        return dataclasses.replace(feature, default=-1)
    return feature
