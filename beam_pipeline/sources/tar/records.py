"""From the members of one name to a record: plain functions, no Beam."""

import functools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.records import (
    Deferred,
    FileRef,
    Record,
    Rejected,
    Value,
)
from beam_pipeline.sources.columns.choice import there_are
from beam_pipeline.sources.columns.class_values import class_label
from beam_pipeline.sources.columns.fitting import OF_FILE, fit, no_path, value_of_file
from beam_pipeline.sources.columns.kinds import convert
from beam_pipeline.sources.columns.options import ValueOptions
from beam_pipeline.sources.input_files import InputFile
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.tar.parts import LEFT_OUT, LongValue, Part, members_of, stem_of, text_of
from beam_pipeline.sources.tar.roles import Role
from tfrecord_dataset.feature import Feature


def record_of_parts(
    key: str,
    members: Sequence[tuple[InputFile, Part]],
    roles: Mapping[str, Role],
    options: ValueOptions,
) -> Iterator[Record | Rejected]:
    """The record of all members of one name in one tar.

    Args:
        key: The tar's path and the name.
        members: The tar, and what each member is.
        roles: What every extension and JSON name becomes.
        options: What a user says; a schema comes before `roles`.
    """
    archive = members[0][0]
    used = (part for _, part in members if part.form != LEFT_OUT)
    parts = sorted(used, key=lambda part: part.extension)
    if not parts:
        return
    try:
        values = _by_name(parts)
        make = declared_features if options.schema else found_features
        features = make(values, archive.path, roles, options)
    except RecordError as error:
        yield Rejected.of(key, error)
    else:
        yield Record(key=key, features=features, split=archive.split)


def _by_name(parts: Sequence[Part]) -> dict[str, Any]:
    """The parts by extension, and the values in JSON by "<extension>/<name>"."""
    for part in parts:
        if part.problem:
            raise RecordError(*part.problem)
    counts = Counter(part.extension for part in parts)
    if twice := [extension for extension, count in counts.items() if count > 1]:
        raise RecordError("two members of one name", f".{twice[0]} occurs {counts[twice[0]]} times")
    values: dict[str, Any] = {}
    for part in parts:
        if part.form == "json":
            for name, each in members_of(part).items():
                value = part._replace(value=each) if isinstance(each, LongValue) else each
                values[f"{part.extension}/{name}"] = value
        else:
            values[part.extension] = part
    return values


def found_features(
    values: Mapping[str, Any],
    path: str,
    roles: Mapping[str, Role],
    options: ValueOptions,
) -> dict[str, Value]:
    """The features of a record whose kinds were found by looking.

    Args:
        values: Parts by extension, and values in JSON by "<extension>/<name>", or the parts that
            hold them where they are long.
        path: Of the tar.
        roles: What every extension and JSON name becomes, over all records.
        options: What a user says.

    Raises:
        RecordError: "missing value", and others of `kinds.convert`.
    """
    features: dict[str, Value] = {}
    for name, role in roles.items():
        value = values.get(name)
        if role.form in OF_FILE:
            if isinstance(value, Part):
                # A second image of the record goes by its extension.
                feature = name if role.feature in features else role.feature
                features[feature] = value_of_file(role.form, _range(value, path))
            continue
        make = functools.partial(
            _value_of_role,
            role=role,
            classes=options.classes,
            missing_number=options.missing_number,
        )
        features[role.feature] = _made(value, path, make)
    for name, role in roles.items():
        if role.feature not in features:
            raise RecordError(
                "missing value",
                f"there is no .{name}, which other records have; add it, or leave it out of all "
                f"with --ignore-columns {name}",
            )
    return features


def _value_of_role(
    value: Any, role: Role, classes: Sequence[str], missing_number: float | None
) -> Value:
    if role.form == "label":
        return class_label(value, role.feature, None, classes)
    if role.form == "text":
        return value or ""
    if role.kind is str and isinstance(value, list | dict):
        value = json.dumps(value, ensure_ascii=False)
    return convert(role.feature, value, role.kind, missing_number=missing_number)


def _made(value: Any, path: str, make: Callable[[Any], Value]) -> Value:
    """What `make` makes of a value, or a reference to it where that is left in the tar."""
    held = value.value if isinstance(value, Part) else value
    if not isinstance(held, LongValue):
        return make(held)
    read = functools.partial(_read_long_value, name=held.name, make=make)
    return Deferred(file=_range(value, path), read=read)


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
    values: Mapping[str, Any],
    path: str,
    roles: Mapping[str, Role],
    options: ValueOptions,
) -> dict[str, Value]:
    """The features of a record as a user's schema declares them.

    Raises:
        RecordError: "does not fit the schema".
        ConfigError: A feature that no member of any tar is.
    """
    return {
        feature.name: _declared(
            feature, sources_of(feature, roles), values, path, options.missing_number
        )
        for feature in options.schema
    }


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


def _declared(
    feature: Feature,
    names: Sequence[str],
    values: Mapping[str, Any],
    path: str,
    missing_number: float | None,
) -> Value:
    name = next((each for each in names if each in values), "")
    if not name:
        raise RecordError("does not fit the schema", f"there is no .{names[0]} ({feature.name})")
    value = values[name]
    if isinstance(value, Part) and value.form != "json":
        form = "array" if value.form == "array" else feature.kind
        if form in OF_FILE:
            return value_of_file(form, _range(value, path))
    make = functools.partial(fit, feature, name, path_of=no_path, missing_number=missing_number)
    return _made(value, path, make)
