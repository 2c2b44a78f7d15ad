"""Exact moments of a column of numbers, mergeable in any order."""

import math
import operator
from collections.abc import Iterable
from typing import Self

from beam_pipeline.kinds.counts import Range, spanned

# 2^-149 is float32's smallest positive number; all its numbers are integer multiples of it.
_FRACTION_BITS = 149
_MAX_WAITING = 128
# From here on, float64 has only whole numbers.
_WHOLE = 2.0**53


class Moments:
    """Moments of one column; numbers are buffered in a list, as adding them singly is slower."""

    __slots__ = ("_count", "_missing", "_range", "_squares", "_total", "_waiting")

    def __init__(self) -> None:
        self._waiting: list[float | int] = []
        self._count = 0
        self._missing = 0
        self._total = 0  # in units of 2^-149
        self._squares = 0  # in units of 2^-298
        self._range: Range | None = None

    def extend(self, numbers: Iterable[float | int]) -> None:
        """Add numbers."""
        self._waiting.extend(numbers)
        if len(self._waiting) > _MAX_WAITING:
            self._settle()

    def merge(self, other: Self) -> None:
        """Add all of `other`."""
        self._waiting += other._waiting
        self._count += other._count
        self._missing += other._missing
        self._total += other._total
        self._squares += other._squares
        self._range = spanned(self._range, other._range)
        if len(self._waiting) > _MAX_WAITING:
            self._settle()

    def facts(self) -> dict[str, float | int | None]:
        """Return `count` of finite numbers, number of `missing` ones, and `minimum`, `maximum`,
        `mean` and `variance` (divided by the count) of the finite ones, None without any.
        """
        self._settle()
        minimum, maximum = self._range or (None, None)
        spread = self._count * self._squares - self._total * self._total
        return {
            "count": self._count,
            "missing": self._missing,
            "minimum": minimum,
            "maximum": maximum,
            "mean": _ratio(self._total, self._count << _FRACTION_BITS),
            "variance": _ratio(spread, self._count * self._count << 2 * _FRACTION_BITS),
        }

    def _settle(self) -> None:
        numbers = [number for number in self._waiting if math.isfinite(number)]
        self._missing += len(self._waiting) - len(numbers)
        self._waiting = []
        if not numbers:
            return
        ints = [number for number in numbers if isinstance(number, int)]
        floats = [number for number in numbers if not isinstance(number, int)]
        whole = list(map(_whole, floats))
        self._count += len(numbers)
        self._total += sum(whole) + (sum(ints) << _FRACTION_BITS)
        self._squares += sum(map(operator.mul, whole, whole))
        self._squares += sum(map(operator.mul, ints, ints)) << 2 * _FRACTION_BITS
        self._range = spanned(self._range, (min(numbers), max(numbers)))


def _whole(number: float) -> int:
    """Return a finite number in units of 2^-149."""
    if abs(number) >= _WHOLE:
        return int(number) << _FRACTION_BITS
    return int(math.ldexp(number, _FRACTION_BITS))


def _ratio(numerator: int, denominator: int) -> float | None:
    """Divide; None for a zero denominator, or if float64 cannot represent the result."""
    try:
        return numerator / denominator
    except ArithmeticError:
        return None
