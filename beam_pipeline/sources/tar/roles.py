"""Roles of the extensions of a tar's members, and of names in its JSON."""

import itertools
import logging
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from beam_pipeline.errors import ConfigError, DataError
from beam_pipeline.sources.tables.names import LABELS, check_ignored, lowered, there_are
from beam_pipeline.sources.tables.options import ValueOptions
from beam_pipeline.sources.tables.types import Kind, ListOf, kind_of_text, merge_kinds
from beam_pipeline.sources.tar.parts import (
    FIRST_DOT,
    LABEL_EXTENSIONS,
    READ,
    LongValue,
    Part,
    form_of,
    kind_in_json,
    stem_of,
    values_of,
)

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
        kind: The kind that holds all values.
    """

    feature: str
    form: str
    kind: Kind | None = None


def kinds_of_members(parts: Iterable[Part]) -> MemberKinds:
    """The extensions of `parts`, and the kinds of what their texts hold."""
    return merge_kinds(map(_kinds_of_part, parts))


def _kinds_of_part(part: Part) -> MemberKinds:
    if part.problem:
        return {}
    kinds: MemberKinds = {part.extension: None}
    kind_of = kind_in_json if part.form == "json" else kind_of_text
    for name, value in values_of(part) if part.form in READ else ():
        kinds[name] = value.kind if isinstance(value, LongValue) else kind_of(value)
    return kinds


def merge_member_kinds(kinds: Iterable[MemberKinds]) -> MemberKinds:
    """Merge the kinds of values of all records.

    Raises:
        DataError: There are too many names, so files' names have more dots than they should.
    """
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

    Args:
        kinds: Kinds of all records.
        options: The user's options for features.

    Raises:
        ConfigError: Two of them make the same feature, or a named one does not exist.
    """
    if not kinds:
        return {}  # not one tar could be read
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
    _log_dots(forms)
    if not options.labels:
        _make_label(roles, LABEL_EXTENSIONS)
    roles |= _of_json(kinds, forms, taken={role.feature for role in roles.values()})
    named = [_named_label(column, roles) for column in options.labels]
    if len(named) < 2:
        _make_label(roles, named or _usual_labels(roles))
    else:
        roles |= {name: roles[name]._replace(form="label") for name in named}
    _check_clashes(roles)
    return roles


def _log_dots(extensions: Iterable[str]) -> None:
    """Log which files are one record, if their names differ after the first dot."""
    stems = {stem_of(extension): extension for extension in extensions}
    if len(stems) > 1:
        few = ", ".join(f"*.{each}" for each in itertools.islice(sorted(stems.values()), 5))
        _LOG.warning("files of one name up to its first dot are one record: %s", few)


def _feature(name: str, form: str, forms: Mapping[str, str]) -> str:
    """The feature of an extension: "seg" of "seg.png", but "image" if there is no other image."""
    stem = stem_of(name)
    alone = [each for each, other in forms.items() if other == form] == [name]
    if form in _MEDIA and (not stem or (alone and form != "array")):
        return form
    return stem or name


def _of_json(
    kinds: MemberKinds, forms: Mapping[str, str], taken: Collection[str]
) -> dict[str, Role]:
    """Roles of the members of JSON objects, under their own names or after their extension."""
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
    """Make the first existing of `names` the record's label, if it has none."""
    if all(role.feature != "label" or role.form != "label" for role in roles.values()):
        for name in names:
            if name in roles:
                roles[name] = Role("label", "label", roles[name].kind)
                return


def _usual_labels(roles: Mapping[str, Role]) -> list[str]:
    """Names in JSON that usually are classes; numbers with fractions are not."""
    possible = {
        lowered(role.feature): name
        for name, role in roles.items()
        if role.form == "value" and role.kind in (int, str, ListOf(str))
    }
    return [possible[usual] for usual in LABELS.of_record if usual in possible]


def _named_label(column: str, roles: Mapping[str, Role]) -> str:
    names = {role.feature: name for name, role in roles.items()}
    if column not in names:
        raise ConfigError(
            f"--label-column {column!r} is neither an extension nor a name in JSON; "
            f"{there_are(column, names)}"
        )
    return names[column]


def _check_clashes(roles: Mapping[str, Role]) -> None:
    """Images may come as .jpg and .png; else every feature is of one extension or name."""
    first: dict[str, tuple[str, Role]] = {}
    for name, role in roles.items():
        other, earlier = first.setdefault(role.feature, (name, role))
        if other != name and (role.form != earlier.form or role.form not in _MEDIA):
            raise ConfigError(
                f"{other!r} and {name!r} of the tars' members both make the feature "
                f"{role.feature!r}; {FIRST_DOT}, or leave one out with --ignore-columns"
            )
