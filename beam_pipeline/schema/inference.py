"""Infers the schema of records from their statistics."""

import dataclasses
import functools
import math
from collections.abc import Iterable, Mapping

from beam_pipeline.errors import DataError
from beam_pipeline.schema import stored_inference
from beam_pipeline.schema.statistics import FeatureStatistics
from tfrecord_dataset.feature import STORED_INTEGERS, Feature, tokens_feature
from tfrecord_dataset.feature_keys import written_key

# A tensor with more values is stored as one raw value: the cost of parsing a list grows with them.
_MAX_LISTED_VALUES = 256
# These dtypes have no value for "missing".
_NEEDED = frozenset({"image", "audio", "int64", "float32", "bytes", "array", "strings"})


def infer(
    observed: Mapping[str, FeatureStatistics],
    *,
    num_records: int,
    declared: Mapping[str, Iterable[str]],
) -> tuple[Feature, ...]:
    """The schema of `num_records` records.

    Args:
        observed: Statistics by feature name.
        num_records: Of the dataset.
        declared: Class names in order, by feature, if layout or user declare them.

    Raises:
        DataError: A feature has values of several types, is missing in some
            records though its type has no value for "missing", or has undeclared classes although
            classes are declared.
    """
    return tuple(
        _infer_feature(
            name, statistics, num_records, tuple(declared.get(name, ())), "image" in observed
        )
        for name, statistics in sorted(observed.items(), key=_usual_order)
    )


def with_sequences_of_tokens(schema: Iterable[Feature]) -> tuple[Feature, ...]:
    """`schema` with tokens as sequences, even if all records have equally many."""
    features = tuple(schema)
    tokens = {f"{feature.name}/tokens" for feature in features if feature.kind == "text"}
    return tuple(
        tokens_feature(feature.name)
        if feature.name in tokens and feature.kind == "tensor"
        else feature
        for feature in features
    )


def complete(
    schema: Iterable[Feature],
    observed: Mapping[str, FeatureStatistics],
    declared: Mapping[str, Iterable[str]],
) -> tuple[Feature, ...]:
    """A declared schema, completed from the statistics of the records.

    These give the classes if the schema names none, the formats of images and audio, and
    their sizes if all are equal.

    Args:
        schema: The declared schema, which every record fits.
        observed: Statistics by feature name.
        declared: Class names in order, by feature, if layout or user declare them.

    Raises:
        DataError: There are undeclared classes.
    """
    return tuple(
        _complete_feature(feature, observed.get(feature.name, FeatureStatistics()), declared)
        for feature in schema
    )


def _complete_feature(
    feature: Feature, statistics: FeatureStatistics, declared: Mapping[str, Iterable[str]]
) -> Feature:
    if statistics.lists:
        return stored_inference.complete_feature(
            feature, statistics, declared.get(feature.name, ())
        )
    match feature.kind:
        case "image":
            return dataclasses.replace(
                feature, format=_format(statistics), shape=_image_shape(statistics)
            )
        case "audio":
            return dataclasses.replace(
                feature,
                format=_format(statistics),
                shape=_shape(statistics),
                sample_rate=_sample_rate(statistics),
            )
        case "class_label" | "boxes":
            _check_naming(feature.name, statistics)
            names = feature.classes or tuple(declared.get(feature.name, ()))
            classes = _class_order(feature.name, statistics.classes, names)
            attributes = feature.attributes or dict(sorted(statistics.attributes.items()))
            return dataclasses.replace(
                feature,
                classes=classes,
                attributes=attributes if feature.kind == "boxes" else {},
                keypoints=feature.keypoints or statistics.keypoints,
            )
    return feature


def _usual_order(item: tuple[str, FeatureStatistics]) -> tuple[int, str]:
    usual = ("image", "audio", "label", "boxes")
    name, statistics = item
    if statistics.lists:  # existing TFRecords have no usual names
        return (0, name)
    return (usual.index(name) if name in usual else len(usual), name)


def _infer_feature(
    name: str,
    statistics: FeatureStatistics,
    num_records: int,
    declared: tuple[str, ...],
    with_image: bool,
) -> Feature:
    if statistics.lists:
        return stored_inference.infer_feature(name, statistics, num_records, declared)
    dtype = _one_dtype(name, statistics)
    missing = num_records - statistics.dtypes.total()
    if missing and dtype in _NEEDED:
        raise DataError(
            f"feature {name!r} is missing in {missing:,} of {num_records:,} records; give every "
            "record a value, or leave the column out"
        )
    feature = functools.partial(_feature, name, with_image)
    match dtype:
        case "image":
            return feature("image", "uint8", _image_shape(statistics), format=_format(statistics))
        case "audio":
            return feature(
                "audio",
                "float32",
                _shape(statistics),
                format=_format(statistics),
                sample_rate=_sample_rate(statistics),
            )
        case "class_label" | "class_labels":
            shape = () if dtype == "class_label" else (None,)
            classes = _class_order(name, statistics.classes, declared)
            return feature("class_label", "int64", shape, classes=classes)
        case "boxes":
            _check_naming(name, statistics)
            return feature(
                "boxes",
                "float32",
                (None, 4),
                classes=_class_order(name, statistics.classes, declared),
                label_offset=1,
                attributes=dict(sorted(statistics.attributes.items())),
                keypoints=statistics.keypoints,
            )
        case "array":
            return _array(name, statistics)
        case "strings":
            return feature("sequence", "string", (None,))
        case "string":
            return feature("text", "string", ())
        case "bytes":
            return feature("bytes", "string", ())
        case _:
            return feature("scalar", dtype, ())


def _feature(
    name: str,
    with_image: bool,
    kind: str,
    dtype: str,
    shape: tuple[int | None, ...],
    **facts: object,
) -> Feature:
    key = written_key(name, kind, with_image=with_image)
    return Feature(name=name, kind=kind, dtype=dtype, shape=shape, key=key, **facts)  # type: ignore[arg-type]


def _format(statistics: FeatureStatistics) -> str:
    return next(iter(statistics.formats)) if len(statistics.formats) == 1 else "mixed"


def _shape(statistics: FeatureStatistics) -> tuple[int | None, ...]:
    """The sizes by axis, None where records differ."""
    axes = (statistics.sizes[axis] for axis in sorted(statistics.sizes))
    return tuple(next(iter(sizes)) if len(sizes) == 1 else None for sizes in axes)


def _image_shape(statistics: FeatureStatistics) -> tuple[int | None, ...]:
    """(height, width, channels); height and width only if all records agree in both."""
    shape = _shape(statistics)
    return (None, None, 3) if None in shape or not shape else (*shape, 3)


def _sample_rate(statistics: FeatureStatistics) -> int:
    return next(iter(statistics.sample_rates)) if len(statistics.sample_rates) == 1 else 0


def _array(name: str, statistics: FeatureStatistics) -> Feature:
    """A tensor if all shapes are equal, a sequence if they differ in the first axis."""
    dtype = functools.reduce(_wider, sorted(statistics.array_dtypes))
    shape = _shape(statistics)
    if len(statistics.ranks) > 1 or None in shape[1:]:
        sizes = [f"axis {axis}: {sorted(each)}" for axis, each in sorted(statistics.sizes.items())]
        raise DataError(
            f"feature {name!r} has arrays of shapes that differ in more than their first axis "
            f"({'; '.join(sizes)}; {sorted(statistics.ranks)} axes); make the shapes equal"
        )
    fixed = tuple(size for size in shape if size is not None)
    if fixed[:1] == (0,):  # all lists are empty, but longer ones may follow
        shape = (None, *fixed[1:])
    if None in shape:
        return Feature(name=name, kind="sequence", dtype=_listed(dtype), shape=shape, key=name)
    raw = dtype not in STORED_INTEGERS and dtype != "float32"
    if raw or math.prod(fixed) > _MAX_LISTED_VALUES:
        return Feature(
            name=name, kind="tensor", dtype=dtype, shape=shape, key=name, encoding="bytes"
        )
    return Feature(name=name, kind="tensor", dtype=_listed(dtype), shape=shape, key=name)


def _listed(dtype: str) -> str:
    """The type of the list that stores such numbers."""
    return "int64" if dtype in STORED_INTEGERS else "float32"


def _wider(one: str, other: str) -> str:
    """The dtype that holds both: int64 for integers, else float32."""
    if one == other:
        return one
    return "int64" if {one, other} <= STORED_INTEGERS else "float32"


def _one_dtype(name: str, statistics: FeatureStatistics) -> str:
    dtypes = [*statistics.dtypes]
    if len(dtypes) == 1:
        return dtypes[0]
    if set(dtypes) == {"int64", "float32"}:
        return "float32"
    if set(dtypes) == {"class_label", "class_labels"}:
        return "class_labels"
    types = ", ".join(f"{dtype} in {statistics.example[dtype]}" for dtype in sorted(dtypes))
    raise DataError(f"feature {name!r} must have values of one type, but has {types}")


def _check_naming(name: str, statistics: FeatureStatistics) -> None:
    """Raises DataError where only some records name the classes of their boxes."""
    if statistics.named_boxes and statistics.nameless_boxes:
        raise DataError(
            f"feature {name!r} has boxes with class names in {statistics.named_boxes}, but without "
            f"in {statistics.nameless_boxes}; name the class of every box, or of none"
        )


def _as_number(digits: str) -> tuple[int, str, str]:
    """Sorts whole numbers, of any length, as such."""
    significant = digits.lstrip("0")
    return len(significant), significant, digits


def _class_order(
    name: str, statistics: Iterable[str], declared: tuple[str, ...]
) -> tuple[str, ...]:
    """Declared names in their order; else sorted, numerically if all of them are numbers."""
    names = set(statistics)
    if not declared:
        if all(each.isascii() and each.isdigit() for each in names):
            return tuple(sorted(names, key=_as_number))
        return tuple(sorted(names))
    if undeclared := sorted(names - set(declared)):
        raise DataError(
            f"feature {name!r} has undeclared classes: {', '.join(undeclared[:10])}; "
            f"declared are {', '.join(declared[:20])}; declare them, too, or fix the annotations"
        )
    return declared
