"""What is learned from the train split before training: one statistic a column, in one pass."""

import dataclasses
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from trainer.errors import ConfigError

T_co = TypeVar("T_co", covariant=True)

# Beyond this a number is hardly a class, and the model's last layer would not fit.
MAX_CLASSES = 10_000
EPSILON = 2.0**-23  # float32's
_LARGEST = float(np.finfo(np.float32).max)
# Numbers that differ by no more than so many steps of float32 are hardly told apart.
_STEPS = 16
# The mean of equal numbers may be this far from them, relatively.
_ROUNDING = 1e-12


class Statistic(Protocol):
    """Grows with each batch that it looks at."""

    def add(self, values: Any) -> None:
        """Looks at a batch, a NumPy array [b, …]; of sequences at all elements, [n, …]."""


@dataclasses.dataclass(frozen=True, slots=True)
class Learner(Generic[T_co]):
    """A statistic, and what becomes of it: the input (or target) that knows it."""

    statistic: Statistic
    finish: Callable[[], T_co]


class Moments:
    """Mean and variance of each column of numbers [n, size], in float64.

    Batches are merged by Chan, Golub and LeVeque's formula, which does not cancel.

    Args:
        name: Of the feature.
        size: Columns.
        may_lack: Whether NaN says that a number is missing, and has no part in mean and variance.
        remedy: What to do about a feature with numbers that are none.
    """

    def __init__(
        self,
        name: str,
        size: int,
        *,
        may_lack: bool = False,
        remedy: str = "leave the feature out by --inputs",
    ) -> None:
        self._name = name
        self._remedy = remedy
        self._may_lack = may_lack
        self._rows = 0
        self._counts = np.zeros(size, np.int64)
        self._mean = np.zeros(size)
        self._squares = np.zeros(size)

    def add(self, values: Any) -> None:
        """Looks at numbers of any shape whose elements are whole rows of `size`.

        Raises:
            ConfigError: One is infinite in float32, or NaN and may not be.
        """
        rows = np.asarray(values, np.float64).reshape(-1, len(self._mean))
        known = np.broadcast_to(~np.isnan(rows) if self._may_lack else True, rows.shape)
        usable = np.abs(rows) <= _LARGEST  # NaN is not
        if not usable.all(where=known):
            bad = rows[known & ~usable][0]
            raise ConfigError(
                f"a record's {self._name!r} is {bad}, which no model learns from in float32; leave "
                f"such records out of the dataset, or {self._remedy}"
            )
        new = known.sum(axis=0)
        counts = self._counts + new
        share = new / np.maximum(counts, 1)
        mean = rows.sum(axis=0, where=known) / np.maximum(new, 1)
        apart = mean - self._mean
        self._squares += ((rows - mean) ** 2).sum(axis=0, where=known)
        self._squares += apart**2 * self._counts * share
        self._mean += apart * share
        self._counts = counts
        self._rows += len(rows)

    @property
    def mean(self) -> tuple[float, ...]:
        """By column.

        Raises:
            ConfigError: A column has no number at all, in some records.
        """
        if self._rows and not self._counts.all():
            column = f" (column {int(np.argmin(self._counts))})" if len(self._counts) > 1 else ""
            raise ConfigError(
                f"{self._name!r}{column} is missing (NaN) in every record of the train split; "
                f"{self._remedy}"
            )
        return tuple(self._mean.tolist())

    @property
    def variance(self) -> tuple[float, ...]:
        """By column; 1 where all values are one, which dividing by it leaves at 0."""
        return tuple(np.where(self._vary, self._variance, 1.0).tolist())

    @property
    def are_blurred(self) -> bool:
        """Whether a column varies by less than float32 can tell."""
        step = EPSILON * np.abs(self._mean)
        return bool((self._vary & (self._variance < (_STEPS * step) ** 2)).any())

    @property
    def _variance(self) -> Any:
        return self._squares / np.maximum(self._counts, 1)

    @property
    def _vary(self) -> Any:
        return self._variance > (_ROUNDING * self._mean) ** 2

    @property
    def missing(self) -> tuple[int, ...]:
        """Rows without a number, by column."""
        return tuple((self._rows - self._counts).tolist())


class Largest:
    """The largest of whole numbers that stand for something, which start at 0.

    Args:
        name: Of the feature.
        limit: Beyond them.
        remedy: What to do when one is at the limit or beyond.
        least: -1 where that says that a record has none.
    """

    def __init__(self, name: str, *, limit: int, remedy: str, least: int = 0) -> None:
        self.value = -1
        self._name = name
        self._limit = limit
        self._remedy = remedy
        self._least = least

    def add(self, values: Any) -> None:
        """Looks at integers of any shape.

        Raises:
            ConfigError: One is below the least, or not below the limit.
        """
        if not np.size(values):
            return
        least, self.value = int(np.min(values)), max(self.value, int(np.max(values)))
        if least < self._least:
            raise ConfigError(
                f"a record's {self._name!r} is {least}, and whole numbers are taken for what they "
                "stand for, from 0 on; leave such records out of the dataset, or store what is "
                "measured, not numbered, as float32"
            )
        if self.value >= self._limit:
            raise ConfigError(
                f"a record's {self._name!r} is {self.value}, beyond the limit of {self._limit}; "
                f"{self._remedy}"
            )


class Distinct:
    """The distinct strings."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._seen: set[bytes] = set()

    def add(self, values: Any) -> None:
        """Looks at strings of any shape.

        Raises:
            ConfigError: There are too many to be classes.
        """
        self._seen.update(np.ravel(values).tolist())
        if len(self._seen) > MAX_CLASSES:
            raise ConfigError(
                f"{self._name!r} has more than {MAX_CLASSES} distinct values, too many for "
                "classes; name another feature by --target"
            )

    @property
    def in_order(self) -> tuple[str, ...]:
        """Sorted, as text.

        Raises:
            ConfigError: One is not UTF-8.
        """
        try:
            return tuple(sorted(value.decode() for value in self._seen))
        except UnicodeDecodeError as error:
            raise ConfigError(not_utf8(self._name, error)) from error


def not_utf8(name: str, error: UnicodeDecodeError) -> str:
    """What to say of a text that cannot be read."""
    return (
        f"{name!r} of a record is not UTF-8 ({error.object[:20]!r}); leave such records out of the "
        "dataset, or the feature out by --inputs"
    )
