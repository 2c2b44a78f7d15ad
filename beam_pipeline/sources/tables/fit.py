"""Fit a cell of a table, or a value of JSON, to a feature that a schema declares."""

import math
import re
from collections.abc import Callable
from typing import Any

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.numbers import Number
from beam_pipeline.kinds.wording import of_classes, shortened
from beam_pipeline.records import (
    Array,
    Audio,
    ClassLabel,
    ClassLabels,
    FileRef,
    Image,
    Map,
    RawFile,
    Value,
)
from beam_pipeline.sources.paths import ARRAY_SUFFIXES, suffix
from beam_pipeline.sources.tables.types import (
    array_of,
    class_name,
    flatten,
    is_stated,
    listed_texts,
    named_class,
    parse_list,
)
from tfrecord_dataset.cells import truth_as_number
from tfrecord_dataset.format.feature import STRINGS, Feature

# Value class of a file, by kind.
OF_FILE: dict[str, Callable[..., Value]] = {
    "image": Image,
    "audio": Audio,
    "array": Array,
    "bytes": RawFile,
}
# Size from which a value becomes a reference.
LONG_VALUE_BYTES = 1 << 10

_SEPARATOR = re.compile(r"\s*[,;]\s*|\s+")


def fit(
    feature: Feature,
    column: str,
    value: Any,
    path_of: Callable[[str], str],
    *,
    missing_number: Number | None = None,
) -> Value:
    """Convert a text of a CSV or a JSON value to the declared `feature`.

    Args:
        feature: The declared feature.
        column: The value's column, for messages.
        value: The value.
        path_of: Resolves a file's name in the manifest to its absolute path or URL.
        missing_number: Replaces a missing float32 scalar, if not None.

    Raises:
        RecordError: "does not fit the schema"; the detail names column, value and expectation.
    """
    if feature.is_fraction and missing_number is not None and not is_stated(value):
        return missing_number
    try:
        return _READERS[feature.kind](feature, value, path_of)
    except (ValueError, RecordError) as error:
        shown = shortened(value) if is_stated(value) else "empty"
        why = f" ({error.detail})" if isinstance(error, RecordError) else ""
        raise RecordError(
            "does not fit the schema",
            f"column {column!r} is {shown}, where {_expected(feature)} was expected{why}",
        ) from error


def _expected(feature: Feature) -> str:
    what = "texts" if feature.dtype == "string" else f"{feature.dtype} numbers"
    sizes = "×".join(str(size) for size in feature.shape if size is not None)
    match feature.kind:
        case "scalar":
            is_text = feature.dtype in STRINGS
            return "a text" if is_text else f"one {feature.dtype} number"
        case "tensor":
            return f"a list of {sizes or 1} {what}"
        case "sequence":
            return f"a list of {what}" + (f" in rows of {sizes}" if sizes else "")
        case "class_label":
            return of_classes("a list of classes" if feature.shape else "a class", feature)
        case "text":
            return "a text"
        case _:
            return "the path of a file"


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError
    return str(value)


def _scalar(feature: Feature, value: Any, _: Callable[[str], str]) -> Value:
    if feature.dtype in STRINGS:
        text = _text(value)
        return text if feature.dtype == "string" else text.encode()
    if isinstance(value, str):
        value = truth_as_number(value)
    if isinstance(value, str):
        (value,) = _parsed([value.strip()], feature.dtype)
    _checked_array([value], (), feature.dtype)
    return float(value) if feature.dtype == "float32" else int(value)


def _checked_array(flat: list[Any], shape: tuple[int, ...], dtype: str) -> Array:
    types = {int, bool, float} if dtype.startswith("float") else {int, bool}
    if not types.issuperset(map(type, flat)):
        raise ValueError
    return array_of(flat, shape, dtype)


def _parsed(texts: list[str], dtype: str) -> list[Any]:
    """Parse numbers; refuse Python's spellings "1_000" and "١"."""
    joined = "".join(texts)
    if "_" in joined or not joined.isascii():
        raise ValueError
    numbers: list[Any] = list(map(float if dtype.startswith("float") else int, texts))
    if math.inf in map(abs, numbers) and "inf" not in joined.lower():
        raise ValueError  # 1e400
    return numbers


def _numbers(feature: Feature, value: Any, path_of: Callable[[str], str]) -> Value:
    if not is_stated(value):
        raise ValueError
    if isinstance(value, Array):
        return value  # Inspect checks its values
    if isinstance(value, str):
        text = value.strip()
        if feature.dtype != "string" and suffix(text) in ARRAY_SUFFIXES:
            return Array(file=FileRef(path=path_of(text)))
        if text.startswith("["):
            value = parse_list(text)
        elif feature.dtype == "string":
            value = _names(text)
        else:
            value = _parsed(_SEPARATOR.split(text), feature.dtype)
    elif not isinstance(value, list):
        value = [value]
    flat, shape = flatten(value)
    shape = _shaped(feature, len(flat), shape)
    if feature.dtype == "string":
        return listed_texts(flat)
    return _checked_array(flat, shape, feature.dtype)


def _names(text: str) -> list[str]:
    names = text.split("|" if "|" in text else ",")
    return [name.strip() for name in names if name.strip()]


def _shaped(feature: Feature, count: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the declared shape of values, which may be flat."""
    wanted = feature.shape
    inner = tuple(size for size in wanted if size is not None)
    size: int = math.prod(inner)
    if feature.kind == "tensor":
        if shape == wanted or (len(shape) == 1 and count == size):
            return inner
    elif not count:
        return (0, *inner)
    elif shape[1:] == inner:
        return shape
    elif len(shape) == 1 and size and count % size == 0:
        return (count // size, *inner)
    raise RecordError("", f"its shape is {list(shape)}")


def _class_label(feature: Feature, value: Any, _: Callable[[str], str]) -> Value:
    if not feature.shape:
        return ClassLabel(_class(feature, value))
    text = value.strip() if isinstance(value, str) else ""
    if text in feature.classes:
        value = [text]
    elif isinstance(value, str):
        value = parse_list(text) if text.startswith("[") else _names(text)
    elif not isinstance(value, list):
        value = [] if value is None else [value]
    return ClassLabels(tuple(_class(feature, each) for each in value))


def _class(feature: Feature, value: Any) -> str:
    """Return the class with that name, else the class with that number."""
    label = named_class(class_name(value), feature.classes)
    if feature.classes and label not in feature.classes:
        (number,) = _parsed([label], "float32")  # "3.0" in a CSV
        label = named_class(class_name(number), feature.classes)
    if not label or isinstance(value, list | dict) or label not in (feature.classes or [label]):
        raise ValueError
    return label


def value_of_feature(feature: Feature, file: FileRef) -> Value:
    """Make the value of a declared feature from a file."""
    if feature.kind != "map":
        return OF_FILE[feature.kind](file=file)
    shows = "depth" if feature.dtype == "uint16" else "classes"
    return Map(file=file, shows=shows, num_classes=len(feature.classes))


def no_path(name: str) -> str:
    """Raise ValueError for the name of a file."""
    raise ValueError(f"{name!r} is not a file name")


def _file(feature: Feature, value: Any, path_of: Callable[[str], str]) -> Value:
    if not isinstance(value, FileRef):
        if not isinstance(value, str) or not value.strip():
            raise ValueError
        value = FileRef(path=path_of(value))
    return value_of_feature(feature, value)


_READERS: dict[str, Callable[[Feature, Any, Callable[[str], str]], Value]] = {
    **dict.fromkeys(("image", "map", "audio", "bytes"), _file),
    "text": lambda _, value, path_of: _text(value),
    "scalar": _scalar,
    "tensor": _numbers,
    "sequence": _numbers,
    "class_label": _class_label,
}


def is_long(value: object) -> bool:
    """Return whether a text, list or array is long enough for a reference."""
    if isinstance(value, Array):
        return len(value.data) >= LONG_VALUE_BYTES
    if isinstance(value, tuple | list | dict | ClassLabels):
        value = repr(value)
    return isinstance(value, str) and len(value) >= LONG_VALUE_BYTES
