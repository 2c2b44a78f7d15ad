"""Figures of classes: confusion, precision and recall, reliability, the worst mistakes."""

import collections
from collections.abc import Sequence
from typing import Any

import numpy as np

from trainer.tasks.figures import Accumulator, Arrays, Example, Worst

_STEPS = 200  # of a probability, for precision and recall
_BINS = 10  # for reliability
# Of more classes the confusions that are most frequent are told, and the curves are left out.
_MOST_COLUMNS, _MOST_CURVES = 24, 8


class ClassFigures(Accumulator):
    """Counts what is predicted of one class per record, or of any number of them."""

    def __init__(self, classes: Sequence[str]) -> None:
        self._classes = tuple(classes)
        size = len(self._classes)
        # By (class, predicted class) as one number: of many classes few pairs occur.
        self._pairs: collections.Counter[int] = collections.Counter()
        self._members = np.zeros((size, _STEPS), np.int64)  # by the probability's step
        self._others = np.zeros((size, _STEPS), np.int64)
        self._reliability = np.zeros((3, _BINS))  # records, right ones, sum of probabilities
        # Of one class per record the worst are kept; the same ones by what was thought instead.
        self._least_true, self._most_sure = Worst(), Worst()

    def update(self, target: Any, predictions: Arrays) -> None:
        """Adds records.

        Args:
            target: Class numbers [b], or 0 and 1 for each class [b, classes].
            predictions: `probabilities` [b, classes].
        """
        target = np.asarray(target)
        probabilities = np.nan_to_num(np.asarray(predictions["probabilities"], np.float64))
        size = len(self._classes)
        is_member = target[:, None] == np.arange(size) if target.ndim == 1 else target > 0.5
        steps = np.minimum((probabilities * _STEPS).astype(np.int64), _STEPS - 1)
        places = np.arange(size) * _STEPS + steps
        for counts, chosen in ((self._members, is_member), (self._others, ~is_member)):
            counts += np.bincount(places[chosen], minlength=counts.size).reshape(counts.shape)
        if target.ndim == 1:
            self._add_choices(target, probabilities)
        else:
            sure = np.maximum(probabilities, 1 - probabilities)
            self._add_reliability(sure, is_member == (probabilities > 0.5))
        self.seen += len(target)

    def _add_choices(self, target: Any, probabilities: Any) -> None:
        predicted = probabilities.argmax(axis=1)
        rows = np.arange(len(target))
        sure, of_true = probabilities[rows, predicted], probabilities[rows, target]
        pairs, counts = np.unique(target * len(self._classes) + predicted, return_counts=True)
        self._pairs.update(dict(zip(pairs.tolist(), counts.tolist(), strict=True)))
        self._add_reliability(sure, predicted == target)
        for row in np.flatnonzero(predicted != target).tolist():
            true, instead = int(target[row]), int(predicted[row])
            record = (self.seen + row, true, float(of_true[row]), instead, float(sure[row]))
            self._least_true.add(-record[2], *record)
            self._most_sure.add(record[4], *record)

    def _add_reliability(self, sure: Any, is_right: Any) -> None:
        sure, is_right = np.ravel(sure), np.ravel(is_right)
        bins = np.minimum((sure * _BINS).astype(np.int64), _BINS - 1)
        for row, weights in zip(self._reliability, (None, is_right, sure), strict=True):
            row += np.bincount(bins, weights, _BINS)

    def figures(self) -> dict[str, Any]:
        """`classes`: "rows" by class, "confusion" or "confusions", "curves", "reliability"."""
        rows = self._rows()
        shown = _MOST_CURVES if len(rows) > _MOST_CURVES else len(rows)
        pooled = precision_recall(self._members.sum(axis=0), self._others.sum(axis=0))
        curves = {"all classes": pooled}
        if len(rows) == shown and len(rows) > 1:
            each = zip(self._classes, self._members, self._others, strict=True)
            curves |= {name: precision_recall(*counts) for name, *counts in each}
        found: dict[str, Any] = {"rows": rows, "curves": curves} | self._confusions()
        return {"classes": found | self._calibration()}

    def _rows(self) -> list[dict[str, Any]]:
        """Of each class; a share of nothing is None."""
        size = len(self._classes)
        if self._pairs:
            pairs = np.array([*self._pairs.items()], np.int64)
            true, predicted = np.divmod(pairs[:, 0], size)
            records = np.bincount(true, pairs[:, 1], size)
            chosen = np.bincount(predicted, pairs[:, 1], size)
            hit = true == predicted
            right = np.bincount(true[hit], pairs[hit, 1], size)
        else:
            half = _STEPS // 2
            records = self._members.sum(axis=1)
            right = self._members[:, half:].sum(axis=1)
            chosen = right + self._others[:, half:].sum(axis=1)
        return [
            {
                "name": name,
                "records": int(records[number]),
                "precision": _share(right[number], chosen[number]),
                "recall": _share(right[number], records[number]),
                "f1": _share(2 * right[number], records[number] + chosen[number]),
            }
            for number, name in enumerate(self._classes)
        ]

    def _confusions(self) -> dict[str, Any]:
        size = len(self._classes)
        by_pair = [(*divmod(pair, size), count) for pair, count in self._pairs.items()]
        matrix: list[list[int]] = []
        if self._pairs and size <= _MOST_COLUMNS:
            cells = np.zeros((size, size), np.int64)
            for true, predicted, count in by_pair:
                cells[true, predicted] = count
            matrix = cells.tolist()
        wrong = sorted(
            (each for each in by_pair if each[0] != each[1]), key=lambda each: (-each[2], each)
        )
        named = [(self._classes[a], self._classes[b], count) for a, b, count in wrong]
        return {"confusion": matrix, "confusions": named[:_MOST_COLUMNS]}

    def _calibration(self) -> dict[str, Any]:
        """Points (mean probability, share that is right) of the bins, and how far they lie off."""
        records, right, sums = self._reliability
        known = records > 0
        points = np.stack([sums[known] / records[known], right[known] / records[known]], axis=1)
        off = np.abs(points[:, 0] - points[:, 1]) @ records[known] / max(1.0, records.sum())
        return {"reliability": [tuple(each) for each in points.tolist()], "off": float(off)}

    def examples(self) -> list[Example]:
        """Mistakes: those whose class was thought the least probable, and the most sure ones."""
        records = dict.fromkeys([*self._least_true, *self._most_sure])
        return [
            Example(
                number=number,
                text=f"{self._classes[true]} ({of_true:.2f}), "
                f"predicted {self._classes[predicted]} ({sure:.2f})",
            )
            for number, true, of_true, predicted, sure in records
        ]


def precision_recall(members: Any, others: Any) -> list[tuple[float, float]]:
    """Points (recall, precision) by falling threshold, from counts by rising probability [steps].

    None without members.
    """
    right, wrong = np.cumsum(members[::-1]), np.cumsum(others[::-1])
    chosen = right + wrong
    if not right[-1]:
        return []
    known = np.flatnonzero((chosen > 0) & ((members + others)[::-1] > 0))
    points = np.stack([right[known] / right[-1], right[known] / chosen[known]], axis=1)
    return [(recall, precision) for recall, precision in points.tolist()]


def _share(part: Any, whole: Any) -> float | None:
    return float(part / whole) if whole else None
