"""Features that a caller declares for bare files: as in metadata.json, or by `tf.io` specs."""

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
from tfrecord_dataset.format.inference import (
    KeyStatistics,
    Sample,
    bytes_feature,
    number_feature,
    one_kind,
)
from tfrecord_dataset.shown_text import counted
from tfrecord_dataset.store import storage
from trainer.errors import ConfigError, DatasetDamagedError, UnknownNameError
from trainer.parsing import parse_spec

# By name: as in metadata.json, a spec of `tf.io.parse_example`, or a Feature of another dataset;
# or a list as in metadata.json.
Declaration = Iterable[Mapping[str, Any]] | Mapping[str, Mapping[str, Any] | Feature | Any]

_KINDS = {tf.int64: "int64", tf.float32: "float32", tf.string: "bytes"}
_DTYPES = {tf.int64: "int64", tf.float32: "float32", tf.string: "string"}
_SCHEMA_FORM = '{"label": {"kind": "class_label"}, …}, like the features of metadata.json'
_SPECS = (
    "tf.io.FixedLenFeature, VarLenFeature, RaggedFeature without partitions, and "
    "FixedLenSequenceFeature with allow_missing=True"
)


def read_schema(path: str) -> Mapping[str, Feature]:
    """The features that a JSON file declares, by name and in its order.

    Args:
        path: A file, local or gs://, that holds metadata.json's `features`: a list of
            `{"name", "kind", …}`, or a mapping from name to `{"kind", …}`; or the whole
            metadata.json.

    Raises:
        ConfigError: It cannot be read, is not JSON, or declares no features.
    """
    try:
        data = storage.read(path)
        if data is None:
            raise ValueError("there is no such file")
        declared = json.loads(data)
    except (DatasetDamagedError, ValueError, RecursionError) as error:
        raise ConfigError(
            f"--schema {path} cannot be read as JSON: {error}; give a file with {_SCHEMA_FORM}"
        ) from error
    inner = declared.get("features") if isinstance(declared, Mapping) else None
    # A feature may also be named "features".
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
    """The features of `declared`, by name and in its order.

    What they leave open follows from the records in `sample`: a standard key of the kind, whether
    a tensor is stored as bytes, and what the strings of a `tf.io` spec contain.

    Raises:
        ConfigError: A declaration is wrong, or contradicts the records.
        UnknownNameError: A kind that does not exist, or a key that no record has.
    """
    if isinstance(declared, Mapping):
        features = {name: _declared_feature(name, each, sample) for name, each in declared.items()}
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


def names_of_specs(declared: Declaration) -> list[str]:
    """The names declared by `tf.io` specs, which leave open what a string contains."""
    if not isinstance(declared, Mapping):
        return []
    return [name for name, each in declared.items() if not isinstance(each, Mapping | Feature)]


def _declared_feature(name: str, declared: Any, sample: Sample) -> Feature:
    if isinstance(declared, Feature):
        return dataclasses.replace(declared, name=name)
    if isinstance(declared, Mapping):
        return features_from_json({name: declared})[name]
    return _feature_of_spec(name, declared, sample)


def _feature_of_spec(name: str, spec: Any, sample: Sample) -> Feature:
    """The feature of a `tf.io` spec; the kind of strings follows from the records."""
    shape: tuple[int | None, ...]
    key, default = name, None
    match spec:
        case tf.io.FixedLenFeature():
            shape, default = _fixed(name, spec.shape), spec.default_value
        case tf.io.VarLenFeature():
            shape = (None,)
        case tf.io.RaggedFeature(partitions=()):
            shape, key = (None,), spec.value_key or name
        case tf.io.FixedLenSequenceFeature(allow_missing=True):
            shape, default = (None, *_fixed(name, spec.shape)), spec.default_value
        case _:
            raise ConfigError(
                f"feature {name!r} is declared as {spec!r}, which cannot be used; declare it as "
                f'{{"kind": …}}, or use one of {_SPECS}'
            )
    dtype = tf.as_dtype(spec.dtype)
    if dtype not in _DTYPES:
        raise ConfigError(
            f"feature {name!r} is declared with dtype {dtype.name}, which Examples cannot store; "
            "declare tf.int64, tf.float32 or tf.string"
        )
    statistics = sample.keys.get(key, KeyStatistics())
    if shape:
        kind = "sequence" if None in shape else "tensor"
        feature = Feature(
            name=name, kind=kind, dtype=_DTYPES[dtype], shape=shape, key=key, bare=True
        )
    elif dtype == tf.string:
        feature = bytes_feature(key, statistics)
    else:
        feature = number_feature(key, _DTYPES[dtype], statistics)
    return dataclasses.replace(feature, name=name, default=default)


def _fixed(name: str, shape: Any) -> tuple[int, ...]:
    sizes = tf.TensorShape(shape)
    if not sizes.is_fully_defined():
        raise ConfigError(
            f"feature {name!r} is declared with shape {sizes}; give every size, or use "
            "tf.io.VarLenFeature"
        )
    return tuple(sizes.as_list())


def _with_encoding_of(feature: Feature, sample: Sample) -> Feature:
    """A tensor of numbers whose key holds bytes is stored as raw bytes."""
    statistics = sample.keys.get(feature.key)
    if feature.kind != "tensor" or feature.dtype in ("string", "bytes") or statistics is None:
        return feature
    return (
        dataclasses.replace(feature, encoding="bytes") if "bytes" in statistics.where else feature
    )


def _check(feature: Feature, sample: Sample) -> None:
    """Checks a declared feature against the records.

    Raises:
        UnknownNameError: No record has its key.
        ConfigError: The records hold another type, or another number of values.
    """
    needed = parse_spec(feature)
    for number, (key, spec) in enumerate(needed.items()):
        statistics = sample.keys.get(key)
        if statistics is None:
            if number == 0 and getattr(spec, "default_value", None) is None:
                what = f"key (of feature {feature.name!r})"
                raise UnknownNameError(what, key, sample.keys, "the first records")
            continue
        kind, expected = one_kind(key, statistics), _KINDS[spec.dtype]
        if kind and kind != expected:
            raise ConfigError(
                f"feature {feature.name!r} is declared as {feature.kind} of {feature.dtype}, which "
                f"takes a list of {expected}, but key {key!r} holds {kind} in "
                f"{statistics.where[kind]}; declare that type"
            )
        if isinstance(spec, tf.io.FixedLenFeature):
            _check_lengths(feature, spec, statistics, sample.num_records)


def _check_lengths(
    feature: Feature, spec: Any, statistics: KeyStatistics, num_records: int
) -> None:
    if statistics.num_records < num_records and spec.default_value is None:
        raise ConfigError(
            f"key {feature.key!r} of feature {feature.name!r} is missing in "
            f"{num_records - statistics.num_records} of the first {num_records} records; declare "
            'it as a "sequence", or as tf.io.FixedLenFeature with a default_value'
        )
    expected = math.prod(spec.shape)
    if (statistics.shortest, statistics.longest) != (expected, expected):
        raise ConfigError(
            f"feature {feature.name!r} is declared with {counted(expected, 'value')} per record, "
            f"but key {feature.key!r} holds {statistics.shortest} to {statistics.longest}; declare "
            'it as a "sequence" if the number varies'
        )
    if feature.encoding == "bytes":
        expected = math.prod(size or 0 for size in feature.shape)
        expected *= tf.as_dtype(feature.dtype).size
        if statistics.num_bytes - {expected}:
            raise ConfigError(
                f"feature {feature.name!r} is declared as {feature.dtype} {list(feature.shape)}, "
                f"which takes {expected} bytes, but key {feature.key!r} holds "
                f"{', '.join(map(str, sorted(statistics.num_bytes)[:5]))}; declare another dtype "
                "or shape"
            )
