"""Infers the schema of records from their statistics."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from beam_pipeline import kinds
from beam_pipeline.errors import ConfigError, DataError
from beam_pipeline.kinds.kind import Kind
from beam_pipeline.kinds.label import numbered_classes
from beam_pipeline.kinds.observed import Observed
from tfrecord_dataset.format import inference
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.inference import KeyStatistics


def infer(
    observed: Mapping[str, Observed],
    *,
    num_records: int,
    declared: Mapping[str, Iterable[str]],
) -> tuple[Feature, ...]:
    """Infer the schema of `num_records` records.

    Args:
        declared: Class names in order by feature, if the layout or user declares them.

    Raises:
        DataError: A feature has values of several types, is missing in some records though its type
            cannot express "missing", or has undeclared classes despite declared ones.
    """
    features = {
        name: _inferred(name, each, num_records, tuple(declared.get(name, ())), observed)
        for name, each in sorted(observed.items(), key=_usual_order)
    }
    stored = {name: _facts(each) for name, each in observed.items() if each.lists}
    return tuple(inference.with_known_names(features, stored, num_records).values())


def with_depth_scale(schema: Iterable[Feature], scale: float) -> tuple[Feature, ...]:
    """Return `schema` with the scale of its depth maps, in metres.

    Raises:
        ConfigError: The schema has no depth maps.
    """
    features = tuple(schema)
    scaled = tuple(
        dataclasses.replace(feature, unit="m", scale=scale)
        if (feature.kind, feature.dtype) == ("map", "uint16")
        else feature
        for feature in features
    )
    if scaled == features:
        names = ", ".join(feature.name for feature in features)
        raise ConfigError(
            f"image.depth_scale {scale:g}: the data has no depth maps (it has {names}); "
            "remove the option"
        )
    return scaled


def complete(
    schema: Iterable[Feature],
    observed: Mapping[str, Observed],
    declared: Mapping[str, Iterable[str]],
) -> tuple[Feature, ...]:
    """Complete a declared schema, which every record fits, from their statistics.

    Adds the classes if the schema names none (`declared` has them as in `infer`), the formats of
    images and audio, and their sizes if all are equal.

    Raises:
        DataError: A class is undeclared.
    """
    completed = []
    for feature in schema:
        kind, seen = kinds.named(feature), observed.get(feature.name, Observed())
        complete = kind.complete_stored if seen.lists else kind.complete
        completed.append(complete(feature, seen, tuple(declared.get(feature.name, ()))))
    return tuple(completed)


def _usual_order(item: tuple[str, Observed]) -> tuple[int, str]:
    usual = ("image", "audio", "label", "boxes", "segmentation", "depth")
    name, observed = item
    if observed.lists:  # existing TFRecords have no conventional names
        return (0, name)
    return (usual.index(name) if name in usual else len(usual), name)


def _inferred(
    name: str,
    observed: Observed,
    num_records: int,
    declared: tuple[str, ...],
    beside: Collection[str],
) -> Feature:
    if observed.lists:
        return _infer_stored(name, observed, num_records, declared)
    kind = _one_kind(name, observed)
    missing = num_records - observed.num_values
    if missing and not kind.may_lack:
        raise DataError(
            f"feature {name!r} is missing in {missing:,} of {num_records:,} records; give every "
            "record a value, or leave the column out"
        )
    return kind.infer(name, observed, declared, beside)


def _one_kind(name: str, observed: Observed) -> Kind[Any]:
    types = sorted(observed.types)
    of_types = {kinds.of_type(each) for each in types}
    if len(of_types) > 1 or {*types} == {"array", "strings"}:
        listed = ", ".join(f"{each} in {observed.example[each]}" for each in types)
        raise DataError(f"feature {name!r} must have values of one type, but has {listed}")
    return of_types.pop()


def _infer_stored(
    name: str, statistics: Observed, num_records: int, declared: tuple[str, ...]
) -> Feature:
    """Infer the feature of a key that some of `num_records` Examples have.

    A record without the key counts as an empty list, but may lack a class label.
    """
    facts = _facts(statistics)
    if len(facts.where) > 1:
        raise DataError(inference.mixed_lists(name, facts))
    feature = inference.infer_feature(name, facts, num_records, names_classes=bool(declared))
    if feature.kind != "class_label":
        return feature
    return dataclasses.replace(feature, classes=numbered_classes(name, statistics, declared))


def _facts(statistics: Observed) -> KeyStatistics:
    """The values from which existing Examples' kinds are inferred; never raw numbers' shapes."""
    assert statistics.lists is not None
    assert statistics.lists.lengths is not None
    shortest, longest = statistics.lists.lengths
    smallest, largest = statistics.range or (None, None)
    return KeyStatistics(
        where={kind: statistics.example[kind] for kind in statistics.types if kind},
        num_records=statistics.types.total(),
        shortest=shortest,
        longest=longest,
        fours=not statistics.lists.has_other_lengths,
        smallest=smallest,
        largest=largest,
        forms=set(statistics.formats),
        names=statistics.lists.names,
    )
