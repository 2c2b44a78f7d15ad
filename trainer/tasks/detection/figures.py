"""Figures of boxes: of each class and size, by score, and the images with the most mistakes."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from trainer.tasks.figures import Example, Overlay, Worst

# As shares of the image's area: those that 32² and 96² pixels have of COCO's usual 640 x 480.
_SMALL, _LARGE = 32**2 / (640 * 480), 96**2 / (640 * 480)
AREAS = {
    "all": (0.0, math.inf),
    "small": (0.0, _SMALL),
    "medium": (_SMALL, _LARGE),
    "large": (_LARGE, math.inf),
}
_MOST_CURVES = 8  # of more classes there is one for all of them


class BoxFigures:
    """What an evaluation says besides its metrics.

    Args:
        classes: By number.
        images: Of each the objects (box, label, crowd) and the detections (box, label, score), in
            0..1 of the image.
        evaluation: Of pycocotools, summarized, with the areas of `AREAS`.

    Attributes:
        best: The highest F1 of all classes together at an overlap of 0.5, and the score from which
            boxes count for it; (0, NaN) where nothing counts.
    """

    def __init__(
        self, classes: Sequence[str], images: Sequence[tuple[Any, Any]], evaluation: Any
    ) -> None:
        self._classes = classes
        self._images = images
        self._evaluation = evaluation
        self._known = [
            each
            for each in evaluation.evalImgs
            if each is not None and each["aRng"] == evaluation.params.areaRng[0]
        ]
        self._objects = sum(int(np.equal(each["gtIgnore"], 0).sum()) for each in self._known)
        self._scores, self._right = self._by_falling_score()
        self.best = self._best()

    def _by_falling_score(self) -> tuple[Any, Any]:
        """Scores of all boxes that count, and the right ones up to each; one of equal scores."""
        counted = [np.equal(each["dtIgnore"][0], 0) for each in self._known]
        scores, hits = (
            np.concatenate(
                [np.asarray(values)[kept] for values, kept in zip(of, counted, strict=True)]
            )
            for of in (
                [each["dtScores"] for each in self._known],
                [each["dtMatches"][0] > 0 for each in self._known],
            )
        )
        order = np.argsort(-scores, kind="stable")
        return scores[order], np.cumsum(hits[order])

    @property
    def _f1(self) -> Any:
        return 2 * self._right / (np.arange(len(self._scores)) + 1 + self._objects)

    @property
    def _ends(self) -> Any:
        """Where a score is the last of its value: boxes of one score are taken together."""
        return np.flatnonzero(np.append(self._scores[:-1] != self._scores[1:], True))

    def _best(self) -> tuple[float, float]:
        if not len(self._scores) or not self._objects:
            return 0.0, math.nan
        best = int(max(self._ends, key=self._f1.__getitem__))
        following = self._scores[best + 1] if best + 1 < len(self._scores) else 0.0
        return float(self._f1[best]), float((self._scores[best] + following) / 2)

    def facts(self) -> dict[str, Any]:
        """For the report: "rows" by class, "sizes", "curves", "f1", "best"."""
        stats = [_known_or_none(value) for value in self._evaluation.stats]
        ends = self._ends
        f1, scores = self._f1[ends], self._scores[ends]
        return {
            "rows": self._rows(),
            "sizes": [
                {"name": name, "ap": stats[3 + place], "ar": stats[9 + place]}
                for place, name in enumerate([*AREAS][1:])
            ],
            "curves": self._curves(),
            "f1": [*zip(scores[::-1].tolist(), f1[::-1].tolist(), strict=True)],
            "best": None if math.isnan(self.best[1]) else [*self.best],
        }

    def _precisions(self) -> Any:
        """[overlap, recall, class], of all areas and 100 boxes; -1 without objects."""
        return self._evaluation.eval["precision"][:, :, :, 0, -1]

    def _rows(self) -> list[dict[str, Any]]:
        precisions, recalls = self._precisions(), self._evaluation.eval["recall"][:, :, 0, -1]
        objects = np.zeros(len(self._classes), np.int64)
        for each in self._known:
            objects[each["category_id"] - 1] += int(np.equal(each["gtIgnore"], 0).sum())
        return [
            {
                "name": name,
                "objects": int(objects[number]),
                "ap": _known_or_none(precisions[:, :, number].mean()),
                "ap50": _known_or_none(precisions[0, :, number].mean()),
                "ar": _known_or_none(recalls[:, number].mean()),
            }
            for number, name in enumerate(self._classes)
        ]

    def _curves(self) -> dict[str, list[tuple[float, float]]]:
        """Points (recall, precision) at an overlap of 0.5."""
        at, half = self._evaluation.params.recThrs.tolist(), self._precisions()[0]
        known = half.min(axis=0) >= 0
        lines = {"all classes": half[:, known].mean(axis=1)} if known.any() else {}
        if 1 < len(self._classes) <= _MOST_CURVES:
            lines |= {
                self._classes[place]: half[:, place] for place in np.flatnonzero(known).tolist()
            }
        return {name: [*zip(at, line.tolist(), strict=True)] for name, line in lines.items()}

    def examples(self) -> list[Example]:
        """Images with the most mistakes first, at the score of the best F1."""
        least = self.best[1]
        counts = np.zeros((len(self._images), 3), np.int64)  # objects, boxes, right ones
        for each in self._known:
            kept = np.equal(each["dtIgnore"][0], 0) & (np.asarray(each["dtScores"]) >= least)
            right = (each["dtMatches"][0] > 0) & kept
            objects = np.equal(each["gtIgnore"], 0)
            counts[each["image_id"] - 1] += [objects.sum(), kept.sum(), right.sum()]
        worst = Worst()
        for number, (objects, boxes, right) in enumerate(counts.tolist()):
            wrong = boxes - right
            worst.add(objects - right + wrong, number, objects - right, wrong, objects)
        return [self._example(*each) for each in worst]

    def _example(self, number: int, missed: int, wrong: int, objects: int) -> Example:
        truth, found = self._images[number]
        return Example(
            number=number,
            text=f"{missed} of {objects} missed, {wrong} wrong",
            overlays={
                "true": Overlay(boxes=[self._box(box, label) for box, label, _ in truth]),
                "predicted": Overlay(
                    boxes=[
                        self._box(box, label, f" {score:.2f}")
                        for box, label, score in found
                        if score >= self.best[1]
                    ]
                ),
            },
        )

    def _box(self, box: Any, label: Any, more: str = "") -> dict[str, Any]:
        return {"label": int(label), "text": f"{self._classes[label]}{more}", "box": box.tolist()}


def _known_or_none(value: Any) -> float | None:
    return float(value) if value >= 0 else None  # pycocotools has -1
