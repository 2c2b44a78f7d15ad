"""Metrics of trivial guesses on a split; a model that does not beat them has learned nothing.

The guess is fitted to the targets of the split itself, so it is the best of its kind.
"""

import abc
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfrecord_dataset.shown_text import listed, number_text
from trainer.metrics import GUESS, METRICS
from trainer.tasks.figures import Accumulator, Arrays
from trainer.tasks.mean_average_precision import MeanAveragePrecision


class Baseline(Accumulator):
    """The metric of a trivial guess, over the targets of a split.

    Attributes:
        metric: Name of the compared metric.
        further: Names of the model's metrics that are shown with it.
        guess: Description of the guess; set by `result`.
        missing: Classes without a record in the split; set by `result`.
    """

    metric: str
    further: Sequence[str] = ()
    guess = ""
    missing: Sequence[str] = ()

    def __init__(self, classes: Sequence[str] = ()) -> None:
        self._classes = classes
        self._targets: list[Any] = []

    def update(self, target: Any, predictions: Arrays) -> None:
        self._targets.append(target)

    def result(self) -> dict[str, float]:
        """Return the guess's metric as `baseline_<metric>`."""
        return {self.key: self.value()}

    @abc.abstractmethod
    def value(self) -> float:
        """The metric of the guess."""

    @property
    def key(self) -> str:
        """The name of the guess's metric."""
        return f"{GUESS}{self.metric}"

    def compare(self, result: Mapping[str, float], stated: str = "") -> str:
        """Return `accuracy 0.9; always guessing RBC gives accuracy 0.62`, or that it is not beaten.

        Args:
            result: The metrics of a model and of the guess.
            stated: A metric of the model that is already shown.
        """
        names = [*[self.metric] * (stated != self.metric), *self.further]
        own = ", ".join(f"{name} {number_text(result[name])}" for name in names if name in result)
        guessed = f"{self.guess} gives {self.metric} {number_text(result[self.key])}"
        text = "; ".join(filter(None, (own, guessed)))
        if self.is_beaten_by(result):
            return text
        return f"the model does not beat a trivial guess: {text}"

    def is_beaten_by(self, result: Mapping[str, float]) -> bool:
        """Whether a model is better than the guess, by the metrics of both."""
        model, guessed = result[self.metric], result[self.key]
        return model < guessed if METRICS[self.metric].best == "min" else model > guessed

    def _without_records(self, counts: Sequence[int]) -> list[str]:
        return [name for name, count in zip(self._classes, counts, strict=True) if not count]


# Share of the records in one class from which on guessing it looks good.
UNEVEN = 0.8


class MostFrequent(Baseline):
    """The metric of always guessing one class: accuracy, or mIoU of the pixels of maps.

    If the accuracy is at least 0.8, the model has to beat the guess's macro F1 instead.
    """

    def __init__(self, metric: str, classes: Sequence[str]) -> None:
        super().__init__(classes)
        self.metric = metric
        self._counts = np.zeros(len(classes), np.int64)
        self._macro_f1 = 0.0  # of the guess

    def update(self, target: Any, predictions: Arrays) -> None:
        size = len(self._counts)  # larger numbers are ignored
        self._counts += np.bincount(np.ravel(target), minlength=size)[:size]

    def value(self) -> float:
        counts = self._counts.tolist()
        most = max(counts)
        self.guess = f"always guessing {self._classes[counts.index(most)]}"
        self.missing = self._without_records(counts)
        share, parts = most / max(1, sum(counts)), max(1, len(counts) - len(self.missing))
        if self.metric == "mIoU":
            return share / parts
        if share >= UNEVEN:
            self.further, self._macro_f1 = ("macro_f1",), 2 * share / (1 + share) / parts
        return share

    def is_beaten_by(self, result: Mapping[str, float]) -> bool:
        if self.further and "macro_f1" in result:
            return result["macro_f1"] > self._macro_f1
        return super().is_beaten_by(result)


class FrequentClasses(Baseline):
    """The F1 of always guessing the k most frequent classes, for the best k."""

    metric = "f1"

    def update(self, target: Any, predictions: Arrays) -> None:
        self._targets.append(np.asarray(target) > 0.5)  # also for smoothed targets

    def value(self) -> float:
        targets = np.concatenate(self._targets or [np.zeros((0, len(self._classes)), bool)])
        counts, sizes = targets.sum(axis=0), targets.sum(axis=1)
        order = np.argsort(-counts, kind="stable")
        best, most = float(np.mean(sizes == 0)) if len(targets) else 0.0, 0
        right = np.zeros(len(targets), np.int64)
        for size, number in enumerate(order.tolist(), 1):
            right += targets[:, number]
            f1 = float(np.mean(2 * right / (sizes + size))) if len(targets) else 0.0
            if f1 > best:
                best, most = f1, size
        guessed = [self._classes[number] for number in order[:most].tolist()]
        self.guess = f"always guessing {listed(guessed) if guessed else 'no class'}"
        self.missing = self._without_records(counts.tolist())
        return best


class Median(Baseline):
    """The mean absolute error of always guessing the median of each column."""

    metric = "mae"
    further = ("rmse", "r2")
    guess = "always guessing the median"

    def value(self) -> float:
        if not self._targets:
            return math.nan
        targets = np.concatenate(self._targets).astype(np.float64)
        return float(np.abs(targets - np.median(targets, axis=0)).mean())


class MedianBoxes(Baseline):
    """The mAP50 of always guessing the median box of each class."""

    metric = "mAP50"
    guess = "always guessing the median box of each class"

    def value(self) -> float:
        boxes = np.concatenate([each["boxes"].reshape(-1, 4) for each in self._targets])
        labels = np.concatenate([each["labels"].ravel() for each in self._targets])
        present = np.unique(labels[labels >= 0])
        if not len(present):
            return 0.0
        medians = np.stack([np.median(boxes[labels == each], axis=0) for each in present])
        metric = MeanAveragePrecision(self._classes)
        for target in self._targets:
            size = len(target["boxes"])
            guessed = {"boxes": medians, "labels": present, "scores": np.ones(len(present))}
            metric.update(target, {name: np.stack([each] * size) for name, each in guessed.items()})
        return metric.result()[self.metric]
