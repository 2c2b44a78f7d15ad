"""Parses declared features, from metadata.json or a call."""

import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tfrecord_dataset.errors import ConfigError, UnknownNameError
from tfrecord_dataset.format.feature import STORED_KINDS, Feature
from tfrecord_dataset.format.feature_keys import GEOMETRY


def is_whole(value: Any) -> bool:
    """Whether it is an integer of Python or NumPy, and not a bool."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _is_int64(value: Any) -> bool:
    return is_whole(value) and -(1 << 63) <= value < 1 << 63


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _is_size(value: Any) -> bool:
    return value is None or (is_whole(value) and value >= 0)


def _fits(value: Any, dtype: str) -> bool:
    if dtype == "int64":
        return is_whole(value)
    return isinstance(value, numbers.Real if dtype == "float32" else str | bytes)


# Checks of JSON fields by type, each with the expected value for messages.
_JSON_TYPES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(("name", "kind", "key", "format", "encoding", "unit"), (_is_text, "a string")),
    **dict.fromkeys(("sample_rate", "label_offset", "keypoints"), (_is_int64, "a whole number")),
    **dict.fromkeys(("minimum", "maximum", "scale"), (_is_number, "a number")),
    "shape": (
        lambda value: _is_list(value) and all(map(_is_size, value)),
        "a list of whole numbers, null where a size varies",
    ),
    **dict.fromkeys(
        ("classes", "keypoint_names", "geometry"),
        (lambda value: _is_list(value) and all(map(_is_text, value)), "a list of strings"),
    ),
    "keypoint_flips": (
        lambda value: _is_list(value) and all(map(_is_size, value)) and None not in value,
        "a list of whole numbers, one for each point",
    ),
    "attributes": (lambda value: isinstance(value, Mapping), "a mapping from name to dtype"),
}


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
    entries: list[Mapping[str, Any]]
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
    name, kind = _checked_names(entry)
    stored = STORED_KINDS[kind]
    for each in entry.get("geometry") or ():
        if each not in GEOMETRY:
            raise UnknownNameError(f"geometry (of {name!r})", each, GEOMETRY)
    dtype = _dtype(entry, name, stored.dtype)
    encoding = entry.get("encoding") or ""
    if encoding not in stored.encodings:
        raise UnknownNameError(
            f"encoding of kind {kind} (of {name!r})", encoding, filter(None, stored.encodings)
        )
    stated = {field: _kept(entry[field]) for field in _JSON_TYPES if entry.get(field) is not None}
    return Feature(
        **{
            "label_offset": stored.label_offset,
            **stated,
            "dtype": dtype,
            "shape": _shape(name, kind, stated.get("shape")),
            "key": entry.get("key") or name,
            "bare": bool(entry.get("bare")),
            "default": entry.get("default"),
        }
    )


def _checked_names(entry: Any) -> tuple[str, str]:
    """Return the name and the kind of a declaration after checking its fields."""
    if not isinstance(entry, Mapping):
        raise ConfigError(
            f'{entry!r} is not a declaration; give {{"name": …, "kind": …}}, or a mapping from '
            "name to declaration"
        )
    name, kind = entry.get("name"), entry.get("kind")
    if name is None or not kind:  # a key of bare files may be ""
        raise ConfigError(
            f"feature {dict(entry)!r} has no {'name' if name is None else 'kind'}; "
            'declare it as {"name": "label", "kind": "class_label", …}'
        )
    for field, (fits, expected) in _JSON_TYPES.items():
        if entry.get(field) is not None and not fits(entry[field]):
            raise ConfigError(f"feature {name!r} has {field} {entry[field]!r}; give {expected}")
    if kind not in STORED_KINDS:
        raise UnknownNameError(f"feature kind (of {name!r})", kind, STORED_KINDS)
    return name, kind


def _dtype(entry: Mapping[str, Any], name: str, usual: str) -> str:
    """Return the dtype of a declaration after checking its default."""
    dtype: str = entry.get("dtype") or usual
    if not dtype:
        raise ConfigError(
            f'feature {name!r} of kind {entry["kind"]!r} has no dtype; add "dtype": "int64", '
            '"float32" or "bytes"'
        )
    default = entry.get("default")
    if not _is_list(default) and default is not None and not _fits(default, dtype):
        raise ConfigError(
            f"feature {name!r} of {dtype} has the default {default!r}; give a value of {dtype}"
        )
    return dtype


def _kept(value: Any) -> Any:
    """Convert a value of JSON to the type of the feature's field."""
    if isinstance(value, Mapping):
        return dict(value)
    return tuple(value) if _is_list(value) else value


def _shape(name: str, kind: str, shape: tuple[int | None, ...] | None) -> tuple[int | None, ...]:
    stored = STORED_KINDS[kind]
    if shape is None:
        if stored.shape is not None:
            return stored.shape
        actual, expected = "no shape", "its sizes by axis: [5], or [64, 64, 3]"
    elif stored.fits(shape):
        return shape
    else:
        actual, expected = f"the shape {list(shape)}", stored.expected
    raise ConfigError(f"{kind} feature {name!r} has {actual}; give {expected}")
