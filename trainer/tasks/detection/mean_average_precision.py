"""COCO's mean average precision, by pycocotools, and figures of boxes."""

import contextlib
import io
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tfrecord_dataset import extras
from trainer.errors import ConfigError
from trainer.tasks.detection.suppression import in_image
from trainer.tasks.figures import Accumulator, Arrays, Example, Overlay, Worst

# As shares of the image's area: those that 32² and 96² pixels have of COCO's usual 640 x 480.
_SMALL, _LARGE = 32**2 / (640 * 480), 96**2 / (640 * 480)
AREAS = {
    "all": (0.0, math.inf),
    "small": (0.0, _SMALL),
    "medium": (_SMALL, _LARGE),
    "large": (_LARGE, math.inf),
}
_MOST_DETECTIONS = 100  # of an image
_MOST_CURVES = 8  # of more classes there is one for all of them


class BoxFigures:
    """Figures of an evaluation in addition to its metrics.

    Args:
        classes: By number.
        images: Of each the objects (box, label, crowd) and the detections (box, label, score), in
            0..1 of the image.
        evaluation: Of pycocotools, accumulated, of boxes of all sizes.

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
        self._known = [each for each in evaluation.evalImgs if each is not None]
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
        ends = self._ends
        f1, scores = self._f1[ends], self._scores[ends]
        return {
            "rows": self._rows(),
            "sizes": [*self._sizes()],
            "curves": self._curves(),
            "f1": [*zip(scores[::-1].tolist(), f1[::-1].tolist(), strict=True)],
            "best": None if math.isnan(self.best[1]) else [*self.best],
        }

    def _sizes(self) -> Iterator[dict[str, Any]]:
        """Precision and recall of small, medium and large boxes; they take most of the time."""
        truth, detections = self._evaluation.cocoGt, self._evaluation.cocoDt
        of_sizes = _evaluated(truth, detections, [*AREAS.values()][1:]).eval
        for place, name in enumerate([*AREAS][1:]):
            ap, ar = (_mean(of_sizes[name][..., place, -1]) for name in ("precision", "recall"))
            yield {"name": name, "ap": _known_or_none(ap), "ar": _known_or_none(ar)}

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
        truth, detections = self._images[number]
        return Example(
            number=number,
            text=f"{missed} of {objects} missed, {wrong} wrong",
            overlays={
                "true": Overlay(boxes=[self._box(box, label) for box, label, _ in truth]),
                "predicted": Overlay(
                    boxes=[
                        self._box(box, label, f" {score:.2f}")
                        for box, label, score in detections
                        if score >= self.best[1]
                    ]
                ),
            },
        )

    def _box(self, box: Any, label: Any, more: str = "") -> dict[str, Any]:
        return {"label": int(label), "text": f"{self._classes[label]}{more}", "box": box.tolist()}


def _mean(values: Any) -> float:
    """The mean as pycocotools summarizes values: without those of no object; -1 of none."""
    known = values[values > -1]
    return float(known.mean()) if len(known) else -1.0


def _known_or_none(value: Any) -> float | None:
    return float(value) if value >= 0 else None  # pycocotools has -1


MIN_SCORE = "min_score"
_NAMES = ("mAP", "mAP50", "mAP75", "F1", MIN_SCORE)
_OVERLAPS_OF_NAMES = [0, 5]  # places of 0.5 and 0.75 among pycocotools's


class MeanAveragePrecision(Accumulator):
    """mAP over IoU 0.50:0.05:0.95, mAP50 and mAP75, of boxes with at most 100 detections an image.

    `F1` is the highest that boxes of a score or more reach, of all classes together, where those
    that overlap by half are right; `min_score` is that score.

    Boxes are compared in shares of the image's sides, whose overlaps are those of pixels.

    Raises:
        ConfigError: pycocotools is not installed.
    """

    def __init__(self, classes: Sequence[str]) -> None:
        check_installed()
        self._classes = tuple(classes)
        self._images: list[tuple[list[Any], list[Any]]] = []  # of each: objects, detections
        self._figures: BoxFigures | None = None

    def update(self, target: Any, predictions: Arrays) -> None:
        """Add images: `BoxesTarget`'s `host_step` and `predict` say what they hold."""
        boxes, detected = (
            in_image(np.float32(each["boxes"]), np.float32(target["windows"])).numpy()
            for each in (target, predictions)
        )
        for number, labels in enumerate(target["labels"]):
            is_object = labels >= 0
            objects = zip(
                boxes[number][is_object],
                labels[is_object],
                target["crowd"][number][is_object],
                strict=True,
            )
            is_detection = predictions["labels"][number] >= 0
            found = zip(
                detected[number][is_detection],
                predictions["labels"][number][is_detection],
                predictions["scores"][number][is_detection],
                strict=True,
            )
            self._images.append(([*objects], [*found]))

    def result(self) -> dict[str, float]:
        """NaN if no image has an object."""
        objects: list[dict[str, Any]] = []
        found: list[dict[str, Any]] = []
        for image, (boxes, detections) in enumerate(self._images, start=1):
            for box, label, crowd in boxes:
                number = {"id": len(objects) + 1, "iscrowd": int(crowd)}
                objects.append(number | _coco_box(image, box, label))
            for box, label, score in detections:
                found.append({"score": float(score)} | _coco_box(image, box, label))
        if not objects:
            return dict.fromkeys(_NAMES, math.nan)
        if not found:
            return dict.fromkeys(_NAMES, 0.0) | {MIN_SCORE: math.nan}
        truth = _coco(
            {
                "info": {},
                "images": [{"id": number + 1} for number in range(len(self._images))],
                "annotations": objects,
                "categories": [
                    {"id": number + 1, "name": name} for number, name in enumerate(self._classes)
                ],
            }
        )
        with _silenced():
            detected = truth.loadRes(found)
        evaluation = _evaluated(truth, detected, [AREAS["all"]])
        self._figures = BoxFigures(self._classes, self._images, evaluation)
        precisions = evaluation.eval["precision"]
        means = map(_mean, (precisions, *precisions[_OVERLAPS_OF_NAMES]))
        return dict(zip(_NAMES, [*means, *self._figures.best], strict=True))

    def figures(self) -> dict[str, Any]:
        """`boxes`, as `BoxFigures` has them; none before a box is predicted."""
        return {} if self._figures is None else {"boxes": self._figures.facts()}

    def examples(self) -> list[Example]:
        """Images with the most wrong and missed boxes first."""
        return [] if self._figures is None else self._figures.examples()


def _silenced() -> contextlib.AbstractContextManager[Any]:
    """For calls of pycocotools, which prints what it does."""
    return contextlib.redirect_stdout(io.StringIO())


def _coco(annotations: dict[str, Any]) -> Any:
    """pycocotools's COCO of annotations as its JSON has them."""
    from pycocotools.coco import COCO

    with _silenced():
        truth = COCO()
        truth.dataset = annotations
        truth.createIndex()
    return truth


def _evaluated(truth: Any, detections: Any, areas: Sequence[tuple[float, float]]) -> Any:
    """pycocotools's evaluation of boxes of these areas, at most 100 an image, accumulated."""
    from pycocotools.cocoeval import COCOeval

    with _silenced():
        evaluation = COCOeval(truth, detections, "bbox")
        evaluation.params.areaRng = [[*area] for area in areas]
        evaluation.params.maxDets = [_MOST_DETECTIONS]
        evaluation.evaluate()
        evaluation.accumulate()
    return evaluation


def _coco_box(image: int, box: np.ndarray, label: Any) -> dict[str, Any]:
    xmin, ymin, xmax, ymax = (float(side) for side in box)
    return {
        "image_id": image,
        "category_id": int(label) + 1,
        "bbox": [xmin, ymin, xmax - xmin, ymax - ymin],
        "area": (xmax - xmin) * (ymax - ymin),
    }


def check_installed() -> None:
    """Raise ConfigError unless pycocotools can be imported."""
    try:
        import pycocotools.coco  # noqa: F401
    except ImportError as error:
        raise ConfigError(f"mAP needs pycocotools; {extras.install('detection')}") from error
