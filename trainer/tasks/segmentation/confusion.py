"""Metrics of class maps over whole splits, from one count of pixels."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from trainer.tasks.figures import Accumulator, Arrays, Example, Overlay, Worst


class PixelConfusion(Accumulator):
    """Counts pixels by class and predicted class: mIoU, the IoU of each class, pixel accuracy.

    Pixels are those of the model's input; ignored ones do not count.

    Args:
        classes: By number.
    """

    def __init__(self, classes: Sequence[str]) -> None:
        self._classes = tuple(classes)
        self._counts = np.zeros((len(classes), len(classes)), np.int64)  # [class, predicted class]
        self._worst = Worst(8)
        self._seen = 0

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
        is_wrong = is_labelled & (target != predictions["prediction"])
        for place, wrong in enumerate(is_wrong.sum(axis=(1, 2)).tolist()):
            share = wrong / max(1, int(is_labelled[place].sum()))
            if self._worst.takes(share):
                maps = (target[place].copy(), predictions["prediction"][place].copy())
                self._worst.add(share, (self._seen + place, share, *maps))
        self._seen += len(target)

    def merge(self, other: Self) -> None:
        """Adds the maps of another."""
        self._counts += other._counts
        for number, share, *maps in other._worst:
            self._worst.add(share, (self._seen + number, share, *maps))
        self._seen += other._seen

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

    def figures(self) -> dict[str, Any]:
        """`maps`: pixels, IoU, precision and recall of each class; a share of nothing is None."""
        right = np.diag(self._counts)
        true, predicted = self._counts.sum(axis=1), self._counts.sum(axis=0)
        columns = {"iou": true + predicted - right, "precision": predicted, "recall": true}
        return {
            "maps": [
                {
                    "name": name,
                    "pixels": int(true[number]),
                    **{
                        column: float(right[number] / whole[number]) if whole[number] else None
                        for column, whole in columns.items()
                    },
                }
                for number, name in enumerate(self._classes)
            ]
        }

    def examples(self) -> list[Example]:
        """Those with the most wrong pixels first."""
        return [
            Example(
                number=number,
                text=f"{share:.1%} of the pixels are wrong",
                overlays={"true": Overlay(classes=true), "predicted": Overlay(classes=found)},
            )
            for number, share, true, found in self._worst
        ]
