"""Parses declared features, from metadata.json or a call."""

import dataclasses
import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tfrecord_dataset.errors import ConfigError, UnknownNameError
from tfrecord_dataset.format.feature import FEATURE_KINDS, Feature, FeatureKind
from tfrecord_dataset.format.feature_keys import GEOMETRY
from tfrecord_dataset.json_file import JsonError, typed

_FIELDS = [field.name for field in dataclasses.fields(Feature)]
_MOST_POINTS = 10_000
# JSON's own types, which need no conversion.
_PLAIN = frozenset({str, int, float, bool, type(None)})


def is_whole(value: Any) -> bool:
    """Whether a value is a Python or NumPy integer, not a bool."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def features_from_json(
    declared: Iterable[Mapping[str, Any]] | Mapping[str, Mapping[str, Any]],
) -> dict[str, Feature]:
    """Parse features, by name and in order.

    Args:
        declared: metadata.json's `features`: a list of `{"name", "kind", …}`, or a mapping from
            name to `{"kind", …}`. `key` defaults to the name, `dtype` and `shape` to those of
            the kind.

    Raises:
        ConfigError: A declaration is incomplete, or two have the same name.
        UnknownNameError: A kind does not exist.
    """
    if isinstance(declared, Mapping):
        entries = [
            {**entry, "name": name} if isinstance(entry, Mapping) else entry
            for name, entry in declared.items()
        ]
    else:
        entries = list(declared)
    features: dict[str, Feature] = {}
    for entry in entries:
        feature = _feature(entry)
        if feature.name in features:
            raise ConfigError(f"two features have the name {feature.name!r}; rename one of them")
        features[feature.name] = feature
    return features


def _feature(entry: Any) -> Feature:
    if not isinstance(entry, Mapping):
        raise ConfigError(
            f'{entry!r} is not a declaration; give {{"name": …, "kind": …}}, or a mapping from '
            "name to declaration"
        )
    stated = {field: _plain(entry[field]) for field in _FIELDS if entry.get(field) is not None}
    name, kind = stated.get("name"), stated.get("kind")
    if name is None or not kind:  # a key of bare files may be ""
        raise ConfigError(
            f"feature {dict(entry)!r} has no {'name' if name is None else 'kind'}; "
            'declare it as {"name": "label", "kind": "class_label", …}'
        )
    try:
        feature: Feature = typed({"dtype": "", **stated, "key": stated.get("key", name)}, Feature)
    except JsonError as error:
        raise ConfigError(f"feature {name!r}: {error}; correct its declaration") from error
    if kind not in FEATURE_KINDS:
        raise UnknownNameError(f"feature kind (of {name!r})", kind, FEATURE_KINDS)
    return _with_defaults(feature, FEATURE_KINDS[kind], stated.keys())


def _plain(value: Any) -> Any:
    """Convert mappings, sequences and numbers of any library to JSON's types."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if _is_list(value):
        return [_plain(each) for each in value]
    if is_whole(value):
        return int(value)
    is_fraction = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return float(value) if is_fraction else value


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _with_defaults(feature: Feature, stored: FeatureKind, stated: Iterable[str]) -> Feature:
    """Fill in what a declaration does not state, after checks against its kind."""
    for each in feature.geometry:
        if each not in GEOMETRY:
            raise UnknownNameError(f"geometry (of {feature.name!r})", each, GEOMETRY)
    if not 0 <= feature.keypoints <= _MOST_POINTS or min(feature.keypoint_flips, default=0) < 0:
        raise ConfigError(
            f"feature {feature.name!r} has {feature.keypoints:,} keypoints and keypoint_flips "
            f"{list(feature.keypoint_flips)}; give up to {_MOST_POINTS:,} points, and flips from 0"
        )
    if feature.encoding not in stored.encodings:
        what = f"encoding of kind {feature.kind} (of {feature.name!r})"
        raise UnknownNameError(what, feature.encoding, filter(None, stored.encodings))
    complete: dict[str, Any] = {
        "dtype": _dtype(feature, stored.dtype),
        "shape": _shape(feature, stored, is_stated="shape" in stated),
        "key": feature.key or feature.name,
        "label_offset": feature.label_offset if "label_offset" in stated else stored.label_offset,
    }
    changed = {name: value for name, value in complete.items() if value != getattr(feature, name)}
    return dataclasses.replace(feature, **changed) if changed else feature


def _dtype(feature: Feature, usual: str) -> str:
    dtype = feature.dtype or usual
    if not dtype:
        raise ConfigError(
            f'feature {feature.name!r} of kind {feature.kind!r} has no dtype; add "dtype": '
            '"int64", "float32" or "bytes"'
        )
    stored = "bytes" if feature.encoding == "bytes" else dtype
    defaults = feature.default if _is_list(feature.default) else [feature.default]
    if feature.default is not None and not all(_fits(value, stored) for value in defaults):
        raise ConfigError(
            f"feature {feature.name!r} of {dtype} has the default {feature.default!r}; give a "
            f"value of {stored}"
        )
    return dtype


def _fits(value: Any, dtype: str) -> bool:
    if dtype == "int64":
        return is_whole(value)
    return isinstance(value, numbers.Real if dtype == "float32" else str | bytes)


def _shape(feature: Feature, stored: FeatureKind, *, is_stated: bool) -> tuple[int | None, ...]:
    if not is_stated:
        if stored.shape is not None:
            return stored.shape
        actual, expected = "no shape", "its sizes by axis: [5], or [64, 64, 3]"
    elif stored.fits(feature.shape) and min(filter(None, feature.shape), default=0) >= 0:
        return feature.shape
    else:
        actual, expected = f"the shape {list(feature.shape)}", stored.expected
    raise ConfigError(f"{feature.kind} feature {feature.name!r} has {actual}; give {expected}")
