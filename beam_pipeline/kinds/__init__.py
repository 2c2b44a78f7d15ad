"""Kinds of values: all that the pipeline knows of each, in one module a kind.

`of(value)` and `named(feature)` find a value's kind and a feature's; the protocol is `kind.Kind`.
Elsewhere nothing asks of what kind a value is (tests/test_architecture.py).
"""

from collections.abc import Iterable
from typing import Any

from beam_pipeline.kinds.array import ArrayKind
from beam_pipeline.kinds.audio import AudioKind
from beam_pipeline.kinds.image import ImageKind
from beam_pipeline.kinds.kind import Kind
from beam_pipeline.kinds.label import LabelKind
from beam_pipeline.kinds.map import MapKind
from beam_pipeline.kinds.objects import ObjectsKind
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.kinds.raw import RawKind
from beam_pipeline.kinds.scalar import ScalarKind
from beam_pipeline.kinds.stored import StoredKind, observe_class_names
from beam_pipeline.kinds.text import TextKind
from beam_pipeline.kinds.wording import unsupported
from beam_pipeline.records import Inspected
from tfrecord_dataset.feature import Feature

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
_OF_VALUES = {each: kind for kind in KINDS for each in kind.values}
_OF_FEATURES = {each: kind for kind in KINDS for each in kind.features}
_OF_TYPES = {each: kind for kind in KINDS for each in kind.types}


def of(value: object) -> Kind[Any]:
    """The kind of a value.

    Raises:
        RecordError: "unsupported value": it is of none.
    """
    kind = _OF_VALUES.get(type(value))
    if kind is None:
        found = (_OF_VALUES[each] for each in type(value).__mro__ if each in _OF_VALUES)
        if (kind := next(found, None)) is None:
            raise unsupported(value)
    return kind


def inline_bytes(value: object) -> int:
    """About how many bytes of texts and arrays a value holds itself, which nobody has checked."""
    kind = _OF_VALUES.get(type(value))
    return kind.inline_bytes(value) if kind else 0


def named(feature: Feature) -> Kind[Any]:
    """The kind of a feature."""
    return _OF_FEATURES[feature.kind]


def of_type(type_name: str) -> Kind[Any]:
    """The kind whose values have such a type (`Observed.types`)."""
    return _OF_TYPES[type_name]


def observe(record: Inspected, observed: dict[str, Observed]) -> None:
    """Counts an inspected record's values, by feature."""
    source = record.source or record.key
    is_stored = record.example is not None
    for name, value in record.features.items():
        if (seen := observed.get(name)) is None:
            seen = observed[name] = Observed()
        kind = STORED if is_stored else of(value)
        seen.count(kind.type_of(value), source)
        kind.observe(value, source, seen)
    if is_stored:
        observe_class_names(record.features, observed)


def observe_all(records: Iterable[Inspected]) -> dict[str, Observed]:
    """What the values of `records` are, by feature."""
    observed: dict[str, Observed] = {}
    for record in records:
        observe(record, observed)
    return observed
