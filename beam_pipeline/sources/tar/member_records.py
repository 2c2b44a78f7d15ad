"""Make records from members, by the roles of extensions and of names in JSON."""

import functools
import itertools
import json
import logging
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from beam_pipeline.errors import ConfigError, DataError, RecordError
from beam_pipeline.records import Deferred, FileRef, Record, Rejected, Value
from beam_pipeline.sources.rejects import malformed
from beam_pipeline.sources.tables.fit import OF_FILE, fit, no_path, value_of_feature
from beam_pipeline.sources.tables.types import (
    Kind,
    ListOf,
    class_label,
    convert,
    kind_of_text,
    merge_kinds,
)
from beam_pipeline.sources.tables.usual_columns import (
    LABELS,
    ValueOptions,
    check_ignored,
    lowered,
    there_are,
)
from beam_pipeline.sources.tar.member_values import (
    FIRST_DOT,
    LABEL_EXTENSIONS,
    LEFT_OUT,
    READ,
    LongValue,
    TarPart,
    form_of,
    kind_in_json,
    stem_of,
    text_of,
    values_of,
)
from beam_pipeline.sources.tree import InputFile
from tfrecord_dataset.format.feature import Feature

MemberKinds = dict[str, Kind | None]
"""Kinds by extension, or by "<extension>/<name>" of a member of JSON objects."""

_LOG = logging.getLogger(__name__)

_MEDIA = ("image", "audio", "array")
_MAX_NAMES = 1000


class Role(NamedTuple):
    """Role of an extension, or of a name in JSON.

    Attributes:
        feature: The feature's name.
        form: "image", "audio", "array", "bytes", "label", "text" or "value".
        kind: Kind that holds all values.
    """

    feature: str
    form: str
    kind: Kind | None = None


def kinds_of_members(parts: Iterable[TarPart]) -> MemberKinds:
    """Return the extensions of `parts`, with the kinds of values in their texts."""
    return merge_kinds(map(_kinds_of_part, parts))


def _kinds_of_part(part: TarPart) -> MemberKinds:
    if part.problem:
        return {}
    kinds: MemberKinds = {part.extension: None}
    kind_of = kind_in_json if part.form == "json" else kind_of_text
    for name, value in values_of(part) if part.form in READ else ():
        kinds[name] = value.kind if isinstance(value, LongValue) else kind_of(value)
    return kinds


def merge_member_kinds(kinds: Iterable[MemberKinds]) -> MemberKinds:
    """Merge the kinds of values of all records; raise DataError if there are too many names."""
    merged: MemberKinds = {}
    for kind in kinds:
        merged = merge_kinds((merged, kind))
        if len(merged) > _MAX_NAMES:
            few = ", ".join(itertools.islice(merged, 5))
            raise DataError(
                f"the members of the tars have more than {_MAX_NAMES} extensions and JSON names, "
                f"such as {few}; {FIRST_DOT}"
            )
    return merged


def find_roles(kinds: MemberKinds, options: ValueOptions) -> dict[str, Role]:
    """Find the role of every extension and name in JSON, by its name in `MemberKinds`.

    Raises:
        ConfigError: Two extensions or names make the same feature, or a named one does not exist.
    """
    if not kinds:
        return {}  # no tar could be read
    names = {name: name.partition("/")[2] or name.partition("/")[0] for name in kinds}
    check_ignored(options.ignore_columns, [*dict.fromkeys(names.values())])
    kinds = {
        name: kind for name, kind in kinds.items() if names[name] not in options.ignore_columns
    }
    forms = {name: form_of(name, options.schema) for name in kinds if "/" not in name}
    roles = {
        name: Role(_feature(name, form, forms), form, kinds[name])
        for name, form in forms.items()
        if form != "json"
    }
    stems = {stem_of(extension): extension for extension in forms}
    if len(stems) > 1:
        few = ", ".join(f"*.{each}" for each in itertools.islice(sorted(stems.values()), 5))
        _LOG.warning("files of one name up to its first dot are one record: %s", few)
    if not options.labels:
        _make_label(roles, LABEL_EXTENSIONS)
    roles |= _of_json(kinds, forms, taken={role.feature for role in roles.values()})
    by_feature = {role.feature: name for name, role in roles.items()}
    for column in options.labels:
        if column not in by_feature:
            raise ConfigError(
                f"--label-column {column!r} is neither an extension nor a name in JSON; "
                f"{there_are(column, by_feature)}"
            )
    named = [by_feature[column] for column in options.labels]
    if len(named) < 2:
        _make_label(roles, named or _usual_labels(roles))
    else:
        roles |= {name: roles[name]._replace(form="label") for name in named}
    _check_clashes(roles)
    return roles


def _feature(name: str, form: str, forms: Mapping[str, str]) -> str:
    """Return an extension's feature: "seg" for "seg.png", or "image" if it is the only image."""
    stem = stem_of(name)
    alone = [each for each, other in forms.items() if other == form] == [name]
    if form in _MEDIA and (not stem or (alone and form != "array")):
        return form
    return stem or name


def _of_json(
    kinds: MemberKinds, forms: Mapping[str, str], taken: Collection[str]
) -> dict[str, Role]:
    """Find the roles of members of JSON objects, named by themselves or with their extension."""
    several = sum(form == "json" for form in forms.values()) > 1
    roles = {}
    for name, kind in kinds.items():
        extension, slash, member = name.partition("/")
        if slash:
            stem = stem_of(extension)
            feature = f"{stem}.{member}" if several and stem else member or extension
            roles[name] = Role(
                f"{extension}.{member}" if feature in taken else feature, "value", kind
            )
    return roles


def _make_label(roles: dict[str, Role], names: Iterable[str]) -> None:
    """Make the first existing name of `names` the record's label, if it has none."""
    if all(role.feature != "label" or role.form != "label" for role in roles.values()):
        for name in names:
            if name in roles:
                roles[name] = Role("label", "label", roles[name].kind)
                return


def _usual_labels(roles: Mapping[str, Role]) -> list[str]:
    """List names in JSON that usually are classes; numbers with fractions are not."""
    possible = {
        lowered(role.feature): name
        for name, role in roles.items()
        if role.form == "value" and role.kind in (int, str, ListOf(str))
    }
    return [possible[usual] for usual in LABELS.of_record if usual in possible]


def _check_clashes(roles: Mapping[str, Role]) -> None:
    """Raise ConfigError if extensions or names, other than .jpg and .png, share a feature."""
    first: dict[str, tuple[str, Role]] = {}
    for name, role in roles.items():
        other, earlier = first.setdefault(role.feature, (name, role))
        if other != name and (role.form != earlier.form or role.form not in _MEDIA):
            raise ConfigError(
                f"{other!r} and {name!r} of the tars' members both make the feature "
                f"{role.feature!r}; {FIRST_DOT}, or leave one out with --ignore-columns "
                f"{shlex.quote(name)}"
            )


def record_of_parts(
    key: str,
    members: Sequence[tuple[InputFile, TarPart]],
    roles: Mapping[str, Role],
    options: ValueOptions,
) -> Iterator[Record | Rejected]:
    """Make the record of all members with one name in a tar; a schema overrides `roles`."""
    archive = members[0][0]
    used = (part for _, part in members if part.form != LEFT_OUT)
    if not (parts := sorted(used, key=lambda part: part.extension)):
        return
    try:
        make = declared_features if options.schema else features_of_members
        features = make(_by_name(parts), archive.path, roles, options)
    except RecordError as error:
        yield Rejected.of(key, error)
    else:
        yield Record(key=key, features=features, split=archive.split)


def _by_name(parts: Sequence[TarPart]) -> dict[str, TarPart]:
    """Return parts by extension, or by "<extension>/<name>" for values in JSON."""
    for part in parts:
        if part.problem:
            raise RecordError(*part.problem)
    counts = Counter(part.extension for part in parts)
    if twice := [extension for extension, count in counts.items() if count > 1]:
        raise RecordError("two members of one name", f".{twice[0]} occurs {counts[twice[0]]} times")
    return {name: part._replace(value=value) for part in parts for name, value in values_of(part)}


def features_of_members(
    parts: Mapping[str, TarPart], path: str, roles: Mapping[str, Role], options: ValueOptions
) -> dict[str, Value]:
    """Make the features of a record by the roles found in the data; raise RecordError."""
    features: dict[str, Value] = {}
    for name, role in roles.items():
        part = parts.get(name)
        if role.form == "label" and not part and "/" not in name:
            continue  # the member is missing, not a value in its JSON
        if role.form not in OF_FILE:
            make = functools.partial(_value_of_role, role=role, options=options)
            features[role.feature] = _made(part, path, make)
        elif part:
            # A second image of the record is named after its extension.
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


def _made(part: TarPart | None, path: str, make: Callable[[Any], Value]) -> Value:
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


def _range(part: TarPart, path: str) -> FileRef:
    return FileRef(path=path, offset=part.offset, length=part.length)


def declared_features(
    parts: Mapping[str, TarPart], path: str, roles: Mapping[str, Role], options: ValueOptions
) -> dict[str, Value]:
    """Make the features of a record that the schema declares; raise RecordError."""
    features = {}
    for feature in options.schema:
        names = sources_of(feature, roles)
        if not (name := next((each for each in names if each in parts), "")):
            missing = f"there is no .{names[0]} ({feature.name})"
            raise RecordError("does not fit the schema", missing)
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
    """Return the extensions and JSON names of a declared feature; raise ConfigError if none."""
    names = [name for name, role in roles.items() if role.feature == feature.name]
    names = names or [name for name in roles if feature.name in (name, stem_of(name))]
    if not names or feature.kind == "boxes":
        features = [role.feature for role in roles.values()]
        raise ConfigError(
            f"--schema declares {feature.name!r} ({feature.kind}), which no member of the tars is; "
            f"{there_are(feature.name, features)}"
        )
    return names
