"""Checks numbers against the declared type of a feature, and casts them to it."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from beam_pipeline.errors import RecordError
from tfrecord_dataset.format.feature import Feature

_LARGEST_FLOAT = 3.4028235677973362e38  # still rounds to a finite float32

Number = float | int
Array = npt.NDArray[Any]


def check_number(name: str, number: Number) -> None:
    """Raise RecordError for a number that an Example cannot hold."""
    if isinstance(number, float):
        if math.isfinite(number) and abs(number) >= _LARGEST_FLOAT:
            raise RecordError("value out of range", f"feature {name}: {number} needs over 32 bits")
    elif not -(2**63) <= number < 2**63:
        raise RecordError("value out of range", f"feature {name}: {number} needs over 64 bits")


def casts(dtype: str, wanted: str, low: Number | None, high: Number | None) -> bool:
    """Whether numbers of type `dtype` from `low` to `high` can be cast to `wanted`.

    Integers may become floats, and floats may be rounded to shorter ones.
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
    """Cast `array` to the feature's type.

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
    """Return NumPy's type of this name in storage byte order."""
    return np.dtype(dtype).newbyteorder("<")


# From these numbers on, float32 and float64 cannot represent all integers.
FIRST_SKIPPED = 2**24
FIRST_SKIPPED_BY_FLOAT64 = 2.0**53
_FEW_NUMBERS = 16  # of which NumPy takes longer
_FEW = 4  # features in a message
_DIGITS = 7  # significant digits that float32 keeps
_SAME = 1e-12  # relative rounding error that float64 may cause in a fraction
_EXACT = 1e22  # the largest power of ten that float64 represents exactly
_LOWEST_POWER = -323
_POWERS = np.array([float(f"1e{exponent}") for exponent in range(_LOWEST_POWER, 309)])


class Rounding(NamedTuple):
    """Number of values that change in float32, and the changed value nearest to 0."""

    num_rounded: int = 0
    rounded: Number | None = None

    def merged(self, other: "Rounding") -> "Rounding":
        """Merge both."""
        if not other.num_rounded:
            return self
        numbers = [each.rounded for each in (self, other) if each.rounded is not None]
        nearest = min(numbers, key=_nearness, default=None)
        return Rounding(self.num_rounded + other.num_rounded, nearest)


def rounding(numbers: Sequence[Number] | Array) -> Rounding:
    """Find numbers that change in float32; numbers with 7 digits, NaN and infinity do not."""
    is_array = isinstance(numbers, np.ndarray)
    if not is_array and len(numbers) <= _FEW_NUMBERS and all(map(_is_plain, numbers)):
        return Rounding()
    values = np.asarray(numbers)
    if np.can_cast(values.dtype, np.float32):
        return Rounding()
    wide = values.astype(np.float64)
    with np.errstate(all="ignore"):
        stored = wide.astype(np.float32).astype(np.float64)
        is_changed = (stored != wide) & np.isfinite(stored)
        if is_changed.any():
            is_changed &= ~_is_short(wide, stored)
        if (np.abs(wide) >= FIRST_SKIPPED_BY_FLOAT64).any():
            exact = numbers.tolist() if isinstance(numbers, np.ndarray) else numbers
            pairs = zip(exact, wide.tolist(), strict=True)
            is_changed |= [number != rounded for number, rounded in pairs] & np.isfinite(wide)
    (changed,) = is_changed.nonzero()
    if not changed.size:
        return Rounding()
    distances = np.abs(wide[changed])
    nearest = changed[distances == distances.min()]
    if isinstance(numbers, np.ndarray):
        candidates = np.unique(numbers[nearest]).tolist()
    else:
        candidates = [numbers[at] for at in nearest.tolist()]
    number = min(candidates, key=_nearness)
    return Rounding(changed.size, float(number) if float(number) == number else int(number))


def _is_plain(number: Number) -> bool:
    """Whether a number is 0 or of usual size, and has at most 7 digits."""
    is_usual = 1 / FIRST_SKIPPED < abs(number) < FIRST_SKIPPED
    return number == 0 or (is_usual and float(f"{number:.{_DIGITS}g}") == number)


def _nearness(number: Number) -> tuple[Number, Number]:
    """Sort key: exact distance to 0, so that numbers merge in any order."""
    return abs(number), number


def _is_short(wide: Array, stored: Array) -> Array:
    """Return a mask of numbers with so few digits that `stored`, in float32, keeps them."""
    sizes = np.abs(wide)
    exponents = np.floor(np.log10(sizes)) - (_DIGITS - 1 + _LOWEST_POWER)
    step = _POWERS.take(exponents.astype(np.int64), mode="clip")
    is_exact = (sizes >= FIRST_SKIPPED) & (sizes < _EXACT)
    allowed = np.where(is_exact, 0, _SAME * sizes)
    is_short: Array = np.abs(np.rint(wide / step) * step - wide) <= allowed
    is_short &= np.abs(stored - wide) < 10.0**-_DIGITS * sizes  # false for tiny numbers
    return is_short


def describe_rounding(
    schema: Iterable[Feature], facts: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    """Yield a message if values of features change in float32."""
    named = [feature.name for feature in schema if feature.name in facts]
    for name in named[:1]:
        fact = facts[name]
        several = f"; so do values of {_listed(named[1:])}" if named[1:] else ""
        yield (
            f"{name}: {fact['changed']:,} of {fact['values']:,} values change in float32, "
            f"which keeps {_DIGITS} digits: {fact['example']} is stored as "
            f"{_stored(fact['example'])}{several}; declare a float64 tensor of "
            "encoding bytes, or text, with --schema"
        )


def _stored(number: Number) -> float:
    """Return a number in float32, with no more digits than needed below `FIRST_SKIPPED`."""
    stored = np.float32(number)
    return float(str(stored)) if abs(stored) < FIRST_SKIPPED else float(stored)


def describe_missing(
    schema: Iterable[Feature], facts: Mapping[str, Mapping[str, int]]
) -> Iterator[str]:
    """Yield a message if numbers of features are missing: "age: 177 of 891 missing, …"."""
    counts = [
        f"{feature.name}: {fact['missing']:,} of {fact['values']:,} missing"
        for feature in schema
        if (fact := facts.get(feature.name))
    ]
    if counts:
        yield f"{_listed(counts)}, kept as nan"


def _listed(names: Sequence[str]) -> str:
    more = f", … ({len(names):,})" if len(names) > _FEW else ""
    return ", ".join(names[:_FEW]) + more
