"""Whether whole numbers in a column of labels are classes, or a number to predict."""

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from beam_pipeline.sources.manifest.table import is_stated

# So few classes are never doubted, and so many never believed.
_FEW = 1_000
_MANY = 100_000
_ROWS_OF_A_CLASS = 10


def _none() -> npt.NDArray[np.int64]:
    return np.zeros(0, np.int64)


@dataclasses.dataclass(frozen=True, slots=True)
class WholeNumbers:
    """What the values of a column are.

    Attributes:
        num_rows: How many are stated.
        numbers: The different ones, int64 [n], the first few of very many.
        all_whole: Whether each is a whole number without leading zeros.
    """

    num_rows: int = 0
    numbers: npt.NDArray[np.int64] = dataclasses.field(default_factory=_none)
    all_whole: bool = True

    def and_of(self, other: "WholeNumbers") -> "WholeNumbers":
        """These values and others."""
        if not self.num_rows or not other.num_rows:
            return self if self.num_rows else other
        all_whole = self.all_whole and other.all_whole
        numbers = np.union1d(self.numbers, other.numbers)[: _MANY + 1] if all_whole else _none()
        return WholeNumbers(self.num_rows + other.num_rows, numbers, all_whole)

    @property
    def are_measures(self) -> bool:
        """Whether these are so many different numbers that they are no classes."""
        count = len(self.numbers)
        return count > _MANY or (count > _FEW and self.num_rows < _ROWS_OF_A_CLASS * count)


def whole_numbers(values: Iterable[Any]) -> WholeNumbers:
    """What some values of a column are, in CSV or JSON."""
    stated = [value for value in values if is_stated(value)]
    try:
        if not {str, int}.issuperset(map(type, stated)):
            raise ValueError
        numbers = list(map(int, stated))
        array = np.array(numbers, np.int64)
    except (ValueError, OverflowError):
        return WholeNumbers(len(stated), _none(), all_whole=not stated)
    if list(map(str, numbers)) != [str(value).strip() for value in stated]:
        return WholeNumbers(len(stated), _none(), all_whole=False)
    return WholeNumbers(len(stated), np.unique(array))
