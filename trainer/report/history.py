"""Curves and a summary sentence from a run's history."""

import dataclasses
import math
import statistics
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Self

from tfrecord_dataset.shown_text import counted, number_text
from trainer.errors import ConfigError, UnknownNameError
from trainer.metrics import GUESS, METRICS, Metric, metric_named

Row = Mapping[str, float]

# Negligible difference, relative to a loss or to the range of a metric.
_LITTLE = 0.01
# Epochs, and multiples of a loss's noise, that exceed chance.
_SEVERAL = 3
# Fewest epochs that show a trend.
_LEAST_TREND = 4
_TIMES_NOISE = 2
_WAYS = ("min", "max")


def value_of(row: Row, metric: str) -> float:
    """Return a metric of validation, else of training; NaN for a row without it."""
    return row.get(f"val_{metric}", row.get(metric, math.nan))


@dataclasses.dataclass(frozen=True, slots=True)
class Best:
    """Criterion of the best row: lowest or highest metric, of validation if rows have it."""

    metric: str = "loss"
    is_least: bool = True

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse METRIC:min or METRIC:max, as config.json has it."""
        metric, _, way = text.rpartition(":")
        return cls(metric, way == "min")

    def __str__(self) -> str:
        return f"{self.metric}:{'min' if self.is_least else 'max'}"

    def rank(self, row: Mapping[str, float]) -> float:
        """Return a key that is lowest for the best row; NaN and infinity come last."""
        value = value_of(row, self.metric)
        if not math.isfinite(value):
            return math.inf
        return value if self.is_least else -value

    def place(self, rows: Sequence[Mapping[str, float]]) -> int:
        """Return the best row's index; ties are broken by the lowest loss, then the first row."""
        ranks = [(self.rank(row), _LOSS.rank(row)) for row in rows]
        return ranks.index(min(ranks))


_LOSS = Best()


def best_by(
    stated: str,
    names: Collection[str],
    added: Mapping[str, Metric] = MappingProxyType({}),
    *,
    validated: bool = True,
) -> Best:
    """Parse `--best-by`: METRIC, METRIC:min or METRIC:max.

    Args:
        stated: The option.
        names: Names of the metrics that the run has.
        added: Metrics in addition to the target's, by name.
        validated: Whether there is a validation.

    Raises:
        UnknownNameError: The metric does not exist, or ranks no models.
        ConfigError: Which value of the metric is better is unknown, and not given.
    """
    ranking = [name for name in names if name not in METRICS or METRICS[name].best]
    name, _, way = stated.rpartition(":")
    if stated in ranking or way not in _WAYS:
        name, way = stated, ""
    if name not in ranking:
        where = "" if validated else " without a validation split"
        raise UnknownNameError(f"metric{where}, for --best-by,", name, ranking)
    way = way or added.get(name, metric_named(name)).best
    if not way:
        raise ConfigError(
            f"--best-by {name} is a metric of your own: say whether its lowest or its highest "
            f"value is the best, by --best-by {name}:min or {name}:max"
        )
    return Best(name, way == "min")


def shown_metric(row: Row, metric: str) -> str:
    """Return the metric to show for the best row by `metric`."""
    leading = (each.name for each in METRICS.values() if each.leads)
    known = (name for name in leading if math.isfinite(value_of(row, name)))
    return next(known, "loss") if metric == "loss" else metric


def saved_place(history: Sequence[Row], best: Best) -> int:
    """Return the index of model.keras's row: the best one, or the last one without validation."""
    return best.place(history) if "val_loss" in history[-1] else len(history) - 1


def verdict(
    history: Sequence[Row],
    best: Best,
    epochs: int,
    num_validated: int = 0,
    intervals: Mapping[str, tuple[float, float]] = MappingProxyType({}),
) -> str:
    """Summarise the training in one sentence about the model that is saved.

    The metric has its 95 % interval among `intervals`, of so many validated records.
    """
    place = saved_place(history, best)
    row, last = history[place], history[-1]
    name = shown_metric(row, best.metric)
    value, num_epochs = number_text(value_of(row, name)), max(epochs, round(last["epoch"]))
    at = f"epoch {row['epoch']:.0f} of {num_epochs}"
    if "val_loss" not in row:
        return f"{name} {value} on the training data at {at}, without validation"
    if name in intervals:
        low, high = map(number_text, intervals[name])
        value += f" ({low} to {high}, of {counted(num_validated, 'record')})"
    by = "" if name == best.metric else f" by the {best.metric}"
    text = f"{name} {value} on validation, best{by} at {at}"
    if row is not last:
        text += f"; epoch {last['epoch']:.0f} has {number_text(value_of(last, name))}"
    if _over_fits(history, place):
        return f"{text}; overfitting since then: training loss falls, validation loss rises"
    if still_improves(history, best):
        return f"{text}; it was still improving"
    return text if row is last else f"{text}; no improvement since then"


def still_improves(history: Sequence[Row], best: Best) -> bool:
    """Whether the best row is in the last third of the epochs, whose trend is to the better.

    The trend is a line fitted to the metric of at least four epochs. Its slope must exceed twice
    its standard error, and its rise a hundredth of the metric's range in the run.
    """
    ranks, place = [best.rank(row) for row in history], best.place(history)  # lower is better
    num = max(_LEAST_TREND, math.ceil(len(ranks) / 3))
    recent = ranks[-num:]
    if len(ranks) < num or place < len(ranks) - num or not all(map(math.isfinite, recent)):
        return False
    times = range(num)
    slope, start = statistics.linear_regression(times, recent)
    squares = sum((rank - start - slope * at) ** 2 for at, rank in zip(times, recent, strict=True))
    error = math.sqrt(squares / (num - 2) / (num * (num**2 - 1) / 12))
    finite = [rank for rank in ranks if math.isfinite(rank)]
    least = _LITTLE * (max(finite) - min(finite))
    return -slope > _TIMES_NOISE * error and -slope * (num - 1) > least


def _over_fits(history: Sequence[Row], place: int) -> bool:
    """Whether the validation loss has risen for epochs since a row, but not the training loss.

    The rise must exceed the noise, the median difference of a loss from the mean of its neighbours.
    """
    best, losses = history[place], [row["val_loss"] for row in history]
    recent = history[-_SEVERAL:]
    if len(history) - 1 - place < _SEVERAL or not all(map(math.isfinite, losses)):
        return False
    noise = statistics.median(
        abs(a - 2 * b + c) for a, b, c in zip(losses, losses[1:], losses[2:], strict=False)
    )
    least = statistics.median(losses[max(0, place - 1) : place + 2])
    rise = statistics.fmean(row["val_loss"] for row in recent) - least
    falls = statistics.fmean(row["loss"] for row in recent) < best["loss"]
    return falls and rise > max(_TIMES_NOISE * noise, _LITTLE * abs(least))


def curves(history: Sequence[Row]) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Return the finite points (epochs done, value) by metric and split."""
    series: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for row in history:
        for column, value in row.items():
            if column in ("epoch", "step") or not math.isfinite(value):
                continue
            name = column.removeprefix("val_")
            split = "train" if name == column else "validation"
            if name.startswith(GUESS):
                name, split = name.removeprefix(GUESS), "trivial guess"
            series.setdefault(name, {}).setdefault(split, []).append((row["epoch"], value))
    return series
