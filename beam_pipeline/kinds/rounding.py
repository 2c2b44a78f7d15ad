"""Large numbers that lose digits in float32, the type of floats in Examples."""

from collections.abc import Iterable, Mapping

import numpy

from tfrecord_dataset.feature import Feature

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


def describe(schema: Iterable[Feature], rounded: Mapping[str, float]) -> list[str]:
    """One message for each feature with numbers that float32 rounds.

    Args:
        schema: The features.
        rounded: By name of such features, a number that float32 rounds.
    """
    return [
        f"{feature.name}: float32 has 7 digits: {_digits(number)} is stored as "
        f"{_digits(float(numpy.float32(number)))}; store the difference from a number near it, or "
        f"declare {_REMEDIES[feature.kind]} by --schema"
        for feature in schema
        if (number := rounded.get(feature.name)) is not None
    ]


def _digits(number: float) -> str:
    whole = number == int(number)
    return str(int(number)) if whole and abs(number) < 1e21 else str(number)
