"""COCO's mean average precision, by pycocotools."""

import contextlib
import io
import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from trainer.errors import ConfigError
from trainer.tasks.accumulators import Arrays
from trainer.tasks.detection.windows import in_image


class MeanAveragePrecision:
    """mAP over IoU 0.50:0.05:0.95, mAP50 and mAP75, of boxes with at most 100 detections an image.

    Boxes are compared in shares of the image's sides, whose overlaps are those of pixels.

    Raises:
        ConfigError: pycocotools is not installed.
    """

    def __init__(self, classes: Sequence[str]) -> None:
        check_installed()
        self._classes = tuple(classes)
        self._images: list[tuple[list[Any], list[Any]]] = []  # of each: objects, detections

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

    def merge(self, other: Self) -> None:
        """Adds the images of another."""
        self._images += other._images

    def result(self) -> dict[str, float]:
        """NaN if no image has an object."""
        objects: list[dict[str, Any]] = []
        found: list[dict[str, Any]] = []
        for image, (boxes, detections) in enumerate(self._images, start=1):
            for box, label, crowd in boxes:
                objects.append(
                    {
                        "id": len(objects) + 1,
                        "image_id": image,
                        "category_id": int(label) + 1,
                        "iscrowd": int(crowd),
                        **_coco_box(box),
                    }
                )
            for box, label, score in detections:
                found.append(
                    {
                        "image_id": image,
                        "category_id": int(label) + 1,
                        "score": float(score),
                        **_coco_box(box),
                    }
                )
        if not objects:
            return dict.fromkeys(("mAP", "mAP50", "mAP75"), math.nan)
        return average_precision(
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


def average_precision(annotations: dict[str, Any], found: list[dict[str, Any]]) -> dict[str, float]:
    """`mAP`, `mAP50` and `mAP75`, from COCO's annotations and its results as JSON has them."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    if not found:
        return dict.fromkeys(("mAP", "mAP50", "mAP75"), 0.0)
    with contextlib.redirect_stdout(io.StringIO()):  # it prints what it does
        truth = COCO()
        truth.dataset = annotations
        truth.createIndex()
        evaluation = COCOeval(truth, truth.loadRes(found), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    names = ("mAP", "mAP50", "mAP75")
    return {name: float(value) for name, value in zip(names, evaluation.stats, strict=False)}


def _coco_box(box: np.ndarray) -> dict[str, Any]:
    xmin, ymin, xmax, ymax = (float(side) for side in box)
    return {
        "bbox": [xmin, ymin, xmax - xmin, ymax - ymin],
        "area": (xmax - xmin) * (ymax - ymin),
    }


def check_installed() -> None:
    """Raises ConfigError unless pycocotools can be imported."""
    try:
        import pycocotools.coco  # noqa: F401
    except ImportError as error:
        raise ConfigError(
            "mAP needs pycocotools; pip install 'beam-tfrecords[detection]'"
        ) from error
