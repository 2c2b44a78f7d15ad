"""Infers the schema of existing Examples: every key is a feature (docs/format.md)."""

import dataclasses
from collections.abc import Iterable

from beam_pipeline.errors import DataError
from beam_pipeline.kinds.observed import Observed
from tfrecord_dataset import inference
from tfrecord_dataset.feature import Feature
from tfrecord_dataset.inference import stored_format
from tfrecord_dataset.observation import KeyStatistics


def infer_feature(
    name: str, statistics: Observed, num_records: int, declared: Iterable[str] = ()
) -> Feature:
    """The feature of a key in some of `num_records` Examples.

    A record without the key counts as an empty list, but may lack a class label.

    Args:
        name: The key.
        statistics: Statistics of its lists.
        num_records: Of the dataset.
        declared: The class names, if the user declares them.

    Raises:
        DataError: The key has lists of two kinds, or an undeclared class.
    """
    facts = _facts(statistics)
    if len(facts.where) > 1:
        raise DataError(inference.mixed_lists(name, facts))
    names = tuple(declared)
    feature = inference.infer_feature(name, facts, num_records, names_classes=bool(names))
    if feature.kind != "class_label":
        return feature
    return dataclasses.replace(feature, classes=_class_names(name, statistics, names))


def _facts(statistics: Observed) -> KeyStatistics:
    """What the kinds of existing Examples are inferred from; the shape of raw numbers never is."""
    assert statistics.lists is not None
    assert statistics.lists.lengths is not None
    shortest, longest = statistics.lists.lengths
    return KeyStatistics(
        where={kind: statistics.example[kind] for kind in statistics.types if kind},
        num_records=statistics.types.total(),
        shortest=shortest,
        longest=longest,
        fours=statistics.lists.fours,
        smallest=statistics.minimum,
        largest=statistics.maximum,
        forms=set(statistics.formats),
    )


def complete_feature(feature: Feature, statistics: Observed, declared: Iterable[str]) -> Feature:
    """A declared feature, completed with the classes and formats in the Examples.

    Raises:
        DataError: There is an undeclared class.
    """
    match feature.kind:
        case "image":
            return dataclasses.replace(feature, format=stored_format("image", statistics.formats))
        case "audio":
            return dataclasses.replace(feature, format=stored_format("audio", statistics.formats))
        case "class_label" if not feature.classes:
            classes = _class_names(feature.key, statistics, tuple(declared), feature.label_offset)
            return dataclasses.replace(feature, classes=classes)
    return feature


def _class_names(
    name: str, statistics: Observed, declared: tuple[str, ...], offset: int = 0
) -> tuple[str, ...]:
    """The declared names, else the numbers up to the largest."""
    largest = int(statistics.maximum if statistics.maximum is not None else -1) - offset
    if not declared:
        return tuple(map(str, range(largest + 1)))
    smallest = int(statistics.minimum or 0)
    if largest >= len(declared) or smallest < -1:
        wrong = smallest if smallest < -1 else largest
        raise DataError(
            f"{name!r} has the class {wrong}, but {len(declared)} classes are declared, from 0 "
            f"to {len(declared) - 1}: {', '.join(declared[:20])}; declare all of them"
        )
    return declared
