"""Numbers in the type that a feature declares: whether they fit it, and how they are cast to it."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy
import numpy as np
import numpy.typing as npt

from beam_pipeline.errors import RecordError
from tfrecord_dataset.format.feature import Feature, shape_text

_LARGEST_FLOAT = 3.4028235677973362e38  # what still rounds to 32 bits

Number = float | int
Array = npt.NDArray[Any]


def check_number(name: str, number: Number) -> None:
    """Raises RecordError for a number that an Example cannot hold."""
    if isinstance(number, float):
        if math.isfinite(number) and abs(number) >= _LARGEST_FLOAT:
            raise RecordError("value out of range", f"feature {name}: {number} needs over 32 bits")
    elif not -(2**63) <= number < 2**63:
        raise RecordError("value out of range", f"feature {name}: {number} needs over 64 bits")


def casts(dtype: str, wanted: str, low: Number | None, high: Number | None) -> bool:
    """Whether numbers of the type `dtype` from `low` to `high` become `wanted` as they are.

    Integers become floats too, and floats are rounded to shorter ones.
    """
    if wanted == "string":
        return False
    target, floats = np.dtype(wanted), np.dtype(dtype).kind == "f"
    if target.kind != "f" and floats:
        return False
    finite = [each for each in (low, high) if each is not None and math.isfinite(each)]
    if target.kind == "b":
        return all(each in (0, 1) for each in finite)
    if target.kind == "f":
        return all(abs(each) <= float(np.finfo(target).max) for each in finite)
    limits = np.iinfo(target)
    return all(int(limits.min) <= each <= int(limits.max) for each in finite)


def in_range(feature: Feature, low: Number | None, high: Number | None) -> bool:
    """Whether the schema allows numbers from `low` to `high`; NaN is never allowed."""
    if low is None or high is None:
        return True
    return (feature.minimum is None or feature.minimum <= low) and (
        feature.maximum is None or high <= feature.maximum
    )


def cast(feature: Feature, array: Array) -> Array:
    """`array` in the feature's type.

    Raises:
        RecordError: "value out of range": a number would become infinite.
    """
    dtype = little_endian(feature.dtype)
    if array.dtype == dtype:
        return array
    with np.errstate(over="ignore"):
        made = array.astype(dtype)
    if dtype.kind == "f" and (np.isinf(made) & np.isfinite(array)).any():
        raise RecordError(
            "value out of range",
            f"feature {feature.name!r} holds numbers beyond the range of {feature.dtype}",
        )
    return made


def little_endian(dtype: str) -> np.dtype[Any]:
    """NumPy's type of that name, as it is stored."""
    return np.dtype(dtype).newbyteorder("<")


def expected_numbers(feature: Feature) -> str:
    """What a feature of numbers declares, for messages."""
    what = f"{feature.dtype} {shape_text(feature)}" if feature.shape else feature.dtype
    return f"{what}{_range_text(feature)}"


def _range_text(feature: Feature) -> str:
    low, high = feature.minimum, feature.maximum
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}"
    if low is not None:
        return f" of {low:g} or more"
    return f" of {high:g} or less" if high is not None else ""


# From this number on, float32 cannot represent all whole numbers.
FIRST_SKIPPED = 2**24
_LARGEST = float(numpy.finfo(numpy.float32).max)
_REMEDIES = {
    "scalar": "int64 or text",
    "tensor": "float64 and encoding bytes",
    "sequence": "int64",
}


def is_rounded(number: float) -> bool:
    """Whether float32 loses digits of `number`, if its absolute value is at least `FIRST_SKIPPED`.

    1e20 is not a float32, but the shortest decimal of the nearest one, so nothing is lost.
    """
    if not FIRST_SKIPPED <= abs(number) <= _LARGEST:
        return False
    wide, stored = float(number), numpy.float32(number)
    return float(stored) != wide and float(str(stored)) != wide


def describe_rounding(schema: Iterable[Feature], rounded: Mapping[str, float]) -> list[str]:
    """One message for each feature with numbers that float32 rounds.

    Args:
        rounded: By name of such features, a number that float32 rounds.
    """
    return [
        f"{feature.name}: float32 has 7 digits: {_digits(number)} is stored as "
        f"{_digits(float(numpy.float32(number)))}; store the difference from a number near it, or "
        f"declare {_REMEDIES[feature.kind]} with --schema"
        for feature in schema
        if (number := rounded.get(feature.name)) is not None
    ]


def _digits(number: float) -> str:
    whole = number == int(number)
    return str(int(number)) if whole and abs(number) < 1e21 else str(number)
