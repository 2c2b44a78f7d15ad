"""Statistics of the train split, computed in one pass before training."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import numpy as np

from trainer.errors import ConfigError

# Larger numbers are hardly classes, and the model's last layer would not fit into memory.
MAX_CLASSES = 10_000
EPSILON = 2.0**-23  # float32's
_LARGEST = float(np.finfo(np.float32).max)
LEAVE_OUT = "leave the feature out by --inputs"
# The largest relative difference between equal numbers and their mean.
_ROUNDING = 1e-12
# Bins of a column between quantiles, and the largest sample that they are computed from.
NUM_BINS, _MOST_SAMPLED = 16, 20_000


class Statistic(Protocol):
    """A statistic of one feature that is updated batch by batch.

    All methods raise ConfigError for values from which models cannot learn.
    """

    def take(self, facts: Mapping[str, Any]) -> bool:
        """Use the feature's facts in statistics.json; False if they are not enough."""

    def add(self, values: Any) -> None:
        """Add a batch, a NumPy array [b, …]; for sequences all elements, [n, …]."""

    def result(self) -> dict[str, Any]:
        """Return the computed fields of the input or target by name."""


class MeanVariance:
    """Mean and variance of each column of numbers [n, size], in float64.

    Batches are merged by Chan, Golub and LeVeque's formula, which avoids cancellation. NaN is a
    missing number and ignored, or an error like infinity, with the advice `remedy`.
    """

    def __init__(
        self,
        name: str,
        size: int,
        *,
        allow_missing: bool = False,
        remedy: str = LEAVE_OUT,
    ) -> None:
        self._name = name
        self._remedy = remedy
        self._allow_missing = allow_missing
        self._rows = 0
        self._counts = np.zeros(size, np.int64)
        self._mean = np.zeros(size)
        self._squares = np.zeros(size)

    def take(self, facts: Mapping[str, Any]) -> bool:
        names = ("count", "missing", "mean", "variance", "minimum", "maximum")
        if any(name not in facts or None in np.ravel(facts[name]) for name in names):
            return False
        counts, missing, means, variances, least, most = (np.ravel(facts[name]) for name in names)
        if missing.any() or counts.shape != self._mean.shape:
            return False  # statistics.json does not count infinite numbers
        if max(abs(least).max(), abs(most).max()) > _LARGEST:
            return False
        self._rows, self._counts = int(counts.max()), counts.astype(np.int64)
        self._mean, self._squares = means.astype(np.float64), variances * counts
        return True

    def add(self, values: Any) -> None:
        rows = np.asarray(values, np.float64).reshape(-1, len(self._mean))
        known = np.broadcast_to(~np.isnan(rows) if self._allow_missing else True, rows.shape)
        usable = np.abs(rows) <= _LARGEST  # excludes NaN
        if not usable.all(where=known):
            bad = rows[known & ~usable][0]
            raise ConfigError(
                f"a record's {self._name!r} is {bad}, but models need finite float32; leave "
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

    def result(self) -> dict[str, Any]:
        """Return `mean` and `variance` by column, and counts `missing` if numbers may be missing.

        The variance is 1 if all values are equal, so that it can be a divisor.
        """
        if self._rows and not self._counts.all():
            column = f" (column {int(np.argmin(self._counts))})" if len(self._counts) > 1 else ""
            raise ConfigError(
                f"{self._name!r}{column} is missing (NaN) in every record of the train split; "
                f"{self._remedy}"
            )
        variance = self._squares / np.maximum(self._counts, 1)
        vary = variance > (_ROUNDING * self._mean) ** 2
        columns = {
            "mean": tuple(self._mean.tolist()),
            "variance": tuple(np.where(vary, variance, 1.0).tolist()),
        }
        if self._allow_missing:
            columns["missing"] = tuple((self._rows - self._counts).tolist())
        return columns


class Quantiles(MeanVariance):
    """Mean and variance of one column in which numbers may be missing, and its quantiles.

    The quantiles, from the smallest to the largest number, are those of every n-th record, at most
    20,000, so that memory does not grow with the number of records.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name, 1, allow_missing=True)
        self._sample = np.empty(0)
        self._every = 1

    def take(self, facts: Mapping[str, Any]) -> bool:
        return False  # statistics.json has no quantiles

    def add(self, values: Any) -> None:
        first = -self._rows % self._every
        super().add(values)
        chosen = np.ravel(np.asarray(values, np.float64))[first :: self._every]
        self._sample = np.concatenate([self._sample, chosen])
        while len(self._sample) > _MOST_SAMPLED:
            self._sample, self._every = self._sample[::2], 2 * self._every

    def result(self) -> dict[str, Any]:
        found = super().result()
        known = self._sample[~np.isnan(self._sample)]
        known = known if len(known) else np.array(found["mean"])
        shares = np.linspace(0, 1, NUM_BINS + 1)
        return {**found, "quantiles": tuple(np.quantile(known, shares).tolist())}


@dataclasses.dataclass
class Largest:
    """The largest of the whole numbers that are ids or classes, from `least` to below `limit`.

    Attributes:
        field: Name of the computed field, the count of the numbers from 0 to the largest.
        remedy: Advice for a number below `least`, or at or above the limit.
        made: Converts the count to the field's value.
        largest: Largest number so far.
    """

    name: str
    field: str
    limit: int
    remedy: str
    least: int = 0
    made: Callable[[int], Any] = int
    largest: int = -1

    def take(self, facts: Mapping[str, Any]) -> bool:
        if "minimum" not in facts or "maximum" not in facts:
            return False
        self.add([facts["minimum"], facts["maximum"]])
        return True

    def add(self, values: Any) -> None:
        if not np.size(values):
            return
        least, self.largest = int(np.min(values)), max(self.largest, int(np.max(values)))
        if least < self.least:
            raise ConfigError(
                f"a record's {self.name!r} is {least}, but whole numbers are treated as ids from "
                f"0; leave such records out of the dataset, or {self.remedy}"
            )
        if self.largest >= self.limit:
            raise ConfigError(
                f"a record's {self.name!r} is {self.largest}, but must be less than "
                f"{self.limit}; {self.remedy}"
            )

    def result(self) -> dict[str, Any]:
        """Return the field."""
        return {self.field: self.made(self.largest + 1)}


class Strings:
    """The distinct strings of a feature and their counts.

    The computed `field` is "classes", all strings but the empty one in order, at most MAX_CLASSES;
    or "vocabulary", the `most` most frequent strings, most frequent first.
    """

    def __init__(self, name: str, field: str, most: int = MAX_CLASSES) -> None:
        self._name = name
        self._field = field
        self._most = most
        self._counts: Counter[bytes] = Counter()

    def take(self, facts: Mapping[str, Any]) -> bool:
        stated = facts.get("strings", {})
        self._counts = Counter({text.encode(): count for text, count in stated.items()})
        return bool(stated)

    def add(self, values: Any) -> None:
        self._counts.update(np.ravel(values).tolist())
        if self._field == "classes" and len(self._counts) > self._most:
            raise ConfigError(
                f"{self._name!r} has more than {self._most} distinct values, too many for "
                "classes; choose another feature with --target"
            )

    def result(self) -> dict[str, Any]:
        if self._field == "classes":
            return {"classes": tuple(sorted(self._decoded(filter(None, self._counts))))}
        by_count = sorted(self._counts.items(), key=lambda each: (-each[1], each[0]))
        most = (text for text, _ in by_count[: self._most])
        return {self._field: tuple(self._decoded(most))}

    def _decoded(self, texts: Iterable[bytes]) -> list[str]:
        try:
            return [text.decode() for text in texts]
        except UnicodeDecodeError as error:
            is_target = self._field == "classes"
            remedy = "choose another target with --target" if is_target else LEAVE_OUT
            raise ConfigError(not_utf8(self._name, error, remedy)) from error


def not_utf8(name: str, error: UnicodeDecodeError, remedy: str) -> str:
    """Return the message for a text that cannot be decoded."""
    return (
        f"{name!r} of a record is not UTF-8 ({error.object[:20]!r}); leave such records out of the "
        f"dataset, or {remedy}"
    )
