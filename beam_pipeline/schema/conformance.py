"""Checks names of features, attributes and classes, and values against a declared schema."""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from beam_pipeline import kinds
from beam_pipeline.errors import DataError, RecordError
from beam_pipeline.kinds.wording import described
from beam_pipeline.records import Value
from tfrecord_dataset.format.example import MAX_KEYS, TOO_MANY
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import Lists, ListSpec, list_problem, list_specs

# Line ends of any program, terminal control characters, and surrogates left by invalid UTF-8.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def check_names(schema: Iterable[Feature]) -> None:
    """Raise DataError if a name is empty, has a control character, or is not Unicode.

    Class names are written one per line, so a line end would renumber all later classes.
    """
    for feature in schema:
        for name in (feature.name, feature.key, *feature.attributes):
            _check(name, "the feature", "rename its column or key, or leave it out")
        for name in feature.classes:
            _check(name, f"the class of {feature.name!r}", "rename it")


def check_number(names: Collection[str], whose: str = "the records together") -> None:
    """Raise DataError for too many feature names."""
    if len(names) > MAX_KEYS:
        raise DataError(f"{whose} have {len(names):,} features, such as {min(names)!r}, {TOO_MANY}")


def _check(name: str, what: str, remedy: str) -> None:
    if not name:
        raise DataError(f"{what} {name!r} has no name; {remedy}")
    if _CONTROL.search(name):
        raise DataError(
            f"{what} {name!r} has a line end or another control character, or bytes that are not "
            f"UTF-8, in its name, which the files that describe a dataset cannot hold; {remedy}"
        )


Specs = Sequence[tuple[Feature, Mapping[str, ListSpec]]]
"""The checks of each feature's keys."""


def conforming(
    features: Mapping[str, Value], schema: Iterable[Feature], *, may_be_nan: bool = False
) -> dict[str, Value]:
    """Check inspected values by name against `schema`, and return those it declares.

    Args:
        may_be_nan: Whether NaN is allowed as a missing scalar, whatever the range.

    Raises:
        RecordError: "does not fit the schema".
    """
    fitting = {}
    for feature in schema:
        kind = kinds.named(feature)
        value = features.get(feature.name)
        if value is not None:
            fitting[feature.name] = value
        elif kind.may_lack:
            continue
        if may_be_nan and isinstance(value, float) and math.isnan(value) and feature.is_fraction:
            continue
        if value is None or not kind.fits(feature, value):
            shown = "missing" if value is None else kinds.of(value).shown(value)
            raise RecordError(
                "does not fit the schema",
                f"{feature.name!r} is {shown}, where {described(feature)} was expected",
            )
    return fitting


def schema_specs(schema: Iterable[Feature]) -> Specs:
    """The `list_specs` of each feature, computed once for many Examples."""
    return [(feature, list_specs(feature)) for feature in schema]


def mismatches(specs: Specs, lists: Lists) -> Iterator[str]:
    """Messages about keys of an Example that do not fit `specs`, one per key."""
    for feature, keys in specs:
        list_problems = [list_problem(key, each, lists) for key, each in keys.items()]
        problems = [problem for problem in list_problems if problem]
        yield from problems or filter(None, [kinds.named(feature).problem(feature, lists)])
