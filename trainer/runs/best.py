"""Which row of the history is the best: by one of its metrics, upwards or downwards."""

import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence

from trainer.errors import ConfigError, UnknownNameError
from trainer.report.history import value_of

# Those of tasks that are better the lower they are; all others of tasks the higher.
_LOWER_IS_BETTER = ("loss", "mse", "mae")
_WAYS = {"min": True, "max": False}


@dataclasses.dataclass(frozen=True, slots=True)
class Best:
    """How rows are compared.

    Attributes:
        metric: Its name; of the validation split where rows have that.
        is_least: Whether the best row has the lowest.
    """

    metric: str = "loss"
    is_least: bool = True

    def rank(self, row: Mapping[str, float]) -> float:
        """The best row has the lowest; what is no finite number is never the best."""
        value = value_of(row, self.metric)
        if not math.isfinite(value):
            return math.inf
        return value if self.is_least else -value

    def place(self, rows: Sequence[Mapping[str, float]]) -> int:
        """Of the best row; of equal ones, that with the lowest loss, and of these the first."""
        ranks = [(self.rank(row), _LOSS.rank(row)) for row in rows]
        return ranks.index(min(ranks))


_LOSS = Best()


def best_of(stated: str | None, rows: Sequence[Mapping[str, float]]) -> Best:
    """The choice that `--best-by` stated for a run with such rows of history."""
    names = {name.removeprefix("val_") for row in rows for name in row}
    return best_by(stated or "loss", names, (), validated=True)


def best_by(stated: str, metrics: Collection[str], own: Collection[str], validated: bool) -> Best:
    """The choice that `--best-by` states: METRIC, METRIC:min or METRIC:max.

    Args:
        stated: The option.
        metrics: The names of those that rows have.
        own: Those of them that are the user's.
        validated: Whether they are of a validation split.

    Raises:
        UnknownNameError: There is no such metric.
        ConfigError: It is the user's own, and whether the lowest is best was not stated.
    """
    name, _, way = stated.rpartition(":")
    if stated in metrics or way not in _WAYS:
        name, way = stated, ""
    if name not in metrics:
        where = "" if validated else " without a validation split"
        raise UnknownNameError(f"metric{where}, for --best-by,", name, metrics)
    if way:
        return Best(name, _WAYS[way])
    if name in own:
        raise ConfigError(
            f"--best-by {name} is a metric of your own: say whether its lowest or its highest "
            f"value is the best, by --best-by {name}:min or {name}:max"
        )
    return Best(name, name in _LOWER_IS_BETTER)
