"""Large numbers whose digits a float of 32 bits, as which Examples store floats, cannot hold."""

from collections.abc import Iterable, Mapping

import numpy

from beam_pipeline.schema.feature import Feature

# From here on float32 skips whole numbers: of any two neighbours it has one at most.
FIRST_SKIPPED = 2**24
_LARGEST = float(numpy.finfo(numpy.float32).max)
_REMEDIES = {
    "scalar": "int64 or text",
    "tensor": "float64 and encoding bytes",
    "sequence": "int64",
}


def is_rounded(number: float) -> bool:
    """Whether float32 loses digits of `number`, which is `FIRST_SKIPPED` or more in size.

    1e20 is no float32, but the decimal that stands for the nearest one: nothing is lost there.
    """
    if not FIRST_SKIPPED <= abs(number) <= _LARGEST:
        return False
    wide, stored = float(number), numpy.float32(number)
    return float(stored) != wide and float(str(stored)) != wide


def describe(schema: Iterable[Feature], rounded: Mapping[str, float]) -> list[str]:
    """A sentence for each feature that is stored as float32, which rounds its numbers.

    Args:
        schema: The features.
        rounded: By feature a number that float32 rounds, of those that have any.
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
