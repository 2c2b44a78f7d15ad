"""The numbers of one column, counted exactly: sums do not depend on their order."""

import math
import operator
from collections.abc import Callable
from typing import Any, Self

# 2^-149 is float32's smallest number: as multiples of it, its numbers are whole.
_FRACTION_BITS = 149
_MAX_WAITING = 128
# From here on, float64 has whole numbers alone.
_WHOLE = 2.0**53


class Moments:
    """The numbers of one column; some wait in a list, which costs less than to count each alone."""

    __slots__ = ("_count", "_maximum", "_minimum", "_missing", "_squares", "_total", "_waiting")

    def __init__(self) -> None:
        self._waiting: list[float | int] = []
        self._count = 0
        self._missing = 0
        self._total = 0  # in 2^-149
        self._squares = 0  # in 2^-298
        self._minimum: float | int | None = None
        self._maximum: float | int | None = None

    def add(self, number: float | int) -> None:
        """Adds a number."""
        self._waiting.append(number)
        if len(self._waiting) > _MAX_WAITING:
            self._settle()

    def merge(self, other: Self) -> None:
        """Adds all of `other`."""
        self._waiting += other._waiting
        self._count += other._count
        self._missing += other._missing
        self._total += other._total
        self._squares += other._squares
        self._minimum = known(min, self._minimum, other._minimum)
        self._maximum = known(max, self._maximum, other._maximum)
        if len(self._waiting) > _MAX_WAITING:
            self._settle()

    def facts(self) -> dict[str, float | int | None]:
        """`count` of finite numbers, and how many others are `missing`; of the finite ones
        `minimum`, `maximum`, `mean` and `variance` (divided by their count), None without any.
        """
        self._settle()
        spread = self._count * self._squares - self._total * self._total
        return {
            "count": self._count,
            "missing": self._missing,
            "minimum": self._minimum,
            "maximum": self._maximum,
            "mean": _ratio(self._total, self._count << _FRACTION_BITS),
            "variance": _ratio(spread, self._count * self._count << 2 * _FRACTION_BITS),
        }

    def _settle(self) -> None:
        numbers = [number for number in self._waiting if math.isfinite(number)]
        self._missing += len(self._waiting) - len(numbers)
        self._waiting = []
        if not numbers:
            return
        whole = list(map(_whole, numbers))
        self._count += len(numbers)
        self._total += sum(whole)
        self._squares += sum(map(operator.mul, whole, whole))
        self._minimum = known(min, self._minimum, min(numbers))
        self._maximum = known(max, self._maximum, max(numbers))


def _whole(number: float | int) -> int:
    """A finite number in 2^-149."""
    if isinstance(number, int) or abs(number) >= _WHOLE:
        return int(number) << _FRACTION_BITS
    return int(math.ldexp(number, _FRACTION_BITS))


def _ratio(numerator: int, denominator: int) -> float | None:
    """None where there is none, or float64 has no such number."""
    try:
        return numerator / denominator
    except ArithmeticError:
        return None


def known(choose: Callable[..., Any], one: Any, other: Any) -> Any:
    """The chosen of both, or the only one that is not None."""
    return choose(one, other) if None not in (one, other) else other if one is None else one
