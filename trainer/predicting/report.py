"""A page on a classifier's predictions: figures by class, confusion matrix, worst mistakes."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from trainer.report.page import Pictured, Sections, html_of_predictions
from trainer.tasks.figures.classes import ClassFigures
from trainer.tasks.ranking import AreaUnderCurve


class ClassReport(ClassFigures):
    """What is predicted of one class per record: the figures of a run's page, and AUC by class.

    Args:
        classes: By number.
    """

    def __init__(self, classes: tuple[str, ...]) -> None:
        super().__init__(classes)
        self._ranking = AreaUnderCurve(len(classes))
        self._right = 0

    def add(self, true: int, probabilities: Any) -> None:
        """Adds a record: its class, and float [classes]."""
        self._right += int(np.argmax(probabilities)) == true
        for update in (self.update, self._ranking.update):
            update([true], {"probabilities": [probabilities]})

    def figures(self) -> dict[str, Any]:
        """`classes`, as `ClassFigures` has them, with "auc" in each row."""
        found = super().figures()
        for row, auc in zip(found["classes"]["rows"], self._ranking.by_class, strict=True):
            row["auc"] = None if math.isnan(auc) else auc
        return found

    def html(self, title: str, about: str, split: str, examples: Sequence[Pictured]) -> str:
        """The page.

        Args:
            title: Its heading.
            about: A line below it.
            split: Of the dataset.
            examples: Those of `examples`, with their images.
        """
        figures = self.figures()
        rows = figures["classes"]["rows"]
        names = {"precision": "precision", "recall": "recall", "f1": "F1", "auc": "AUC"}
        means = [
            f"{text} {mean:.3f}"
            for name, text in names.items()
            if (mean := _mean(row[name] for row in rows)) is not None
        ]
        sentence = (
            f"{self.seen} records, accuracy {self._right / max(1, self.seen):.4f}; "
            f"means of the classes: {', '.join(means)}"
        )
        sections = Sections(split=split, figures=figures, examples=examples)
        return html_of_predictions(title, about, sentence, sections)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
