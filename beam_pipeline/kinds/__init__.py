"""Kinds of values, with everything that the pipeline knows about each.

`of(value)` and `named(feature)` return the kind of a value or feature; the protocol is `kind.Kind`.
No code elsewhere depends on a value's kind (tests/test_architecture.py).
"""

import builtins
from collections.abc import Iterable, Iterator, Sequence
from types import NoneType
from typing import Any

from beam_pipeline.batch import Examples
from beam_pipeline.kinds.array import ArrayKind
from beam_pipeline.kinds.kind import Kind
from beam_pipeline.kinds.label import LabelKind
from beam_pipeline.kinds.media import AudioKind, ImageKind, MapKind
from beam_pipeline.kinds.objects import ObjectsKind
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.kinds.scalar import RawKind, ScalarKind
from beam_pipeline.kinds.stored import StoredKind, observe_class_names
from beam_pipeline.kinds.text import TextKind
from beam_pipeline.kinds.wording import unsupported
from tfrecord_dataset.format.feature import Feature

STORED = StoredKind()
KINDS: tuple[Kind[Any], ...] = (
    ImageKind(),
    MapKind(),
    AudioKind(),
    LabelKind(),
    ObjectsKind(),
    ArrayKind(),
    TextKind(),
    RawKind(),
    ScalarKind(),
    STORED,
)
_OF_VALUES = {value: kind for kind in KINDS for value in kind.values}
_BY_COLUMN = {each for each, kind in _OF_VALUES.items() if kind.by_column}
_OF_FEATURES = {feature: kind for kind in KINDS for feature in kind.features}
_OF_TYPES = {each: kind for kind in KINDS for each in kind.types}


def of(value: object) -> Kind[Any]:
    """Return the kind of a value.

    Raises:
        RecordError: "unsupported value": no kind has such values.
    """
    kind = _kind_of(value)
    if kind is None:
        raise unsupported(value)
    return kind


def _kind_of(value: object) -> Kind[Any] | None:
    return _OF_VALUES.get(type(value)) or next(
        (_OF_VALUES[each] for each in type(value).__mro__ if each in _OF_VALUES), None
    )


def inline_bytes(value: object) -> int:
    """Estimate the bytes of texts and arrays in a value that has not been checked."""
    kind = _OF_VALUES.get(type(value))
    return kind.inline_bytes(value) if kind else 0


def named(feature: Feature) -> Kind[Any]:
    """Return the kind of a feature."""
    return _OF_FEATURES[feature.kind]


def of_type(type_name: str) -> Kind[Any]:
    """Return the kind with values of this type (`Observed.types`)."""
    return _OF_TYPES[type_name]


def is_by_column(value: object) -> bool:
    """Whether values of this class are checked by column (`Kind.check_column`)."""
    kind = _kind_of(value)
    return kind is not None and kind.by_column


def are_by_column(classes: Iterable[type]) -> bool:
    """Whether values of all these classes are checked by column."""
    return _BY_COLUMN.issuperset(classes)


def observe(examples: Examples, observed: dict[str, Observed] | None = None) -> dict[str, Observed]:
    """Count the values of inspected examples by feature, and return the counts."""
    observed = {} if observed is None else observed
    is_existing = "example" in examples.fields
    sources = examples.sources
    for name, values in examples.features.items():
        seen = observed[name] = observed.get(name) or Observed()
        for some, of_values in _by_class(values, sources):
            _observe_values(STORED if is_existing else of(some[0]), some, of_values, seen)
    if is_existing:
        for row in examples.rows():
            observe_class_names(row, observed)
    return observed


def _by_class(
    values: Sequence[Any], sources: Sequence[str]
) -> Iterator[tuple[Sequence[Any], Sequence[str]]]:
    """Yield the values of each class, with the sources of their examples."""
    classes = dict.fromkeys(builtins.map(type, values))
    if len(classes) == 1 and NoneType not in classes:
        yield values, sources
        return
    for each in classes:
        if each is not NoneType:
            pairs = zip(values, sources, strict=True)
            some, of_values = zip(*(pair for pair in pairs if type(pair[0]) is each), strict=True)
            yield some, of_values


def _observe_values(
    kind: Kind[Any], values: Sequence[Any], sources: Sequence[str], observed: Observed
) -> None:
    types = [kind.type_of(value) for value in values]
    if types.count(types[0]) == len(types):
        observed.count(types[0], len(types), min(sources))
    else:
        for each, source in zip(types, sources, strict=True):
            observed.count(each, 1, source)
    kind.observe_column(values, sources, observed)
