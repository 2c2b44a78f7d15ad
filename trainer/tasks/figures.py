"""Metrics over a whole split, figures of a report, and records to look at."""

import abc
import bisect
import collections
import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tfrecord_dataset.shown_text import number_text

Arrays = Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """Boxes or classes to draw on an image.

    Attributes:
        boxes: Mappings of "label" (the class number), "text" (the caption) and "box" (xmin,
            ymin, xmax, ymax in 0..1 of the image). The first is drawn on top.
        classes: Class of each pixel, uint8 [height, width] of any size; or None.
        names: Names of the classes of pixels.
    """

    boxes: Sequence[Mapping[str, Any]] = ()
    classes: Any = None
    names: Sequence[str] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A record to look at: its number in the split, a text, and drawings on its image by title."""

    number: int
    text: str
    overlays: Mapping[str, Overlay] = dataclasses.field(default_factory=dict)


class Accumulator(abc.ABC):
    """A metric over a whole split that is not a mean over its records, computed on the host.

    It gets every record once, in batches.
    """

    seen: int = 0

    @abc.abstractmethod
    def update(self, target: Any, predictions: Arrays) -> None:
        """Add a batch: NumPy arrays [b, …] from the target's `host_step` and its `predict`."""

    def result(self) -> dict[str, float]:
        """Return metrics by name over all records so far; none if only the report needs it."""
        return {}

    def intervals(self) -> dict[str, tuple[float, float]]:
        """Return 95 % intervals of metrics by name, for those that are computed."""
        return {}

    def figures(self) -> dict[str, Any]:
        """Return the values for the report's template by section; call after `result`."""
        return {}

    def details(self) -> dict[str, Any]:
        """Return what else an evaluation states, such as the recall of each class."""
        return {}

    def examples(self) -> list[Example]:
        """Return records to look at, the worst first."""
        return []


class Worst:
    """Keeps the records with the highest badness."""

    def __init__(self, most: int = 12) -> None:
        self._most = most
        self._kept: list[tuple[float, Any]] = []  # the worst first, stable

    def takes(self, badness: float) -> bool:
        """Whether a record of this badness would be kept."""
        return len(self._kept) < self._most or badness > self._kept[-1][0]

    def add(self, badness: float, number: int, *facts: Any) -> None:
        """Add a record with its facts, and drop the least bad one."""
        if self.takes(badness):
            entry = (badness, (number, *facts))
            bisect.insort(self._kept, entry, key=lambda each: -each[0])
            del self._kept[self._most :]

    def __iter__(self) -> Iterator[Any]:
        """Yield (number, *facts) of each record, the worst first."""
        return (record for _, record in self._kept)


# Records are counted in bins of the logit of their probability: memory does not grow with the
# number of records, and probabilities near 0 and 1, common in confident models, stay distinct.
_LEAST_LOGIT, _LARGEST_LOGIT = -88.0, 18.0  # float32 has no probability nearer to 0 or 1
_MOST_STEPS = 1 << 17
_MOST_COUNTS = 1 << 22


def area_under_curve(members: Any, others: Any) -> float:
    """Compute the area under the ROC curve from counts by ascending probability: [steps] each.

    Records in the same step count as half. NaN without members or others.
    """
    below = np.cumsum(others) - others
    pairs = float(members.sum()) * float(others.sum())
    return float((members * (below + others / 2)).sum() / pairs) if pairs else float("nan")


# The metric with the probability of the second of two classes from which on it is best predicted.
THRESHOLD = "threshold"


def best_threshold(members: Any, others: Any) -> float:
    """Return the probability from which on predicting a class gives the highest macro F1.

    The counts of records with and without the class are by ascending probability, [steps] each. Of
    equally good steps the middle one is chosen. NaN without members or others.
    """
    steps = np.arange(len(members))
    missed, right = (np.cumsum(counts) - counts for counts in (members, others))
    found, wrong = members.sum() - missed, others.sum() - right
    if not found[0] or not wrong[0]:
        return math.nan
    f1 = 2 * found / (2 * found + missed + wrong) + 2 * right / (2 * right + missed + wrong)
    best = steps[f1 == f1.max()]
    logit = _LEAST_LOGIT + best[len(best) // 2] / len(steps) * (_LARGEST_LOGIT - _LEAST_LOGIT)
    return 1 / (1 + math.exp(-logit))


# With more classes, only the most frequent confusions are shown, and no curves by class.
_MOST_CONFUSED, _MOST_CURVES = 24, 8


class ClassFigures(Accumulator):
    """AUC, confusions and curves, for one class per record or any number of them.

    The area under the ROC curve of a class is the chance that a record with the class gets a higher
    probability of it than one without. Probabilities whose logits differ by less than 0.001 (more
    with over 32 classes) count as equal.
    """

    def __init__(self, classes: Sequence[str], *, has_one_class: bool) -> None:
        self._classes = tuple(classes)
        self._has_one_class = has_one_class
        self._steps = max(2, min(_MOST_STEPS, _MOST_COUNTS // max(1, len(classes))))
        self._members, self._others = np.zeros((2, len(classes), self._steps), np.int64)
        # Keys encode (class, predicted class) as one number; few of many pairs occur.
        self._pairs: collections.Counter[int] = collections.Counter()
        # The worst records with one class each, by probability of the true and the predicted class.
        self._least_true, self._most_sure = Worst(), Worst()

    def update(self, target: Any, predictions: Arrays) -> None:
        """Add `probabilities` [b, classes] and class numbers [b], or 0 and 1 [b, classes]."""
        probabilities = np.asarray(predictions["probabilities"], np.float64)
        target = np.asarray(target)
        classes = np.arange(probabilities.shape[1])
        is_member = target[:, None] == classes if target.ndim == 1 else target > 0.5
        with np.errstate(divide="ignore"):
            logits = np.log(probabilities) - np.log1p(-probabilities)
        logits = np.clip(np.nan_to_num(logits), _LEAST_LOGIT, _LARGEST_LOGIT)  # NaN: diverged
        shares = (logits - _LEAST_LOGIT) / (_LARGEST_LOGIT - _LEAST_LOGIT)
        steps = np.minimum((shares * self._steps).astype(np.int64), self._steps - 1)
        columns = np.broadcast_to(classes, steps.shape)
        np.add.at(self._members, (columns[is_member], steps[is_member]), 1)
        np.add.at(self._others, (columns[~is_member], steps[~is_member]), 1)
        if target.ndim == 1:
            self._add_choices(target, np.nan_to_num(probabilities))
        self.seen += len(target)

    def _add_choices(self, target: Any, probabilities: Any) -> None:
        predicted = probabilities.argmax(axis=1)
        rows = np.arange(len(target))
        sure, of_true = probabilities[rows, predicted], probabilities[rows, target]
        pairs, counts = np.unique(target * len(self._classes) + predicted, return_counts=True)
        self._pairs.update(dict(zip(pairs.tolist(), counts.tolist(), strict=True)))
        for row in np.flatnonzero(predicted != target).tolist():
            true, instead = int(target[row]), int(predicted[row])
            record = (self.seen + row, true, float(of_true[row]), instead, float(sure[row]))
            self._least_true.add(-record[2], *record)
            self._most_sure.add(record[4], *record)

    @property
    def areas(self) -> list[float]:
        """Return the AUC of each class; NaN if no record has it, or all have."""
        return [*map(area_under_curve, self._members, self._others)]

    def result(self) -> dict[str, float]:
        """Return `auc`, `macro_f1` and, for one class per record, `balanced_accuracy`.

        Two classes also have a `threshold`.
        Each is the mean over the classes that have a value: of a class without records, the recall
        has none, and the F1 only if the class is predicted. Two classes have the same AUC.
        """
        rows = self._rows()
        by_class = {"auc": self.areas, "macro_f1": [row["f1"] for row in rows]}
        if self._has_one_class:
            by_class["balanced_accuracy"] = [row["recall"] for row in rows]
        means = {name: _mean(values) for name, values in by_class.items()}
        if self._has_one_class and len(rows) == 2:
            means[THRESHOLD] = best_threshold(self._members[1], self._others[1])
        return means

    def intervals(self) -> dict[str, tuple[float, float]]:
        """Return those of accuracy, macro F1 and balanced accuracy, of one class per record."""
        size = len(self._classes)
        if not self._pairs or size > _MOST_CONFUSED:
            return {}
        counts = np.zeros((size, size))
        for pair, count in self._pairs.items():
            counts[divmod(pair, size)] = count
        shares = counts.ravel() / self.seen
        drawn = np.random.default_rng(0).multinomial(self.seen, shares, _DRAWS)
        drawn = drawn.reshape(-1, size, size)  # [draws, class, predicted class]
        true = drawn.sum(axis=2)
        right, chosen = np.diagonal(drawn, axis1=1, axis2=2), drawn.sum(axis=1)
        with np.errstate(invalid="ignore"):  # a class that was not drawn has no value
            f1, recall = 2 * right / (true + chosen), right / true
        return {
            "accuracy": interval(float(counts.trace() / self.seen), self.seen),
            "macro_f1": middle(np.nanmean(f1, axis=1)),
            "balanced_accuracy": middle(np.nanmean(recall, axis=1)),
        }

    def details(self) -> dict[str, Any]:
        """Return `recall` by class; None for a class without records."""
        return {"recall": {row["name"]: row["recall"] for row in self._rows()}}

    def figures(self) -> dict[str, Any]:
        """Return `classes`: "rows" by class, "confusion" or "confusions", "curves"."""
        rows = self._rows()
        pooled = precision_recall(self._members.sum(axis=0), self._others.sum(axis=0))
        curves = {"all classes": pooled}
        if 1 < len(rows) <= _MOST_CURVES:
            each = zip(self._classes, self._members, self._others, strict=True)
            curves |= {name: precision_recall(*counts) for name, *counts in each}
        return {"classes": {"rows": rows, "curves": curves} | self._confusions()}

    def _rows(self) -> list[dict[str, Any]]:
        """Return a row for each class; shares of nothing are None."""
        size = len(self._classes)
        if self._pairs:
            pairs = np.array([*self._pairs.items()], np.int64)
            true, predicted = np.divmod(pairs[:, 0], size)
            records = np.bincount(true, pairs[:, 1], size)
            chosen = np.bincount(predicted, pairs[:, 1], size)
            hit = true == predicted
            right = np.bincount(true[hit], pairs[hit, 1], size)
        else:
            half = int(self._steps * -_LEAST_LOGIT / (_LARGEST_LOGIT - _LEAST_LOGIT))
            records = self._members.sum(axis=1)
            right = self._members[:, half:].sum(axis=1)
            chosen = right + self._others[:, half:].sum(axis=1)
        return [
            {
                "name": name,
                "records": int(records[number]),
                "precision": share(right[number], chosen[number]),
                "recall": share(right[number], records[number]),
                "f1": share(2 * right[number], records[number] + chosen[number]),
            }
            for number, name in enumerate(self._classes)
        ]

    def _confusions(self) -> dict[str, Any]:
        size = len(self._classes)
        by_pair = [(*divmod(pair, size), count) for pair, count in self._pairs.items()]
        matrix: list[list[int]] = []
        if self._pairs and size <= _MOST_CONFUSED:
            cells = np.zeros((size, size), np.int64)
            for true, predicted, count in by_pair:
                cells[true, predicted] = count
            matrix = cells.tolist()
        wrong = sorted(
            (each for each in by_pair if each[0] != each[1]), key=lambda each: (-each[2], each)
        )
        named = [(self._classes[a], self._classes[b], count) for a, b, count in wrong]
        return {"confusion": matrix, "confusions": named[:_MOST_CONFUSED]}

    def examples(self) -> list[Example]:
        """Return mistakes: the least probable true classes, and the most confident predictions."""
        records = dict.fromkeys([*self._least_true, *self._most_sure])
        return [
            Example(
                number=number,
                text=f"{self._classes[true]} ({of_true:.2f}), "
                f"predicted {self._classes[predicted]} ({sure:.2f})",
            )
            for number, true, of_true, predicted, sure in records
        ]


_FEW_RECALLS = 3


def lowest_recalls(accumulators: Iterable[Accumulator]) -> Iterator[str]:
    """Yield a line with the classes that are found least often, if there are several."""
    for each in accumulators:
        found = [(n, name) for name, n in each.details().get("recall", {}).items() if n is not None]
        if len(found) > 1:
            lowest = sorted(found, key=lambda pair: pair[0])[:_FEW_RECALLS]
            yield "lowest recall: " + ", ".join(f"{name} {n:.2f}" for n, name in lowest)


def intervals(accumulators: Iterable[Accumulator]) -> dict[str, tuple[float, float]]:
    """Return the 95 % intervals of all metrics that have one."""
    return {name: ends for each in accumulators for name, ends in each.intervals().items()}


_DEVIATIONS = 1.96  # of a normal distribution, for 95 %


def interval(share: float, count: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share of `count` records."""
    square = _DEVIATIONS**2 / count
    middle = (share + square / 2) / (1 + square)
    spread = math.sqrt(share * (1 - share) * square + square**2 / 4) / (1 + square)
    return middle - spread, middle + spread


_DRAWS = 1_000  # of a bootstrap


def middle(values: Any) -> tuple[float, float]:
    """Return the middle 95 % of a bootstrap's values."""
    low, high = np.quantile(values, [0.025, 0.975]).tolist()
    return low, high


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None and not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def precision_recall(members: Any, others: Any) -> list[tuple[float, float]]:
    """Return points (recall, precision) by descending threshold; counts are ascending."""
    right, wrong = np.cumsum(members[::-1]), np.cumsum(others[::-1])
    chosen = right + wrong
    if not right[-1]:
        return []
    known = np.flatnonzero((chosen > 0) & ((members + others)[::-1] > 0))
    points = np.stack([right[known] / right[-1], right[known] / chosen[known]], axis=1)
    return [(recall, precision) for recall, precision in points.tolist()]


def share(part: Any, whole: Any) -> float | None:
    """Divide, or return None if the whole is 0."""
    return float(part / whole) if whole else None


_MOST_POINTS = 1_000
_MOST_COLUMNS = 6


class NumberFigures(Accumulator):
    """The fit of each column from sums, and a sample of its true and predicted numbers."""

    def __init__(self, name: str, size: int) -> None:
        self._names = [name] if size == 1 else [f"{name} {place}" for place in range(size)]
        self._sums = np.zeros((5, size))  # of true, true², error, error², |error|
        self._points: list[Any] = []
        self._every = 1  # the sample has every n-th record
        self._worst = Worst()

    def update(self, target: Any, predictions: Arrays) -> None:
        """Add records: target and `values`, float32 [b, size] each."""
        true = np.asarray(target, np.float64)
        predicted = np.asarray(predictions["values"], np.float64)
        error = predicted - true
        sums = (true, true**2, error, error**2, np.abs(error))
        self._sums += np.stack([each.sum(axis=0) for each in sums])
        for row, (one, other) in enumerate(zip(true, predicted, strict=True)):
            number = self.seen + row
            if not number % self._every:
                self._points.append((one, other))
                if len(self._points) > _MOST_POINTS:
                    self._points, self._every = self._points[::2], 2 * self._every
            badness = float(np.abs(other - one).max())
            if np.isfinite(badness):
                self._worst.add(badness, number, one, other)
        self.seen += len(true)

    def intervals(self) -> dict[str, tuple[float, float]]:
        """Return those of the errors of a single column, by a bootstrap of the sampled records."""
        if self._sums.shape[1] != 1 or not self._points:
            return {}
        errors = np.diff(np.array(self._points)[..., 0], axis=1)[:, 0]
        drawn = np.random.default_rng(0).choice(errors, (_DRAWS, len(errors)))
        return {
            "mae": middle(np.abs(drawn).mean(axis=1)),
            "rmse": middle(np.sqrt((drawn**2).mean(axis=1))),
        }

    def _fits(self) -> list[dict[str, Any]]:
        """Return name and errors of each column; `r2` is None if its values are equal."""
        true, squares, error, error_squares, sizes = self._sums / max(1, self.seen)
        variance = squares - true**2
        return [
            {
                "name": self._names[place],
                "r2": float(1 - error_squares[place] / variance[place])
                if variance[place] > 0
                else None,
                "bias": float(error[place]),
                "mae": float(sizes[place]),
                "mse": float(error_squares[place]),
            }
            for place in range(len(true))
        ]

    def result(self) -> dict[str, float]:
        """Return `rmse`, of all columns, and `r2`, the mean over columns that vary."""
        fits = self._fits()
        mse = _mean([fit["mse"] for fit in fits]) if self.seen else float("nan")
        return {"rmse": mse**0.5, "r2": _mean([fit["r2"] for fit in fits])}

    def figures(self) -> dict[str, Any]:
        """Return `numbers`: the fit of each column, and points (true, predicted)."""
        columns = [
            {**fit, "points": [(float(a[place]), float(b[place])) for a, b in self._points]}
            for place, fit in enumerate(self._fits()[:_MOST_COLUMNS])
        ]
        return {"numbers": columns}

    def examples(self) -> list[Example]:
        """Return records with the largest errors first."""
        return [
            Example(number=number, text=f"{_text(true)}, predicted {_text(predicted)}")
            for number, true, predicted in self._worst
        ]


def _text(values: Any) -> str:
    return ", ".join(map(number_text, values[:_MOST_COLUMNS].tolist()))
