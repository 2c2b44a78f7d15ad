"""Figures of numbers: the predicted ones against the true ones."""

from typing import Any

import numpy as np

from trainer.tasks.figures import Accumulator, Arrays, Example, Worst

_MOST_POINTS = 1_000
_MOST_COLUMNS = 6


class NumberFigures(Accumulator):
    """Keeps some true and predicted numbers of each column, and the sums that tell the fit."""

    def __init__(self, size: int) -> None:
        self._sums = np.zeros((5, size))  # true, its square, error, its square, its size
        self._points: list[Any] = []
        self._every = 1  # of so many records one is kept
        self._worst = Worst()

    def update(self, target: Any, predictions: Arrays) -> None:
        """Adds records: target and `values`, float32 [b, size] each."""
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

    def figures(self) -> dict[str, Any]:
        """`numbers`: of each column the fit, and points (true, predicted)."""
        true, squares, error, error_squares, sizes = self._sums / max(1, self.seen)
        variance = squares - true**2
        columns = [
            {
                "r2": float(1 - error_squares[place] / variance[place])
                if variance[place] > 0
                else None,
                "bias": float(error[place]),
                "mae": float(sizes[place]),
                "points": [(float(a[place]), float(b[place])) for a, b in self._points],
            }
            for place in range(min(len(true), _MOST_COLUMNS))
        ]
        return {"numbers": columns}

    def examples(self) -> list[Example]:
        """Those with the largest error first."""
        return [
            Example(number=number, text=f"{_text(true)}, predicted {_text(predicted)}")
            for number, true, predicted in self._worst
        ]


def _text(values: Any) -> str:
    return ", ".join(f"{value:.4g}" for value in values[:_MOST_COLUMNS].tolist())
