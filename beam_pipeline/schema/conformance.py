"""Checks a record's values against a declared schema."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from beam_pipeline import kinds
from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.wording import described
from beam_pipeline.records import Value
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import Lists, ListSpec, list_problem, list_specs

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
