"""The schema of other people's Examples: every key is a feature, stored under itself alone.

docs/tfrecords.md has the rules.
"""

import dataclasses
import functools
from collections.abc import Iterable

from beam_pipeline.errors import DataError
from beam_pipeline.schema.feature import Feature
from beam_pipeline.schema.observation import Observed
from beam_pipeline.schema.stored_values import (
    AUDIO_FORMS,
    IMAGE_FORMS,
    MAX_CLASS,
    is_label_key,
    last_part,
    told_list,
)


def infer_feature(
    name: str, seen: Observed, num_records: int, declared: Iterable[str] = ()
) -> Feature:
    """The feature of a key whose lists were `seen` in some of `num_records` Examples.

    A record without the key counts as an empty list, but a class label may be missing.

    Args:
        declared: The names of its classes, if it has any, where a user declares them.

    Raises:
        DataError: The key has lists of two kinds, or a class without a declared name.
    """
    assert seen.lists is not None
    assert seen.lists.lengths is not None
    kind = _one_kind(name, seen)
    shortest, longest = seen.lists.lengths
    if seen.dtypes.total() < num_records:
        shortest = 0
    feature = functools.partial(Feature, name=name, key=name, bare=True)
    if kind == "float32" and "box" in last_part(name) and seen.lists.fours:
        return feature(kind="sequence", dtype="float32", shape=(None, 4))
    dtype = "string" if kind == "bytes" else kind
    names = tuple(declared) if kind == "int64" else ()
    if seen.lists.lengths == (1, 1) and (names or _are_classes(name, kind, seen)):
        classes = _class_names(name, seen, names)
        default = None if shortest else -1
        return feature(
            kind="class_label", dtype="int64", shape=(), classes=classes, default=default
        )
    if shortest != longest or not longest:
        return feature(kind="sequence", dtype=dtype, shape=(None,))
    if longest > 1:
        return feature(kind="tensor", dtype=dtype, shape=(longest,))
    if kind == "bytes":
        return _single_bytes(name, seen)
    return feature(kind="scalar", dtype=dtype, shape=())


def complete_feature(feature: Feature, seen: Observed, declared: Iterable[str]) -> Feature:
    """A declared feature, with the classes and formats that only the Examples tell.

    Raises:
        DataError: A class without a name.
    """
    match feature.kind:
        case "image":
            return dataclasses.replace(feature, format=_format(seen, ("jpeg", "png")))
        case "audio":
            return dataclasses.replace(feature, format=_format(seen, AUDIO_FORMS))
        case "class_label" if not feature.classes:
            classes = _class_names(feature.key, seen, tuple(declared), feature.label_offset)
            return dataclasses.replace(feature, classes=classes)
    return feature


def _one_kind(name: str, seen: Observed) -> str:
    kinds = sorted(kind for kind in seen.dtypes if kind)
    if len(kinds) > 1:
        found = ", ".join(f"{told_list(kind)} in {seen.example[kind]}" for kind in kinds)
        raise DataError(f"key {name!r} must hold lists of one kind but holds {found}")
    return kinds[0] if kinds else "bytes"  # that no record has any value for


def _are_classes(name: str, kind: str, seen: Observed) -> bool:
    if kind != "int64" or not is_label_key(name) or seen.minimum is None or seen.maximum is None:
        return False
    return seen.minimum >= -1 and seen.maximum <= MAX_CLASS


def _class_names(
    name: str, seen: Observed, declared: tuple[str, ...], offset: int = 0
) -> tuple[str, ...]:
    """The declared names, else the numbers up to the largest."""
    largest = int(seen.maximum if seen.maximum is not None else -1) - offset
    if not declared:
        return tuple(map(str, range(largest + 1)))
    smallest = int(seen.minimum or 0)
    if largest >= len(declared) or smallest < -1:
        wrong = smallest if smallest < -1 else largest
        raise DataError(
            f"{name!r} has the class {wrong}, but {len(declared)} classes are declared, from 0 "
            f"to {len(declared) - 1}: {', '.join(declared[:20])}; declare all there are"
        )
    return declared


def _single_bytes(name: str, seen: Observed) -> Feature:
    feature = functools.partial(Feature, name=name, key=name, bare=True)
    forms = {form for form in seen.formats if form}
    if forms and forms <= IMAGE_FORMS:
        format_ = _format(seen, ("jpeg", "png"))
        return feature(kind="image", dtype="uint8", shape=(None, None, 3), format=format_)
    if forms and forms <= AUDIO_FORMS:
        format_ = _format(seen, AUDIO_FORMS)
        return feature(kind="audio", dtype="float32", shape=(None, None), format=format_)
    if forms <= {"text"}:
        return feature(kind="text", dtype="string", shape=())
    return feature(kind="bytes", dtype="string", shape=())


def _format(seen: Observed, known: Iterable[str]) -> str:
    forms = {form for form in seen.formats if form}
    return forms.pop() if len(forms) == 1 and forms <= set(known) else "mixed"
