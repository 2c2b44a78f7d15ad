"""COCO's mean average precision, by pycocotools."""

import contextlib
import io
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfrecord_dataset import extras
from trainer.errors import ConfigError
from trainer.tasks.detection.figures import AREAS, BoxFigures
from trainer.tasks.detection.suppression import in_image
from trainer.tasks.figures import Accumulator, Arrays, Example

MIN_SCORE = "min_score"
_NAMES = ("mAP", "mAP50", "mAP75", "F1", MIN_SCORE)


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
        """Adds images: `BoxesTarget`'s `host_step` and `predict` say what they hold."""
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
        evaluation = _evaluation(
            {
                "info": {},
                "images": [{"id": number + 1} for number in range(len(self._images))],
                "annotations": objects,
                "categories": [
                    {"id": number + 1, "name": name} for number, name in enumerate(self._classes)
                ],
            },
            found,
        )
        self._figures = BoxFigures(self._classes, self._images, evaluation)
        f1, least = self._figures.best
        values = (*evaluation.stats[:3], f1, least)
        return {name: float(value) for name, value in zip(_NAMES, values, strict=True)}

    def figures(self) -> dict[str, Any]:
        """`boxes`, as `BoxFigures` has them; none before a box is predicted."""
        return {} if self._figures is None else {"boxes": self._figures.facts()}

    def examples(self) -> list[Example]:
        """Images with the most wrong and missed boxes first."""
        return [] if self._figures is None else self._figures.examples()


def _evaluation(annotations: dict[str, Any], found: list[dict[str, Any]]) -> Any:
    """What pycocotools counts, from COCO's annotations and its results as JSON has them."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    with contextlib.redirect_stdout(io.StringIO()):  # it prints what it does
        truth = COCO()
        truth.dataset = annotations
        truth.createIndex()
        evaluation = COCOeval(truth, truth.loadRes(found), "bbox")
        evaluation.params.areaRng = [[*each] for each in AREAS.values()]
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
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
    """Raises ConfigError unless pycocotools can be imported."""
    try:
        import pycocotools.coco  # noqa: F401
    except ImportError as error:
        raise ConfigError(f"mAP needs pycocotools; {extras.install('detection')}") from error
