"""Records of the members of one name."""

import functools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.records import Deferred, FileRef, Record, Rejected, Value
from beam_pipeline.sources.input_files import InputFile
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.tables.fitting import (
    OF_FILE,
    fit,
    no_path,
    value_of_feature,
)
from beam_pipeline.sources.tables.labels import class_label
from beam_pipeline.sources.tables.names import there_are
from beam_pipeline.sources.tables.options import ValueOptions
from beam_pipeline.sources.tables.types import ListOf, convert
from beam_pipeline.sources.tar.parts import (
    FIRST_DOT,
    LEFT_OUT,
    LongValue,
    Part,
    stem_of,
    text_of,
    values_of,
)
from beam_pipeline.sources.tar.roles import Role
from tfrecord_dataset.format.feature import Feature


def record_of_parts(
    key: str,
    members: Sequence[tuple[InputFile, Part]],
    roles: Mapping[str, Role],
    options: ValueOptions,
) -> Iterator[Record | Rejected]:
    """Make the record of all members of one name in a tar.

    Args:
        key: The tar's path and the name.
        members: The tar and the members.
        roles: Role of every extension and JSON name.
        options: The user's options; a schema comes before `roles`.
    """
    archive = members[0][0]
    used = (part for _, part in members if part.form != LEFT_OUT)
    parts = sorted(used, key=lambda part: part.extension)
    if not parts:
        return
    try:
        make = declared_features if options.schema else features_of_members
        features = make(_by_name(parts), archive.path, roles, options)
    except RecordError as error:
        yield Rejected.of(key, error)
    else:
        yield Record(key=key, features=features, split=archive.split)


def _by_name(parts: Sequence[Part]) -> dict[str, Part]:
    """The parts by extension, those with a value of JSON by "<extension>/<name>"."""
    for part in parts:
        if part.problem:
            raise RecordError(*part.problem)
    counts = Counter(part.extension for part in parts)
    if twice := [extension for extension, count in counts.items() if count > 1]:
        raise RecordError("two members of one name", f".{twice[0]} occurs {counts[twice[0]]} times")
    return {name: part._replace(value=value) for part in parts for name, value in values_of(part)}


def features_of_members(
    parts: Mapping[str, Part], path: str, roles: Mapping[str, Role], options: ValueOptions
) -> dict[str, Value]:
    """Make the features of a record by the roles found in the data.

    Args:
        parts: The members by name.
        path: Path of the tar.
        roles: Role of every extension and JSON name, over all records.
        options: The user's options.

    Raises:
        RecordError: "missing value", and others of `kinds.convert`.
    """
    features: dict[str, Value] = {}
    for name, role in roles.items():
        part = parts.get(name)
        if role.form == "label" and not part and "/" not in name:
            continue  # the member is missing, not a value of its JSON
        if role.form not in OF_FILE:
            make = functools.partial(_value_of_role, role=role, options=options)
            features[role.feature] = _made(part, path, make)
        elif part:
            # A second image of the record goes by its extension.
            feature = name if role.feature in features else role.feature
            features[feature] = OF_FILE[role.form](file=_range(part, path))
    for name, role in roles.items():
        if role.feature not in features:
            raise RecordError(
                "missing value",
                f"there is no .{name}, which other records have; add it, or leave it out of all "
                f"with --ignore-columns {name}" + (f"; {FIRST_DOT}" if stem_of(name) else ""),
            )
    return features


def _value_of_role(value: Any, role: Role, options: ValueOptions) -> Value:
    if role.form == "label":
        has_several = isinstance(role.kind, ListOf)
        return class_label(value, role.feature, None, options.classes, has_several=has_several)
    if role.form == "text":
        return value or ""
    if role.kind is str and isinstance(value, list | dict):
        value = json.dumps(value, ensure_ascii=False)
    return convert(role.feature, value, role.kind, missing_number=options.missing_number)


def _made(part: Part | None, path: str, make: Callable[[Any], Value]) -> Value:
    """Apply `make` to a part's value, or defer it for a value that stays in the tar."""
    if part is None or not isinstance(part.value, LongValue):
        return make(part and part.value)
    read = functools.partial(_read_long_value, name=part.value.name, make=make)
    return Deferred(file=_range(part, path), read=read)


def _read_long_value(data: bytes, name: str | None, make: Callable[[Any], Value]) -> Value:
    try:
        value: Any = text_of(data)
        if name is not None:
            value = json.loads(value)
            value = value[name] if isinstance(value, dict) else value
    except (ValueError, KeyError) as error:
        raise malformed(f"the member is another than before: {error}") from error
    return make(value)


def _range(part: Part, path: str) -> FileRef:
    return FileRef(path=path, offset=part.offset, length=part.length)


def declared_features(
    parts: Mapping[str, Part], path: str, roles: Mapping[str, Role], options: ValueOptions
) -> dict[str, Value]:
    """Make the features of a record that the schema declares.

    Raises:
        RecordError: "does not fit the schema".
        ConfigError: No member of the tars is a declared feature.
    """
    features = {}
    for feature in options.schema:
        names = sources_of(feature, roles)
        name = next((each for each in names if each in parts), "")
        if not name:
            raise RecordError(
                "does not fit the schema", f"there is no .{names[0]} ({feature.name})"
            )
        part = parts[name]
        form = part.form if part.form in ("array", "json") else feature.kind
        if form == "map":
            features[feature.name] = value_of_feature(feature, _range(part, path))
        elif form in OF_FILE:
            features[feature.name] = OF_FILE[form](file=_range(part, path))
        else:
            make = functools.partial(
                fit, feature, name, path_of=no_path, missing_number=options.missing_number
            )
            features[feature.name] = _made(part, path, make)
    return features


def sources_of(feature: Feature, roles: Mapping[str, Role]) -> list[str]:
    """The extensions and JSON names of a declared feature.

    Raises:
        ConfigError: There are none.
    """
    names = [name for name, role in roles.items() if role.feature == feature.name]
    names = names or [name for name in roles if feature.name in (name, stem_of(name))]
    if not names or feature.kind == "boxes":
        features = [role.feature for role in roles.values()]
        raise ConfigError(
            f"--schema declares {feature.name!r} ({feature.kind}), which no member of the tars is; "
            f"{there_are(feature.name, features)}"
        )
    return names
