"""Infers the schema of existing Examples: every key is a feature (docs/format.md)."""

import dataclasses
from collections.abc import Iterable

from beam_pipeline.errors import DataError
from beam_pipeline.kinds.label import numbered_classes
from beam_pipeline.kinds.observed import Observed
from tfrecord_dataset import inference
from tfrecord_dataset.feature import Feature
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
    return dataclasses.replace(feature, classes=numbered_classes(name, statistics, names))


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
