"""What the rows of a run's history say: curves, and how the training went, in words."""

import math
import statistics
from collections.abc import Mapping, Sequence

Row = Mapping[str, float]

# The metric of the sentence, where the loss tells the best: the first that a row has.
_LEADING = ("accuracy", "f1", "mAP", "mIoU", "mae")
# What a loss may differ by without a meaning, as a part of itself.
_LITTLE = 0.01
# Epochs, and deviations of a loss, that are more than chance.
_SEVERAL = 3
_TIMES_NOISE = 3


def value_of(row: Row, metric: str) -> float:
    """A metric in validation, or else in training; NaN of a row without it."""
    return row.get(f"val_{metric}", row.get(metric, math.nan))


def verdict(history: Sequence[Row], place: int, epochs: int, metric: str = "loss") -> str:
    """How the training went, in one sentence.

    Args:
        history: Rows by the names of history.csv, at least one.
        place: Of the best row.
        epochs: That were asked for.
        metric: Which tells the best row.
    """
    best, last = history[place], len(history) - 1
    where = "on validation" if "val_loss" in best else "on what it is trained on, not validated"
    leading = (each for each in _LEADING if math.isfinite(value_of(best, each)))
    name = next(leading, "loss") if metric == "loss" else metric
    value = value_of(best, name)
    by = "" if name == metric else f" by the {metric}"
    text = f"{name} {value:.4g} {where}, best{by} at epoch {best['epoch']:.0f} of {epochs}"
    if "val_loss" not in best or len(history) < 2:
        return text
    if place == last:
        return f"{text}; it was still getting better"
    if _over_fits(history, place):
        return f"{text}; it over-fits since: the training loss falls on, the validation loss rises"
    return f"{text}; it has not got better since"


def _over_fits(history: Sequence[Row], place: int) -> bool:
    """Whether the validation loss rises since a row, by more than chance, and that of training not.

    Chance is what the validation loss differs by from a straight line through its neighbours: of
    independent noise with a deviation of 1 half of these differences are above 1.65.
    """
    best, since = history[place], history[place + 1 :]
    losses = [row["val_loss"] for row in history if math.isfinite(row["val_loss"])]
    if history[-1]["epoch"] - best["epoch"] < _SEVERAL:
        return False
    bends = [abs(a - 2 * b + c) for a, b, c in zip(losses, losses[1:], losses[2:], strict=False)]
    noise = statistics.median(bends) / 1.65
    recent = since[-_SEVERAL:]
    # The least of many is low by chance: what is around it tells more.
    least = statistics.median(row["val_loss"] for row in history[max(0, place - 1) : place + 2])
    rise = statistics.fmean(row["val_loss"] for row in recent) - least
    falls = statistics.fmean(row["loss"] for row in recent) < best["loss"]
    return falls and rise > max(_TIMES_NOISE * noise, _LITTLE * abs(least))


def curves(history: Sequence[Row]) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Points (epochs done, value) of each metric, in training and in validation.

    Returns:
        By metric and by "train" or "validation"; without what is not finite.
    """
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for row in history:
        at = row["epoch"]
        for column, value in row.items():
            if column not in ("epoch", "step") and math.isfinite(value):
                name = column.removeprefix("val_")
                split = "train" if name == column else "validation"
                found.setdefault(name, {}).setdefault(split, []).append((at, value))
    return found


def steps_per_epoch(history: Sequence[Row]) -> float:
    """Steps of an epoch."""
    return history[0]["step"] / history[0]["epoch"]
