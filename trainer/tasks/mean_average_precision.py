"""COCO's mean average precision, from pycocotools, and figures of boxes."""

import contextlib
import io
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tfrecord_dataset import extras
from trainer.errors import ConfigError
from trainer.tasks.detection import in_image
from trainer.tasks.figures import Accumulator, Arrays, Example, Overlay, Worst, middle

# As shares of the image's area: 32² and 96² pixels of COCO's usual 640 x 480.
_SMALL, _LARGE = 32**2 / (640 * 480), 96**2 / (640 * 480)
_SIZES = {"small": (0.0, _SMALL), "medium": (_SMALL, _LARGE), "large": (_LARGE, math.inf)}
_MOST_DETECTIONS = 100  # per image
_MOST_CURVES = 8  # with more classes, one curve covers all
MIN_SCORE = "min_score"
_DRAWS = 200  # of images, in a bootstrap
_NAMES = ("mAP", "mAP50", "mAP75", "F1", MIN_SCORE)
_OVERLAPS_OF_NAMES = [0, 5]  # indices of IoU 0.5 and 0.75 in pycocotools


class MeanAveragePrecision(Accumulator):
    """mAP over IoU 0.50:0.05:0.95, mAP50 and mAP75, of at most 100 boxes per image.

    `F1` is the highest over score thresholds, for all classes together, with boxes counted as
    right from an IoU of 0.5; `min_score` is the best threshold.

    Boxes are relative to the image's sides, which gives the same overlaps as pixels.

    Raises:
        ConfigError: pycocotools is not installed.
    """

    def __init__(self, classes: Sequence[str]) -> None:
        try:
            import pycocotools.coco  # noqa: F401
        except ImportError as error:
            raise ConfigError(f"mAP needs pycocotools; {extras.install('detection')}") from error
        self._classes = tuple(classes)
        # Objects (box, label, crowd) and detections (box, label, score) by image.
        self._images: list[tuple[list[Any], list[Any]]] = []
        # For boxes of all sizes; None without objects or detections.
        self._evaluation: Any = None
        self._evaluated_images: list[Any] = []  # its results by image and class
        self._scores, self._f1 = np.zeros((2, 0))  # descending thresholds; their F1
        self._best = (0.0, math.nan)  # highest F1, and its threshold

    def update(self, target: Any, predictions: Arrays) -> None:
        boxes, detected = (
            in_image(np.float32(each["boxes"]), np.float32(target["windows"])).numpy()
            for each in (target, predictions)
        )
        objects = (boxes, target["labels"], target["crowd"])
        detections = (detected, predictions["labels"], predictions["scores"])
        for number in range(len(boxes)):
            true, found = (
                [*zip(*(each[number][columns[1][number] >= 0] for each in columns), strict=True)]
                for columns in (objects, detections)
            )
            self._images.append((true, found))

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
        truth = _coco(objects, len(self._images), self._classes)
        with _silenced():
            detected = truth.loadRes(found)
        self._evaluation = _evaluated(truth, detected, [(0.0, math.inf)])
        self._evaluated_images = [each for each in self._evaluation.evalImgs if each is not None]
        self._find_best()
        precisions = self._evaluation.eval["precision"]
        means = map(_mean, (precisions, *precisions[_OVERLAPS_OF_NAMES]))
        return dict(zip(_NAMES, [*means, *self._best], strict=True))

    def _find_best(self) -> None:
        """Compute F1 by threshold; the best threshold is halfway to the next lower score."""
        images = self._evaluated_images
        num_objects = sum(map(_num_objects, images))
        counted = [np.equal(each["dtIgnore"][0], 0) for each in images]
        pairs = [*zip(images, counted, strict=True)]
        scores = np.concatenate([np.asarray(each["dtScores"])[kept] for each, kept in pairs])
        hits = np.concatenate([(each["dtMatches"][0] > 0)[kept] for each, kept in pairs])
        order = np.argsort(-scores, kind="stable")
        scores, right = scores[order], np.cumsum(hits[order])
        f1 = 2 * right / (np.arange(len(scores)) + 1 + num_objects)
        # Boxes with equal scores enter together: keep the last of each.
        ends = np.flatnonzero(np.append(scores[:-1] != scores[1:], True)[: len(scores)])
        self._scores, self._f1 = scores[ends], f1[ends]
        if len(ends) and num_objects:
            best = int(np.argmax(self._f1))
            score, following = np.append(self._scores, 0.0)[best : best + 2]
            self._best = float(self._f1[best]), float((score + following) / 2)

    def intervals(self) -> dict[str, tuple[float, float]]:
        """Return that of mAP50, by a bootstrap of the images; none without boxes."""
        if self._evaluation is None:
            return {}
        labels = sorted({each["category_id"] for each in self._evaluated_images})
        random, count = np.random.default_rng(0), len(self._images)
        drawn = (
            np.bincount(random.integers(0, count, count), minlength=count) for _ in range(_DRAWS)
        )
        precisions = [[self._precision(label, times) for label in labels] for times in drawn]
        return {"mAP50": middle(np.nanmean(precisions, axis=1))}

    def _precision(self, label: int, times: Any) -> float:
        """Return the average precision of a class at an IoU of 0.5, if images occur many times.

        It is the area under the curve, which COCO samples at 101 points; NaN without objects.
        """
        images = [each for each in self._evaluated_images if each["category_id"] == label]
        weights = [times[each["image_id"] - 1] for each in images]
        num_objects = np.dot(weights, [*map(_num_objects, images)])
        counted = [np.equal(each["dtIgnore"][0], 0) for each in images]
        scores = np.concatenate([each["dtScores"] for each in images])
        order = np.argsort(-scores, kind="stable")
        each_weight = np.concatenate(
            [weight * kept for weight, kept in zip(weights, counted, strict=True)]
        )[order]
        hits = np.concatenate([each["dtMatches"][0] > 0 for each in images])[order] * each_weight
        precision = np.cumsum(hits) / np.maximum(np.cumsum(each_weight), 1)
        highest = np.maximum.accumulate(precision[::-1])[::-1]
        return float(np.dot(highest, hits) / num_objects) if num_objects else math.nan

    def figures(self) -> dict[str, Any]:
        """`boxes`: "rows" by class, "sizes", "curves", "f1", "best"; none without boxes."""
        if self._evaluation is None:
            return {}
        facts = {
            "rows": self._rows(),
            "sizes": [*self._sizes()],
            "curves": self._curves(),
            "f1": [*zip(self._scores[::-1].tolist(), self._f1[::-1].tolist(), strict=True)],
            "best": None if math.isnan(self._best[1]) else [*self._best],
        }
        return {"boxes": facts}

    def _sizes(self) -> Iterator[dict[str, Any]]:
        """Yield precision and recall of small, medium and large boxes; takes most of the time."""
        truth, detections = self._evaluation.cocoGt, self._evaluation.cocoDt
        of_sizes = _evaluated(truth, detections, [*_SIZES.values()]).eval
        for place, name in enumerate(_SIZES):
            ap, ar = (_mean(of_sizes[name][..., place, -1]) for name in ("precision", "recall"))
            yield {"name": name, "ap": _known_or_none(ap), "ar": _known_or_none(ar)}

    def _rows(self) -> list[dict[str, Any]]:
        # [overlap, recall, class] and [overlap, class], for 100 boxes; -1 without objects.
        precisions, recalls = (self._evaluation.eval[each] for each in ("precision", "recall"))
        precisions, recalls = precisions[:, :, :, 0, -1], recalls[:, :, 0, -1]
        objects = np.zeros(len(self._classes), np.int64)
        for each in self._evaluated_images:
            objects[each["category_id"] - 1] += _num_objects(each)
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
        """Return points (recall, precision) at an IoU of 0.5, by class."""
        at = self._evaluation.params.recThrs.tolist()
        half = self._evaluation.eval["precision"][0, :, :, 0, -1]
        known = half.min(axis=0) >= 0
        lines = {"all classes": half[:, known].mean(axis=1)} if known.any() else {}
        if 1 < len(self._classes) <= _MOST_CURVES:
            lines |= {
                self._classes[place]: half[:, place] for place in np.flatnonzero(known).tolist()
            }
        return {name: [*zip(at, line.tolist(), strict=True)] for name, line in lines.items()}

    def examples(self) -> list[Example]:
        """Return images, most wrong and missed boxes first, at the threshold of the best F1."""
        if self._evaluation is None:
            return []
        _, least = self._best
        counts = np.zeros((len(self._images), 3), np.int64)  # objects, boxes, right ones
        for each in self._evaluated_images:
            kept = np.equal(each["dtIgnore"][0], 0) & (np.asarray(each["dtScores"]) >= least)
            right = (each["dtMatches"][0] > 0) & kept
            counts[each["image_id"] - 1] += [_num_objects(each), kept.sum(), right.sum()]
        worst = Worst()
        for number, (objects, boxes, right) in enumerate(counts.tolist()):
            wrong = boxes - right
            text = f"{objects - right} of {objects} missed, {wrong} wrong"
            worst.add(objects - right + wrong, number, text)
        return [
            Example(number=number, text=text, overlays=self._overlays(number))
            for number, text in worst
        ]

    def _overlays(self, number: int) -> dict[str, Overlay]:
        (objects, detections), (_, least) = self._images[number], self._best
        true = [self._box(box, label) for box, label, _ in objects]
        found = [
            self._box(box, label, f" {score:.2f}")
            for box, label, score in detections
            if score >= least
        ]
        return {"true": Overlay(boxes=true), "predicted": Overlay(boxes=found)}

    def _box(self, box: Any, label: Any, more: str = "") -> dict[str, Any]:
        return {"label": int(label), "text": f"{self._classes[label]}{more}", "box": box.tolist()}


def _num_objects(evaluated: Any) -> int:
    return int(np.equal(evaluated["gtIgnore"], 0).sum())


def _mean(values: Any) -> float:
    """Return pycocotools's mean: ignores -1, for no objects; -1 if nothing else is left."""
    known = values[values > -1]
    return float(known.mean()) if len(known) else -1.0


def _known_or_none(value: Any) -> float | None:
    return float(value) if value >= 0 else None  # pycocotools has -1


def _silenced() -> contextlib.AbstractContextManager[Any]:
    """Suppress the output of pycocotools, which prints its progress."""
    return contextlib.redirect_stdout(io.StringIO())


def _coco(objects: Sequence[dict[str, Any]], num_images: int, classes: Sequence[str]) -> Any:
    from pycocotools.coco import COCO

    with _silenced():
        truth = COCO()
        truth.dataset = {
            "info": {},
            "images": [{"id": number + 1} for number in range(num_images)],
            "annotations": objects,
            "categories": [{"id": number, "name": name} for number, name in enumerate(classes, 1)],
        }
        truth.createIndex()
    return truth


def _evaluated(truth: Any, detections: Any, areas: Sequence[tuple[float, float]]) -> Any:
    """Evaluate boxes of these areas with pycocotools, at most 100 per image."""
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
