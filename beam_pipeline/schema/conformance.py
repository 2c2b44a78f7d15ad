"""Whether a record's values are what a user's schema declares."""

import math
from collections.abc import Iterable, Mapping

import numpy

from beam_pipeline.errors import RecordError
from beam_pipeline.records import (
    Array,
    Audio,
    ClassLabel,
    ClassLabels,
    Image,
    Objects,
    RawFile,
    Value,
)
from beam_pipeline.schema.wording import first_names, of_classes, shortened
from tfrecord_dataset.feature import Feature

# A value stands for "missing" in these.
_MAY_LACK = frozenset({"class_label", "boxes", "text"})


def conforming(
    features: Mapping[str, Value], schema: Iterable[Feature], *, may_be_nan: bool = False
) -> dict[str, Value]:
    """The values that `schema` declares, once they were held against it.

    Args:
        features: Inspected values by name; what is not declared is left out.
        schema: A user's.
        may_be_nan: Whether NaN stands for a scalar that is missing, whatever its range.

    Raises:
        RecordError: "does not fit the schema"; the detail names feature, value, and what was
            expected.
    """
    fitting = {}
    for feature in schema:
        value = features.get(feature.name)
        if value is not None:
            fitting[feature.name] = value
        elif feature.kind in _MAY_LACK:
            continue
        if may_be_nan and isinstance(value, float) and math.isnan(value) and feature.is_fraction:
            continue
        if value is None or not _fits(feature, value):
            raise RecordError(
                "does not fit the schema",
                f"{feature.name!r} is {_shown(value)}, where {_expected(feature)} was expected",
            )
    return fitting


def _fits(feature: Feature, value: Value) -> bool:
    match feature.kind, value:
        case "image", Image():
            return _agrees(feature.shape, (value.height, value.width))
        case "audio", Audio():
            rates = (0, value.sample_rate)
            sizes = (value.num_samples, value.channels)
            return feature.sample_rate in rates and _agrees(feature.shape, sizes)
        case "boxes", Objects():
            return not feature.classes or set(value.labels) <= set(feature.classes)
        case "class_label", ClassLabel():
            return not feature.classes or value.name in feature.classes
        case "class_label", ClassLabels():
            known = not feature.classes or set(value.names) <= set(feature.classes)
            return bool(feature.shape) and known
        case ("text", str()) | ("bytes", bytes() | RawFile()):
            return True
        case "scalar", int() | float() | str() | bytes():
            return _scalar_fits(feature, value)
        case "tensor" | "sequence", tuple():
            return feature.dtype == "string" and _size_fits(feature, (len(value),))
        case "tensor" | "sequence", Array():
            low, high = value.minimum, value.maximum
            return (
                _size_fits(feature, value.shape)
                and _casts(value.dtype, feature.dtype, low, high)
                and _in_range(feature, low, high)
            )
        case "tensor", int() | float():
            kind = "int64" if isinstance(value, int) else "float64"
            return (
                not feature.shape
                and _casts(kind, feature.dtype, value, value)
                and _in_range(feature, value, value)
            )
    return False


def _scalar_fits(feature: Feature, value: float | str | bytes) -> bool:
    match value:
        case str() | bytes():
            return feature.dtype == ("string" if isinstance(value, str) else "bytes")
        case int() | float():
            dtypes = ("int64", "float32") if isinstance(value, int) else ("float32",)
            return feature.dtype in dtypes and _in_range(feature, value, value)


def _agrees(shape: tuple[int | None, ...], sizes: tuple[int, ...]) -> bool:
    """Whether the `sizes` of an image or audio are the first of `shape`, where those are fixed."""
    return all(want in (None, size) for want, size in zip(shape, sizes, strict=False))


def _size_fits(feature: Feature, shape: tuple[int, ...]) -> bool:
    if feature.dtype == "string":  # one after the other
        size = math.prod(size for size in feature.shape if size is not None)
        return shape[0] == size if feature.kind == "tensor" else shape[0] % size == 0
    return len(shape) == len(feature.shape) and _agrees(feature.shape, shape)


def _casts(dtype: str, wanted: str, low: float | None, high: float | None) -> bool:
    """Whether numbers of the type `dtype` from `low` to `high` become `wanted` as they are.

    Integers become floats too, and floats are rounded to shorter ones.
    """
    if wanted == "string":
        return False
    target, floats = numpy.dtype(wanted), numpy.dtype(dtype).kind == "f"
    if target.kind != "f" and floats:
        return False
    finite = [each for each in (low, high) if each is not None and math.isfinite(each)]
    if target.kind == "b":
        return all(each in (0, 1) for each in finite)
    if target.kind == "f":
        return all(abs(each) <= float(numpy.finfo(target).max) for each in finite)
    limits = numpy.iinfo(target)
    return all(int(limits.min) <= each <= int(limits.max) for each in finite)


def _in_range(feature: Feature, low: float | None, high: float | None) -> bool:
    """Whether what lies from `low` to `high` is what the schema allows; NaN never is."""
    if low is None or high is None:
        return True
    return (feature.minimum is None or feature.minimum <= low) and (
        feature.maximum is None or high <= feature.maximum
    )


def _shown(value: Value | None) -> str:
    """A value, for messages."""
    match value:
        case None:
            return "missing"
        case Image():
            return f"an image of {value.width}x{value.height}"
        case Audio():
            return (
                f"audio of {value.num_samples:,} samples, {value.channels} channels and "
                f"{value.sample_rate:,} Hz"
            )
        case Array():
            numbers = f" from {value.minimum:g} to {value.maximum:g}" if _has_range(value) else ""
            return f"{value.dtype} {list(value.shape)}{numbers}"
        case RawFile():
            return f"a file of {value.num_bytes:,} bytes"
        case Objects():
            return f"{len(value.boxes)} boxes of {first_names(sorted(set(value.labels)))}"
        case ClassLabel():
            return f"the class {value.name!r}"
        case ClassLabels():
            return f"the classes {first_names(value.names)}"
    return shortened(value)


def _has_range(value: Array) -> bool:
    return value.minimum is not None and value.maximum is not None


def _expected(feature: Feature) -> str:
    """What a feature declares, for messages."""
    match feature.kind:
        case "class_label":
            return of_classes("classes" if feature.shape else "a class", feature)
        case "boxes":
            return of_classes("boxes", feature)
        case "scalar" | "tensor" | "sequence":
            what = f"{feature.dtype} {_shape(feature)}" if feature.shape else feature.dtype
            return f"{what}{_range(feature)}"
        case "image" | "audio":
            rate = f" at {feature.sample_rate:,} Hz" if feature.sample_rate else ""
            return f"{feature.kind} {_shape(feature)}{rate}"
    return feature.kind


def _shape(feature: Feature) -> str:
    return f"[{', '.join('any' if size is None else str(size) for size in feature.shape)}]"


def _range(feature: Feature) -> str:
    low, high = feature.minimum, feature.maximum
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}"
    if low is not None:
        return f" of {low:g} or more"
    return f" of {high:g} or less" if high is not None else ""
