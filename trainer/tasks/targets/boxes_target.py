"""Boxes with classes as the target, any number per image."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import tensorflow as tf

from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.image_size import ImageSize
from trainer.options.train_options import TrainConfig
from trainer.parsing import Tensors
from trainer.task_kinds import DETECTION
from trainer.tasks.baselines import Baseline, MedianBoxes
from trainer.tasks.detection import (
    STRIDES,
    Points,
    assigned_to,
    batch_totals,
    candidates,
    detection_loss,
    detections,
    in_image,
    points_of,
)
from trainer.tasks.drawing import with_boxes
from trainer.tasks.figures import Accumulator, Arrays, Overlay
from trainer.tasks.inputs import Input
from trainer.tasks.inputs.base import not_compared
from trainer.tasks.inputs.image import only_image, size_for_boxes, size_of
from trainer.tasks.mean_average_precision import MIN_SCORE, MeanAveragePrecision
from trainer.tasks.targets.target import Document, PlacesTarget, Row, of_classes
from trainer.tensors import Tensor, finite

# Steps of the plan by the longest side of the model's input: large objects need small inputs, whose
# steps are short, and more of them, since each has few points.
_STEPS, _STEPS_OF_SMALL, _SMALL_SIDE = 500, 800, 192
_WHOLE = (0.0, 0.0, 1.0, 1.0)


def coco_results(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Convert to COCO results (https://cocodataset.org/#format-results), label_map.pbtxt's ids."""
    return [
        {
            "image_id": row["image_id"],
            "category_id": each["label"] + 1,
            "bbox": [xmin, ymin, xmax - xmin, ymax - ymin],
            "score": each["score"],
        }
        for row in rows
        for each in row["detections"]
        for xmin, ymin, xmax, ymax in [each["box"]]
    ]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BoxesTarget(PlacesTarget):
    """The boxes of an image; models return predictions for all points of `detection.points`.

    Attributes:
        classes: Classes of the schema; a single class if boxes have none.
        labels: Parsed column with the classes; empty if boxes have none.
        crowd: Column that marks boxes around many objects, as in COCO, or empty. They are not
            learned, and detections in them are not counted as wrong.
        window: Column with the part of the image that the model sees; empty for all of it.
        most: Number of boxes to which records are padded or cut; None for the batch's maximum.
    """

    kind: ClassVar[str] = "boxes"
    learns: ClassVar[str] = DETECTION
    step: ClassVar[int] = STRIDES[-1]
    best_by: ClassVar[str] = "mAP"
    learning_rate: ClassVar[float] = 2e-3
    varies: ClassVar[bool] = True
    least_score: ClassVar[str | None] = MIN_SCORE
    keeps_aspect: ClassVar[bool] = True
    documents: ClassVar[Mapping[str, Document]] = MappingProxyType({"coco": coco_results})
    validation_of_few: ClassVar[float] = 0.2  # a tenth of the images cannot rank models

    name: str
    classes: tuple[str, ...] = not_compared(("object",))
    labels: str = ""
    crowd: str = not_compared("")
    height: int = not_compared(0)
    width: int = not_compared(0)
    window: str = not_compared("")
    most: int | None = not_compared(None)

    @classmethod
    def suits(cls, feature: Feature) -> bool:
        return feature.kind == "boxes"

    @classmethod
    def from_feature(cls, feature: Feature) -> Self:
        prefix = "box" if feature.name == "boxes" else feature.name
        return cls(
            name=feature.name,
            classes=feature.classes or ("object",),
            labels=f"{prefix}_labels" if feature.classes else "",
            crowd=f"{prefix}_is_crowd" if "is_crowd" in feature.attributes else "",
        )

    @property
    def num_steps(self) -> int:
        return _STEPS if max(self.height, self.width) > _SMALL_SIDE else _STEPS_OF_SMALL

    def image_size(self, stated: ImageSize | None, values: Callable[[], Any]) -> ImageSize | None:
        boxes = values().reshape(-1, 4)
        boxes = boxes[boxes[:, 0] >= 0]  # padding is -1
        sides = np.sqrt(np.prod(boxes[:, 2:] - boxes[:, :2], axis=1))
        return size_for_boxes(stated, sides, self.step)

    @property
    def pad_to(self) -> int | None:
        return self.most

    def with_inputs(self, inputs: Sequence[Input], options: TrainConfig) -> Self:
        sized = PlacesTarget.with_inputs(self, inputs, options)
        window = only_image(inputs, self.learns).window
        return dataclasses.replace(sized, window=window, most=options.pad.get(self.name))

    @property
    def points(self) -> Points:
        """Points at which the model predicts boxes."""
        return points_of(ImageSize(self.height, self.width))

    @property
    def output_shape(self) -> tuple[int, ...]:
        return (len(self.points), len(self.classes) + 5)

    def host_step(self) -> Callable[[Tensors], Any]:
        """Convert to `boxes` float32 [b, n, 4] in 0..1 of the model's view; `labels` int64 [b, n],
        -1 for padding; `crowd` bool [b, n]; `records` float32 [b], 0 for padding of the batch,
        else 1; `windows` float32 [b, 4], the model's view in 0..1 of the image.
        """

        def step(columns: Tensors) -> dict[str, Tensor]:
            boxes = finite(self.name, columns[self.name])
            is_box = tf.reduce_max(boxes, axis=-1) >= 0  # padding is -1
            if self.labels:
                labels = columns[self.labels]
                is_wrong = (labels >= len(self.classes)) | (is_box & (labels < 0))
                labels = of_classes(self.labels, labels, is_wrong, self.classes, labels)
            else:
                labels = tf.where(is_box, tf.constant(0, tf.int64), -1)
            crowd = columns[self.crowd] > 0 if self.crowd else tf.zeros_like(labels, tf.bool)
            records = tf.ones(tf.shape(labels)[:1])
            return {
                "boxes": boxes,
                "labels": labels,
                "crowd": crowd,
                "records": records,
                "windows": columns[self.window] if self.window else records[:, None] * _WHOLE,
            }

        return step

    def with_totals(self, target: Any) -> Any:
        assigned = assigned_to(self.points, target)
        totals = batch_totals(assigned, target["records"])
        by_record = tf.broadcast_to(totals, [tf.shape(target["records"])[0], 3])
        return {**target, "assigned": assigned, "totals": by_record}

    def loss(self, target: Any, outputs: Any) -> Any:
        return detection_loss(self.points, target, outputs)

    def predict(self, outputs: Any) -> dict[str, Tensor]:
        return detections(self.points, outputs)

    def decode(self, outputs: Any, windows: Any = None) -> dict[str, Tensor]:
        predicted = self.predict(outputs)
        if windows is not None:
            predicted["boxes"] = in_image(predicted["boxes"], windows)
        names = tf.gather(tf.constant(self.classes), tf.maximum(predicted["labels"], 0))
        return {**predicted, "classes": tf.where(predicted["labels"] >= 0, names, "")}

    def export_numbers(self, outputs: Any) -> dict[str, Tensor]:
        """Return `candidates`, before suppression, which other runtimes do not support."""
        boxes, scores = candidates(self.points, outputs)
        return {"boxes": boxes, "scores": scores}

    @property
    def columns(self) -> tuple[str, ...]:
        return ("class", "score", "xmin", "ymin", "xmax", "ymax")

    def row(self, decoded: Arrays, image: bytes | None, least: float) -> Row:
        assert image is not None
        size = size_of(image)
        is_shown = (decoded["labels"] >= 0) & (decoded["scores"] >= least)
        columns = [decoded[name][is_shown] for name in ("boxes", "labels", "scores", "classes")]
        scale = [size.width, size.height, size.width, size.height]
        detected = [
            {
                "class": name.decode(),
                "label": int(label),
                "score": float(score),
                "box": (box * scale).tolist(),  # xmin, ymin, xmax, ymax in pixels
            }
            for box, label, score, name in zip(*columns, strict=True)
        ]
        return {"width": size.width, "height": size.height, "detections": detected}

    def draw(self, row: Row, decoded: Arrays, image: Any) -> Any:
        detections = row["detections"]  # the most probable first
        texts = [f"{each['class']} {each['score']:.2f}" for each in detections]
        boxes = [{**each, "text": text} for each, text in zip(detections, texts, strict=True)]
        return with_boxes(image, boxes)

    def lines(self, row: Row) -> list[list[Any]]:
        return [[each["class"], each["score"], *each["box"]] for each in row["detections"]]

    def shown(self, target: Any) -> tuple[str, Overlay]:
        boxes = [
            {"label": label, "text": self.classes[label], "box": box}
            for box, label in zip(target["boxes"].tolist(), target["labels"].tolist(), strict=True)
            if label >= 0
        ]
        return f"boxes: {len(boxes)}", Overlay(boxes=boxes)

    def accumulators(self) -> list[Accumulator]:
        return [MeanAveragePrecision(self.classes)]

    def baseline(self) -> Baseline:
        return MedianBoxes(self.classes)
