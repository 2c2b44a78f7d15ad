"""What the rows of a run's history say: curves, and how the training went, in words."""

import math
from collections.abc import Mapping, Sequence

Row = Mapping[str, float]

# The metric of the sentence, where the loss tells the best: the first that a row has.
_LEADING = ("accuracy", "f1", "mAP", "mIoU", "mae")
# What a loss may differ by without a meaning, as a part of itself.
_LITTLE = 0.01


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
    value, moment = value_of(best, name), _moment(best, history)
    text = f"{name} {value:.4g} {where}, best at {moment} of {epochs}"
    if "val_loss" not in best or len(history) < 2:
        return text
    if place == last:
        return f"{text}; it was still getting better"
    behind = history[last]
    rises = behind["val_loss"] > best["val_loss"] * (1 + _LITTLE)
    if rises and behind["loss"] < best["loss"]:
        return f"{text}; it over-fits since: the training loss falls on, the validation loss rises"
    return f"{text}; it has not got better since"


def curves(history: Sequence[Row]) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Points (epochs done, value) of each metric, in training and in validation.

    Returns:
        By metric and by "train" or "validation"; without what is not finite.
    """
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for row in history:
        at = epochs_done(row, history)
        for column, value in row.items():
            if column not in ("epoch", "step") and math.isfinite(value):
                name = column.removeprefix("val_")
                split = "train" if name == column else "validation"
                found.setdefault(name, {}).setdefault(split, []).append((at, value))
    return found


def epochs_done(row: Row, history: Sequence[Row]) -> float:
    """Epochs up to a row of the history, a fraction within one."""
    per_epoch = steps_per_epoch(history)
    return row["step"] / per_epoch if per_epoch and "step" in row else float(row["epoch"])


def steps_per_epoch(history: Sequence[Row]) -> float:
    """Steps of an epoch; 0 where the rows have none."""
    # Of a row at an epoch's end this is their number, of others less.
    return max((each["step"] / each["epoch"] for each in history if "step" in each), default=0)


def _moment(row: Row, history: Sequence[Row]) -> str:
    is_one_of_several = sum(each["epoch"] == row["epoch"] for each in history) > 1
    step = f" (step {row['step']:.0f})" if is_one_of_several else ""
    return f"epoch {row['epoch']:.0f}{step}"
