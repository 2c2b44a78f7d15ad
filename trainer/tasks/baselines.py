"""What a trivial guess reaches on a split: a model that does not beat it has learned nothing.

The guess is chosen by the targets of the split itself, so it is the best of its kind.
"""

import abc
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfrecord_dataset.shown_text import number_text
from trainer.tasks.detection.mean_average_precision import MeanAveragePrecision
from trainer.tasks.figures import Accumulator, Arrays

_PREFIX = "baseline_"


class Baseline(Accumulator):
    """The metric of a trivial guess, over the targets of a split.

    Attributes:
        metric: Whose value is compared.
        is_least: Whether lower is better.
        guess: What is guessed, in words; after `result`.
        missing: Classes that the split has no record of; after `result`.
    """

    metric: str
    is_least = False
    guess = ""
    missing: Sequence[str] = ()

    def result(self) -> dict[str, float]:
        """`baseline_<metric>`."""
        return {self.key: self.value()}

    @abc.abstractmethod
    def value(self) -> float:
        """The metric of the guess."""

    @property
    def key(self) -> str:
        """The name of the guess's metric."""
        return f"{_PREFIX}{self.metric}"

    def describe(self, guessed: float) -> str:
        """`always guessing RBC gives accuracy 0.62`."""
        return f"{self.guess} gives {self.metric} {number_text(guessed)}"

    def is_beaten_by(self, result: Mapping[str, float]) -> bool:
        """Whether a model is better than the guess, by the metrics of both."""
        model, guessed = result[self.metric], result[self.key]
        return model < guessed if self.is_least else model > guessed


class MostFrequent(Baseline):
    """The metric of always guessing one class: accuracy, or mIoU of the pixels of maps."""

    def __init__(self, metric: str, classes: Sequence[str]) -> None:
        self.metric = metric
        self._classes = classes
        self._counts = np.zeros(len(classes), np.int64)

    def update(self, target: Any, predictions: Arrays) -> None:
        """Add class numbers of any shape; those beyond the classes are ignored."""
        size = len(self._counts)
        self._counts += np.bincount(np.ravel(target), minlength=size)[:size]

    def value(self) -> float:
        counts = self._counts.tolist()
        most = max(counts)
        self.guess = f"always guessing {self._classes[counts.index(most)]}"
        self.missing = [
            name for name, count in zip(self._classes, counts, strict=True) if not count
        ]
        parts = len(counts) - len(self.missing) if self.metric == "mIoU" else 1
        return most / max(1, sum(counts)) / max(1, parts)


class MeanOfTraining(Baseline):
    """The mean absolute error of always guessing the mean of the train split."""

    metric = "mae"
    is_least = True
    guess = "always guessing the mean"

    def __init__(self, mean: Sequence[float]) -> None:
        self._mean = np.asarray(mean)
        self._error = 0.0

    def update(self, target: Any, predictions: Arrays) -> None:
        """Add numbers [b, columns]."""
        self._error += float(np.abs(np.asarray(target) - self._mean).mean(axis=1).sum())
        self.seen += len(target)

    def value(self) -> float:
        return self._error / max(1, self.seen)


class MedianBoxes(Baseline):
    """The mAP50 of always guessing the median box of each class."""

    metric = "mAP50"
    guess = "always guessing the median box of each class"

    def __init__(self, classes: Sequence[str]) -> None:
        self._classes = classes
        self._targets: list[Mapping[str, Any]] = []

    def update(self, target: Any, predictions: Arrays) -> None:
        """Add boxes and their labels, as a detector's target has them."""
        self._targets.append(target)

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
