"""Metrics of class maps over whole splits, from one count of pixels."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from trainer.tasks.accumulators import Arrays


class PixelConfusion:
    """Counts pixels by class and predicted class: mIoU, the IoU of each class, pixel accuracy.

    Pixels are those of the model's input; ignored ones do not count.

    Args:
        classes: By number.
    """

    def __init__(self, classes: Sequence[str]) -> None:
        self._classes = tuple(classes)
        self._counts = np.zeros((len(classes), len(classes)), np.int64)  # [class, predicted class]

    def update(self, target: Any, predictions: Arrays) -> None:
        """Adds maps.

        Args:
            target: Class numbers, [b, height, width]; those from the number of classes on are
                ignored.
            predictions: `prediction` [b, height, width], class numbers.
        """
        size = len(self._classes)
        is_labelled = target < size
        pairs = target[is_labelled].astype(np.int64) * size + predictions["prediction"][is_labelled]
        self._counts += np.bincount(pairs, minlength=size * size).reshape(size, size)

    def merge(self, other: Self) -> None:
        """Adds the maps of another."""
        self._counts += other._counts

    def result(self) -> dict[str, float]:
        """`mIoU`, the mean over the classes that occur in maps or predictions; `pixel_accuracy`;
        `IoU/<class>` of each class, NaN where it does not occur.
        """
        right = np.diag(self._counts)
        union = self._counts.sum(axis=0) + self._counts.sum(axis=1) - right
        with np.errstate(invalid="ignore"):
            by_class = right / union
            accuracy = right.sum() / self._counts.sum()
        known = by_class[union > 0]
        return {
            "mIoU": float(known.mean()) if len(known) else float("nan"),
            "pixel_accuracy": float(accuracy),
            **{
                f"IoU/{name}": float(iou) for name, iou in zip(self._classes, by_class, strict=True)
            },
        }
