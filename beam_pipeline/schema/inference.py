"""From what was observed of the records to their schema."""

import dataclasses
import functools
import math
from collections.abc import Iterable, Mapping

from beam_pipeline.errors import DataError
from beam_pipeline.schema import stored_inference
from beam_pipeline.schema.feature import (
    STORED_INTEGERS,
    Feature,
    tokens_feature,
    usual_key,
)
from beam_pipeline.schema.observation import Observed

# A tensor of more values is stored as one raw value: parsing a list costs by the number.
_MAX_LISTED_VALUES = 256
# No value stands for "missing" in these.
_NEEDED = frozenset({"image", "audio", "int64", "float32", "bytes", "array", "strings"})


def infer(
    observed: Mapping[str, Observed],
    *,
    num_records: int,
    declared: Mapping[str, Iterable[str]],
) -> tuple[Feature, ...]:
    """The schema of `num_records` records whose features were `observed`.

    Args:
        observed: What was seen, by feature name.
        num_records: Records seen in all.
        declared: Class names in their order, by feature, where layout or user declare them.

    Raises:
        DataError: A feature holds values of several types, is missing in some of the
            records though it has no value for "missing", or has undeclared classes where
            the classes are declared.
    """
    return tuple(
        _infer_feature(name, seen, num_records, tuple(declared.get(name, ())), "image" in observed)
        for name, seen in sorted(observed.items(), key=_usual_order)
    )


def with_sequences_of_tokens(schema: Iterable[Feature]) -> tuple[Feature, ...]:
    """`schema` with a tokenizer's tokens as sequences, also where all are equally many."""
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
    observed: Mapping[str, Observed],
    declared: Mapping[str, Iterable[str]],
) -> tuple[Feature, ...]:
    """The schema that a user declared, with what only the records tell.

    That is the classes where the schema names none, the formats of images and sounds, and
    their sizes where all agree.

    Args:
        schema: What was declared; every record fits it.
        observed: What was seen, by feature name.
        declared: Class names in their order, by feature, where layout or user declare them.

    Raises:
        DataError: Classes that are not declared.
    """
    return tuple(
        _complete_feature(feature, observed.get(feature.name, Observed()), declared)
        for feature in schema
    )


def _complete_feature(
    feature: Feature, seen: Observed, declared: Mapping[str, Iterable[str]]
) -> Feature:
    if seen.lists:
        return stored_inference.complete_feature(feature, seen, declared.get(feature.name, ()))
    match feature.kind:
        case "image":
            return dataclasses.replace(feature, format=_format(seen), shape=_image_shape(seen))
        case "audio":
            return dataclasses.replace(
                feature, format=_format(seen), shape=_shape(seen), sample_rate=_sample_rate(seen)
            )
        case "class_label" | "boxes":
            names = feature.classes or tuple(declared.get(feature.name, ()))
            classes = _class_order(feature.name, seen.classes, names)
            attributes = feature.attributes or dict(sorted(seen.attributes.items()))
            return dataclasses.replace(
                feature,
                classes=classes,
                attributes=attributes if feature.kind == "boxes" else {},
                keypoints=feature.keypoints or seen.keypoints,
            )
    return feature


def _usual_order(item: tuple[str, Observed]) -> tuple[int, str]:
    usual = ("image", "audio", "label", "boxes")
    name, seen = item
    if seen.lists:  # other people's Examples have no usual names
        return (0, name)
    return (usual.index(name) if name in usual else len(usual), name)


def _infer_feature(
    name: str, seen: Observed, num_records: int, declared: tuple[str, ...], with_image: bool
) -> Feature:
    if seen.lists:
        return stored_inference.infer_feature(name, seen, num_records, declared)
    dtype = _one_dtype(name, seen)
    missing = num_records - seen.dtypes.total()
    if missing and dtype in _NEEDED:
        raise DataError(
            f"feature {name!r} is missing in {missing} of {num_records} records; give every "
            "record a value, or leave the column out"
        )
    feature = functools.partial(_feature, name, with_image)
    match dtype:
        case "image":
            return feature("image", "uint8", _image_shape(seen), format=_format(seen))
        case "audio":
            return feature(
                "audio",
                "float32",
                _shape(seen),
                format=_format(seen),
                sample_rate=_sample_rate(seen),
            )
        case "class_label" | "class_labels":
            shape = () if dtype == "class_label" else (None,)
            classes = _class_order(name, seen.classes, declared)
            return feature("class_label", "int64", shape, classes=classes)
        case "boxes":
            return feature(
                "boxes",
                "float32",
                (None, 4),
                classes=_class_order(name, seen.classes, declared),
                label_offset=1,
                attributes=dict(sorted(seen.attributes.items())),
                keypoints=seen.keypoints,
            )
        case "array":
            return _array(name, seen)
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
    key = usual_key(name, kind, with_image=with_image)
    return Feature(name=name, kind=kind, dtype=dtype, shape=shape, key=key, **facts)  # type: ignore[arg-type]


def _format(seen: Observed) -> str:
    return next(iter(seen.formats)) if len(seen.formats) == 1 else "mixed"


def _shape(seen: Observed) -> tuple[int | None, ...]:
    """The sizes by axis, None where records differ."""
    axes = (seen.sizes[axis] for axis in sorted(seen.sizes))
    return tuple(next(iter(sizes)) if len(sizes) == 1 else None for sizes in axes)


def _image_shape(seen: Observed) -> tuple[int | None, ...]:
    """(height, width, channels); height and width where all records agree in both."""
    shape = _shape(seen)
    return (None, None, 3) if None in shape or not shape else (*shape, 3)


def _sample_rate(seen: Observed) -> int:
    return next(iter(seen.sample_rates)) if len(seen.sample_rates) == 1 else 0


def _array(name: str, seen: Observed) -> Feature:
    """A tensor where all shapes are equal, a sequence where they differ in the first axis."""
    dtype = functools.reduce(_wider, sorted(seen.array_dtypes))
    shape = _shape(seen)
    if len(seen.ranks) > 1 or None in shape[1:]:
        sizes = [f"axis {axis}: {sorted(each)}" for axis, each in sorted(seen.sizes.items())]
        raise DataError(
            f"feature {name!r} has arrays of shapes that differ in more than their first axis "
            f"({'; '.join(sizes)}; {sorted(seen.ranks)} axes); make them alike"
        )
    fixed = tuple(size for size in shape if size is not None)
    if fixed[:1] == (0,):  # of lists that are all empty, the next may be longer
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
    """The type of the list that holds such numbers."""
    return "int64" if dtype in STORED_INTEGERS else "float32"


def _wider(one: str, other: str) -> str:
    """The type of array that holds both: int64 for integers, else float32."""
    if one == other:
        return one
    return "int64" if {one, other} <= STORED_INTEGERS else "float32"


def _one_dtype(name: str, seen: Observed) -> str:
    dtypes = [*seen.dtypes]
    if len(dtypes) == 1:
        return dtypes[0]
    if set(dtypes) == {"int64", "float32"}:
        return "float32"
    if set(dtypes) == {"class_label", "class_labels"}:
        return "class_labels"
    found = ", ".join(f"{dtype} in {seen.example[dtype]}" for dtype in sorted(dtypes))
    raise DataError(f"feature {name!r} must hold values of one type but holds {found}")


def _class_order(name: str, seen: Iterable[str], declared: tuple[str, ...]) -> tuple[str, ...]:
    """Declared names in their order; else sorted, as numbers where all of them are numbers."""
    names = set(seen)
    if not declared:
        if all(each.isascii() and each.isdigit() for each in names):
            return tuple(sorted(names, key=lambda each: (int(each), each)))
        return tuple(sorted(names))
    if undeclared := sorted(names - set(declared)):
        raise DataError(
            f"feature {name!r} has classes that are not declared: {', '.join(undeclared[:10])}; "
            f"declared are {', '.join(declared[:20])}; add them there, or mend the annotations"
        )
    return declared
