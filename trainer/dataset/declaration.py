"""Declared features of bare files, as in metadata.json."""

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import tensorflow as tf

from tfrecord_dataset.format.declaration import features_from_json
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import with_key_of
from tfrecord_dataset.format.inference import KeyStatistics, Sample, one_kind
from tfrecord_dataset.shown_text import counted
from tfrecord_dataset.store import storage
from trainer.errors import ConfigError, DatasetDamagedError, UnknownNameError
from trainer.parsing import parse_specs

# A list as in metadata.json; or by name, as there or as a Feature of another dataset.
Declaration = Iterable[Mapping[str, Any]] | Mapping[str, Mapping[str, Any] | Feature]

_KINDS = {tf.int64: "int64", tf.float32: "float32", tf.string: "bytes"}
_SCHEMA_FORM = '{"label": {"kind": "class_label"}, …}, like the features of metadata.json'


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


def declared_features(declared: Declaration, sample: Sample) -> Mapping[str, Feature]:
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


def _with_encoding_of(feature: Feature, sample: Sample) -> Feature:
    """Declare raw bytes for a tensor of numbers whose key has bytes."""
    statistics = sample.keys.get(feature.key)
    if feature.kind != "tensor" or feature.dtype in ("string", "bytes") or statistics is None:
        return feature
    return (
        dataclasses.replace(feature, encoding="bytes") if "bytes" in statistics.where else feature
    )


def _check(feature: Feature, sample: Sample) -> None:
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
