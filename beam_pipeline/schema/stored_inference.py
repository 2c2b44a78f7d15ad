"""Infers the schema of existing Examples: every key is a feature (docs/format.md)."""

import dataclasses
import functools
from collections.abc import Iterable

from beam_pipeline.errors import DataError
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.kinds.stored_values import (
    AUDIO_FORMS,
    IMAGE_FORMS,
    MAX_CLASS,
    is_label_key,
    last_part,
)
from tfrecord_dataset.feature import Feature
from tfrecord_dataset.feature_keys import describe_list


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
    assert statistics.lists is not None
    assert statistics.lists.lengths is not None
    kind = _one_kind(name, statistics)
    shortest, longest = statistics.lists.lengths
    if statistics.types.total() < num_records:
        shortest = 0
    feature = functools.partial(Feature, name=name, key=name, bare=True)
    if kind == "float32" and "box" in last_part(name) and statistics.lists.fours:
        return feature(kind="sequence", dtype="float32", shape=(None, 4))
    dtype = "string" if kind == "bytes" else kind
    names = tuple(declared) if kind == "int64" else ()
    if statistics.lists.lengths == (1, 1) and (names or _are_classes(name, kind, statistics)):
        classes = _class_names(name, statistics, names)
        default = None if shortest else -1
        return feature(
            kind="class_label", dtype="int64", shape=(), classes=classes, default=default
        )
    if shortest != longest or not longest:
        return feature(kind="sequence", dtype=dtype, shape=(None,))
    if longest > 1:
        return feature(kind="tensor", dtype=dtype, shape=(longest,))
    if kind == "bytes":
        return _single_bytes(name, statistics)
    return feature(kind="scalar", dtype=dtype, shape=())


def complete_feature(feature: Feature, statistics: Observed, declared: Iterable[str]) -> Feature:
    """A declared feature, completed with the classes and formats in the Examples.

    Raises:
        DataError: There is an undeclared class.
    """
    match feature.kind:
        case "image":
            return dataclasses.replace(feature, format=_format(statistics, ("jpeg", "png")))
        case "audio":
            return dataclasses.replace(feature, format=_format(statistics, AUDIO_FORMS))
        case "class_label" if not feature.classes:
            classes = _class_names(feature.key, statistics, tuple(declared), feature.label_offset)
            return dataclasses.replace(feature, classes=classes)
    return feature


def _one_kind(name: str, statistics: Observed) -> str:
    kinds = sorted(kind for kind in statistics.types if kind)
    if len(kinds) > 1:
        lists = ", ".join(f"{describe_list(kind)} in {statistics.example[kind]}" for kind in kinds)
        raise DataError(f"key {name!r} must hold lists of one kind, but holds {lists}")
    return kinds[0] if kinds else "bytes"  # no record has a value


def _are_classes(name: str, kind: str, statistics: Observed) -> bool:
    if (
        kind != "int64"
        or not is_label_key(name)
        or statistics.minimum is None
        or statistics.maximum is None
    ):
        return False
    return statistics.minimum >= -1 and statistics.maximum <= MAX_CLASS


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


def _single_bytes(name: str, statistics: Observed) -> Feature:
    feature = functools.partial(Feature, name=name, key=name, bare=True)
    forms = {form for form in statistics.formats if form}
    if forms and forms <= IMAGE_FORMS:
        format_ = _format(statistics, ("jpeg", "png"))
        return feature(kind="image", dtype="uint8", shape=(None, None, 3), format=format_)
    if forms and forms <= AUDIO_FORMS:
        format_ = _format(statistics, AUDIO_FORMS)
        return feature(kind="audio", dtype="float32", shape=(None, None), format=format_)
    if forms <= {"text"}:
        return feature(kind="text", dtype="string", shape=())
    return feature(kind="bytes", dtype="string", shape=())


def _format(statistics: Observed, known: Iterable[str]) -> str:
    forms = {form for form in statistics.formats if form}
    return forms.pop() if len(forms) == 1 and forms <= set(known) else "mixed"
