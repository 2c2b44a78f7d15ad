"""Read columns by their Arrow types, and by what Hugging Face says of them.

Hugging Face writes its features as JSON into the schema's metadata: which structs are images or
audio, and the names of classes whose numbers are stored
(https://huggingface.co/docs/datasets/about_dataset_features).
"""

import contextlib
import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from beam_pipeline.errors import RecordError
from beam_pipeline.media import audio_format, other_formats
from beam_pipeline.sources.tables.cells import json_text
from beam_pipeline.sources.tables.names import BOXES, lowered
from beam_pipeline.sources.tables.table import Form

# As `Form.convert`, of what Arrow gives.
Convert = Callable[[Any], list[Any]]
_MEDIA = {"Image": "image", "Audio": "audio"}


def _values(array: Any) -> list[Any]:
    values: list[Any] = array.to_pylist()
    return values


def features_of(schema: pa.Schema) -> Mapping[str, Any]:
    """What Hugging Face says of the columns; nothing where it does not."""
    try:
        told = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
        features = told["info"]["features"]
    except (ValueError, KeyError, TypeError):
        return {}
    return features if isinstance(features, dict) else {}


def form_of(field: pa.Field, feature: Any, begin: Callable[[], bytes]) -> Form:
    """How a column is read.

    Args:
        field: Its name and Arrow type.
        feature: What Hugging Face says of it, if it does.
        begin: Returns the first bytes that it holds, if it holds bytes.

    Raises:
        RecordError: "unsupported column": it holds what no feature can be made of.
    """
    kind = field.type
    classes = next(_classes_in(feature), ())
    if is_file(kind):
        told = _MEDIA.get(feature.get("_type", ""), "") if isinstance(feature, dict) else ""
        return Form(media=told) if told else form_of_bytes(field.name, begin())
    if _holds_files(kind):
        raise RecordError(
            "unsupported column",
            f"column {field.name!r} holds bytes in lists or structs, such as several images a row; "
            "give each a column, or leave it out with --ignore-columns",
        )
    convert = _plain(kind)
    is_nested = _holds_structs(kind) and lowered(field.name) not in BOXES
    if is_nested:
        convert = functools.partial(_as_json, convert=convert)
    elif classes:
        convert = functools.partial(_named, convert=convert, feature=feature)
    return Form(convert=convert, classes=() if is_nested else classes, is_nested=is_nested)


def is_file(kind: pa.DataType) -> bool:
    """Whether a type is that of encoded files: bytes, or a struct of bytes and a path."""
    if pa.types.is_struct(kind):
        names = {kind.field(number).name for number in range(kind.num_fields)}
        return "bytes" in names <= {"bytes", "path"} and is_file(kind.field("bytes").type)
    types = pa.types
    fitting = (types.is_binary, types.is_large_binary, types.is_fixed_size_binary)
    return any(fits(kind) for fits in (*fitting, types.is_binary_view))


def form_of_bytes(name: str, data: bytes) -> Form:
    """Return how a column of bytes is read, of which one value begins with `data`.

    Raises:
        RecordError: "unsupported column": they are neither images nor audio.
    """
    for kind, sniff in (("image", other_formats.sniff), ("audio", audio_format.sniff)):
        with contextlib.suppress(RecordError):  # it says why they are none
            sniff(data)
            return Form(media=kind)
    raise RecordError(
        "unsupported column",
        f"column {name!r} holds bytes that are neither images nor audio; leave it out with "
        "--ignore-columns",
    )


def _holds_structs(kind: pa.DataType) -> bool:
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _holds_structs(kind.value_type)
    return bool(pa.types.is_struct(kind) or pa.types.is_map(kind))


def _holds_files(kind: pa.DataType) -> bool:
    inner = [kind.field(number).type for number in range(kind.num_fields)]
    return any(is_file(each) or _holds_files(each) for each in inner)


def _plain(kind: pa.DataType) -> Convert:
    """How the values of a type become those of JSON: times are texts, decimals fractions."""
    if pa.types.is_temporal(kind) or pa.types.is_null(kind):
        return functools.partial(_cast, kind=pa.string())
    if pa.types.is_decimal(kind) or pa.types.is_float16(kind):
        return functools.partial(_cast, kind=pa.float64())
    if pa.types.is_dictionary(kind):
        return functools.partial(_cast, kind=kind.value_type)
    return _values


def _cast(array: Any, kind: pa.DataType) -> list[Any]:
    return _values(pc.cast(array, kind))


def _as_json(array: Any, convert: Convert) -> list[Any]:
    return list(map(json_text, convert(array)))


def _named(array: Any, convert: Convert, feature: Any) -> list[Any]:
    return [_with_names(value, feature) for value in convert(array)]


def _with_names(value: Any, feature: Any) -> Any:
    """A value with the names of classes in place of their numbers; -1 is no class."""
    inner = _element(feature)
    inner = feature if inner is None else inner
    match value:
        case list():
            return [_with_names(each, inner) for each in value]
        case dict() if isinstance(inner, dict):
            return {name: _with_names(each, inner.get(name)) for name, each in value.items()}
        case int() if names := _classes(inner):
            return names[value] if 0 <= value < len(names) else None if value == -1 else value
    return value


def _element(feature: Any) -> Any:
    """What the elements of a list are said to be; None where it is no list."""
    if isinstance(feature, list):
        return feature[0] if feature else None
    if isinstance(feature, dict) and feature.get("_type") in ("Sequence", "List", "LargeList"):
        return feature.get("feature")
    return None


def _classes(feature: Any) -> Sequence[str]:
    if isinstance(feature, dict) and feature.get("_type") == "ClassLabel":
        names = feature.get("names")
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            return names
    return ()


def _classes_in(feature: Any) -> Iterator[tuple[str, ...]]:
    """The names of classes anywhere in a feature."""
    if names := _classes(feature):
        yield tuple(names)
    elif (inner := _element(feature)) is not None:
        yield from _classes_in(inner)
    elif isinstance(feature, dict):
        for part in feature.values():
            yield from _classes_in(part)
