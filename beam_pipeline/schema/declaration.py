"""Parses the schema that a user declares with `--schema FILE`."""

import dataclasses
import json
import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from beam_pipeline import kinds
from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from tfrecord_dataset.format.declaration import features_from_json
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import written_key

_FIELDS = frozenset(Feature.__dataclass_fields__)
_MAX_JSON_BYTES = 16 << 20
_EXAMPLE = '{"name": "age", "kind": "scalar", "dtype": "int64"}'
# A larger file takes PyYAML seconds.
MAX_BYTES = 1 << 20


def read_schema(path: str | os.PathLike[str]) -> tuple[Feature, ...]:
    """Read the schema in a JSON or YAML file.

    It holds the `features` of a metadata.json, a whole metadata.json, or a mapping from name to
    `{"kind": …}` or to a kind.

        >>> features = beam_pipeline.read_schema("data/cells/1.0.0/metadata.json")
        >>> [feature.name for feature in features]
        ['image', 'label']

    Raises:
        ConfigError: The file cannot be read, or a declaration is invalid.
    """
    path = os.fspath(path)
    try:
        if path.endswith(".json"):
            data = json.loads(storage.read_text(storage.absolute(path), _MAX_JSON_BYTES))
        else:
            from beam_pipeline.schema.yaml_values import parse_yaml  # PyYAML: 18 ms of every build

            data = parse_yaml(storage.read_text(storage.absolute(path), MAX_BYTES))
    except (RecordError, ValueError, RecursionError) as error:
        raise ConfigError(f"--schema {path} cannot be read: {error}") from error
    try:
        return parse_schema(data)
    except ConfigError as error:
        raise ConfigError(f"--schema {path}: {error}") from error


def parse_schema(data: Any) -> tuple[Feature, ...]:
    """Parse the schema in decoded JSON or YAML, as `read_schema` does.

        >>> beam_pipeline.parse_schema({"age": {"kind": "scalar", "dtype": "int64"}})
        (Feature(name='age', kind='scalar', dtype='int64', key='age'),)

    Raises:
        ConfigError: A declaration is invalid; the message names the feature.
    """
    if isinstance(data, Mapping) and isinstance(data.get("features"), list):
        data = data["features"]
    entries: Any = data
    if isinstance(data, Mapping):
        entries = [_named(name, entry) for name, entry in data.items()]
    is_list = isinstance(entries, list) and all(isinstance(each, Mapping) for each in entries)
    if not is_list or not entries:
        shown = str(data)[:80]
        raise ConfigError(f"it holds {shown!r}; give a list of features such as {_EXAMPLE}")
    names = [str(entry.get("name")) for entry in entries]
    features = tuple(_feature(entry, names) for entry in entries)
    names = [feature.name for feature in features]
    if twice := {name for name, count in Counter(names).items() if count > 1}:
        raise ConfigError(f"feature {min(twice)!r} is declared twice; remove one")
    return features


def _named(name: Any, entry: Any) -> Any:
    """Return an entry of a mapping in the list form; an invalid entry is unchanged."""
    if isinstance(entry, str):
        entry = {"kind": entry}
    if not isinstance(entry or {}, Mapping):
        return entry
    return {
        "name": str(name) if type(name) is int else name,  # pandas has integer column names
        **(entry or {}),
    }


def check_stated(entries: Sequence[Mapping[str, Any]], features: Mapping[str, Feature]) -> None:
    """Check the features of a metadata.json, which are parsed already, as `parse_schema` does.

    Raises:
        ConfigError: A declaration is invalid; the message names the feature.
    """
    for entry in entries:
        _check_entry(entry)
        feature = features[entry["name"]]
        _check_default(feature)
        _stored_dtype(feature)


def _feature(entry: Mapping[str, Any], names: Collection[str]) -> Feature:
    _check_entry(entry)
    name, kind = entry["name"], str(entry.get("kind"))
    usual = next((each.usual for each in kinds.KINDS if kind in each.features), {})
    classes = [str(each) for each in entry.get("classes") or ()]
    [feature] = features_from_json([{**usual, **entry, "classes": classes}]).values()
    _check_default(feature)
    key = feature.key if "key" in entry else written_key(name, kind, names)
    return dataclasses.replace(feature, key=key, dtype=_stored_dtype(feature))


def _check_entry(entry: Mapping[str, Any]) -> None:
    name = entry.get("name")
    if not isinstance(name, str) or not name:
        raise ConfigError(f"{dict(entry)} has no name; write it like {_EXAMPLE}")
    if unknown := sorted(entry.keys() - _FIELDS):
        raise ConfigError(
            f"feature {name!r} has the unknown field {unknown[0]!r}; the fields are "
            f"{', '.join(sorted(_FIELDS))}"
        )
    _check_classes(name, entry.get("classes"))
    _check_range(name, entry)


def _check_classes(name: str, classes: Any) -> None:
    if classes is None:
        return
    if not isinstance(classes, list | tuple) or any(
        isinstance(each, list | dict) or each is None for each in classes
    ):
        raise ConfigError(f"feature {name!r} has the classes {classes!r}; give a list of names")
    if truths := [each for each in classes if isinstance(each, bool)]:
        raise ConfigError(
            f"feature {name!r} has the class {truths[0]}, since YAML reads yes, no, on, "
            "off, true and false as booleans; put class names in quotes"
        )
    names = list(map(str, classes))
    if twice := {each for each, count in Counter(names).items() if count > 1}:
        raise ConfigError(f"feature {name!r} has the class {min(twice)!r} twice; name each once")


def _check_range(name: str, entry: Mapping[str, Any]) -> None:
    limits = [entry[limit] for limit in ("minimum", "maximum") if entry.get(limit) is not None]
    if any(isinstance(limit, bool) or not isinstance(limit, int | float) for limit in limits):
        raise ConfigError(f"feature {name!r} has the limits {limits!r}; give numbers")
    if limits != sorted(limits):
        raise ConfigError(
            f"feature {name!r} has the minimum {limits[0]} above its maximum {limits[1]}; swap them"
        )


def _check_default(feature: Feature) -> None:
    is_label = feature.kind == "class_label" and not feature.shape
    if feature.default is not None and (feature.default != -1 or not is_label):
        raise ConfigError(
            f"feature {feature.name!r} of kind {feature.kind!r} has the default "
            f"{feature.default!r}; remove it, only a class label may have one (-1 for none)"
        )


def _stored_dtype(feature: Feature) -> str:
    """Return the dtype for its name in metadata.json."""
    choices = kinds.named(feature).dtypes_of(feature)
    if feature.dtype not in choices:
        raise ConfigError(
            f"feature {feature.name!r} of kind {feature.kind!r} has the dtype {feature.dtype!r}; "
            f"give one of {', '.join(choices)}"
        )
    return "string" if feature.kind == "bytes" else feature.dtype
