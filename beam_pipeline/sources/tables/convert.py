"""Convert cells to values of features, column by column; long values become references."""

import functools
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.numbers import Number
from beam_pipeline.kinds.wording import of_classes, shortened
from beam_pipeline.records import (
    Array,
    Audio,
    ClassLabel,
    ClassLabels,
    Deferred,
    FileRef,
    Image,
    Map,
    RawFile,
    Value,
)
from beam_pipeline.sources.paths import ARRAY_SUFFIXES, suffix
from beam_pipeline.sources.rejects import malformed
from beam_pipeline.sources.tables.boxes import boxes_from_lists
from beam_pipeline.sources.tables.profiles import (
    Place,
    Profile,
    profile_of_texts,
    profile_of_values,
    profiles_of_texts,
)
from beam_pipeline.sources.tables.roles import Media, Roles
from beam_pipeline.sources.tables.table import Batch, Scratch, Table, TableFile
from beam_pipeline.sources.tables.types import (
    OF_COLUMNS,
    Kind,
    ListOf,
    Unlabelled,
    array_of,
    class_label,
    class_name,
    convert_column,
    flatten,
    in_column,
    is_stated,
    listed_texts,
    named_class,
    parse_list,
    unsupported,
)
from tfrecord_dataset.cells import truth_as_number
from tfrecord_dataset.format.feature import Feature

# Value class of a file, by kind.
OF_FILE: dict[str, Callable[..., Value]] = {
    "image": Image,
    "audio": Audio,
    "array": Array,
    "bytes": RawFile,
}
# Size from which a value becomes a reference.
LONG_VALUE_BYTES = 1 << 10

Kinds = Mapping[str, Kind | None]
Convert = Callable[[Sequence[Any]], Sequence[Value | None]]

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
            is_text = feature.dtype in ("string", "bytes")
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
    if feature.dtype in ("string", "bytes"):
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


class FeatureColumn(NamedTuple):
    """A feature, its column, and the conversion of its values."""

    feature: str
    column: str
    convert: Convert  # pickles in a few bytes
    may_be_long: bool = True  # and become references


def main_columns(file: TableFile, roles: Roles, kinds: Kinds) -> list[FeatureColumn]:
    """Return the columns of files, declared features, and the record's classes."""
    main = []
    for media in roles.media:
        files = functools.partial(_files, media=media, path_of=file.path_of)
        main.append(FeatureColumn(media.feature, media.column, files, may_be_long=False))
    for feature, column in roles.declared:
        fitted = functools.partial(
            fit, feature, column, path_of=file.path_of, missing_number=roles.missing_number
        )
        may_lack = feature.kind == "class_label" and feature.default is not None
        values = functools.partial(_each, value_of=fitted, may_lack=may_lack)
        main.append(FeatureColumn(feature.name, column, values))
    for name, column in roles.labels:
        is_list = isinstance(kinds.get(column), ListOf)
        label = functools.partial(
            class_label,
            column=column,
            kind=kinds.get(column),
            classes=roles.classes,
            separator=roles.separator,
            has_several=is_list or roles.separator not in ("", OF_COLUMNS),
        )
        classes = functools.partial(_each, value_of=label)
        main.append(FeatureColumn(name, column, classes, bool(roles.separator) or is_list))
    return main


def other_columns(table: Table, roles: Roles, kinds: Kinds) -> list[FeatureColumn]:
    """Return the columns that are features with their own names."""
    if roles.declared or roles.boxes.corners:
        return []
    if table.has_values:
        names = [name for name in dict.fromkeys(table.header) if name not in roles.taken]
        return [FeatureColumn(name, name, list, may_be_long=False) for name in names]
    columns = []
    for name, kind in kinds.items():
        if name not in roles.taken and not roles.boxes.is_attribute(name):
            is_absent = name == roles.optional and name not in table.header
            missing = math.nan if is_absent else roles.missing_number
            convert = functools.partial(
                convert_column, name=name, kind=kind, missing_number=missing
            )
            columns.append(FeatureColumn(name, name, convert, kind not in (int, float)))
    return columns


def path_text(value: Any, column: str) -> str:
    """Return the path in a cell; raise RecordError if it is not a path."""
    if not isinstance(value, str) or not value.strip():
        raise malformed(f"column {column!r} is {value!r}, not the path of a file")
    return value


def _files(values: Sequence[Any], media: Media, path_of: Callable[[str], str]) -> list[Value]:
    def file_of(value: Any) -> FileRef:
        if isinstance(value, FileRef):
            return value
        return FileRef(path=path_of(path_text(value, media.column)))

    make = OF_FILE[media.kind]
    return [make(file=file_of(value)) for value in values]


def _each(
    values: Sequence[Any], value_of: Callable[[Any], Value], may_lack: bool = False
) -> list[Value | None]:
    """Convert each value; missing labels become None, as do other missing values if `may_lack`."""

    def stated(value: Any) -> Value | None:
        is_lacking = value is Unlabelled.LABEL or (may_lack and not is_stated(value))
        return None if is_lacking else value_of(value)

    if set(map(type, values)) in ({str}, {int}):  # classes have few distinct values
        made = {value: stated(value) for value in dict.fromkeys(values)}
        return [made[value] for value in values]
    return list(map(stated, values))


def converted(
    columns: Iterable[FeatureColumn], batch: Batch, scratch: Scratch | None
) -> dict[str, Sequence[Any]]:
    """Return each feature's values by row, None for missing ones; raise RecordError."""
    nothing = [None] * len(batch)
    features: dict[str, Sequence[Any]] = {}
    for feature, column, convert, may_be_long in columns:
        stated = batch.columns.get(column, nothing)
        values = convert(stated)
        if scratch and may_be_long:
            values = _spilled(values, stated, convert, scratch)
        features[feature] = values
    return features


def _spilled(
    values: Sequence[Any], stated: Sequence[Any], convert: Convert, scratch: Scratch
) -> Sequence[Any]:
    """Replace long values by references to the table's cells in a scratch file."""
    if set(map(type, values)) == {str} and max(map(len, values)) < LONG_VALUE_BYTES:
        return values  # nearly always
    return [
        _deferred(value, cell, convert, scratch) if is_long(value) else value
        for value, cell in zip(values, stated, strict=True)
    ]


def _deferred(value: Any, cell: Any, convert: Convert, scratch: Scratch) -> Deferred:
    is_text = isinstance(cell, str)
    text = cell if is_text else json.dumps(cell)
    file = scratch.put(text.encode(errors="surrogatepass"))
    if value is cell:
        return Deferred(file=file, read=_decoded)
    return Deferred(file=file, read=functools.partial(_read, is_text=is_text, convert=convert))


def _decoded(data: bytes) -> str:
    return data.decode(errors="surrogatepass")


def _read(data: bytes, is_text: bool, convert: Convert) -> Value:
    text = _decoded(data)
    (value,) = convert([text if is_text else json.loads(text)])
    assert value is not None  # it was long
    return value


def is_long(value: object) -> bool:
    """Return whether a text, list or array is long enough for a reference."""
    if isinstance(value, Array):
        return len(value.data) >= LONG_VALUE_BYTES
    if isinstance(value, tuple | list | dict | ClassLabels):
        value = repr(value)
    return isinstance(value, str) and len(value) >= LONG_VALUE_BYTES


def profiles_of(table: Table, batch: Batch, roles: Roles) -> dict[str, Profile]:
    """Return the profiles of rows' columns and labels, and of attributes as "<boxes>.<name>".

    Raises:
        RecordError: A row has an unusable value.
    """
    if table.is_typed:
        check_forms(batch.columns, roles)
    taken = roles.taken.difference(column for _, column in roles.labels)
    columns = {name: values for name, values in batch.columns.items() if name not in taken}
    profiles = (
        _profiles_of_values(columns)
        if table.is_typed
        else dict(zip(columns, profiles_of_texts([*columns.values()]), strict=True))
    )
    for name, profile in profiles.items():
        if text := profile.first_text:
            line = batch.lines[columns[name].index(text)]
            profile.first = Place(table.file.relative, line, table.row(line), text)
    if roles.boxes.lists:
        profile_of = profile_of_values if table.is_typed else profile_of_texts
        for row in batch.by_row():
            boxes = boxes_from_lists(row, roles, None)
            for name, of_boxes in boxes.attributes.items():
                attribute = f"{roles.boxes.lists}.{name}"
                profiles.setdefault(attribute, Profile()).merge(profile_of(of_boxes))
    return profiles


def _profiles_of_values(columns: Mapping[str, Sequence[Any]]) -> dict[str, Profile]:
    profiles: dict[str, Profile] = {}
    for name, values in columns.items():
        with in_column(name):
            profiles[name] = profile_of_values(values)
    return profiles


def check_forms(columns: Mapping[str, Sequence[Any]], roles: Roles) -> None:
    """Raise "unsupported column" for an object, or a list or plain value unlike the first rows."""
    boxes = roles.boxes
    excepted = {boxes.lists, boxes.labels, *boxes.per_box} | roles.ignored
    for name, values in columns.items():
        types = set() if name in excepted else set(map(type, values)) - {type(None)}
        wrong = types & {dict}
        if name in roles.forms:
            wrong |= types - {list} if roles.forms[name] == "list" else types & {list}
        if wrong:
            shown = next(str(value) for value in values if type(value) in wrong)
            raise unsupported(f"column {name!r} holds {shown[:100]}, unlike other rows", name)
