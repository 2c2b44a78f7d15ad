"""A map as the target, a class for each pixel, with its loss and metrics."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import tensorflow as tf

from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.image_size import ImageSize
from trainer.errors import ConfigError
from trainer.parsing import Tensors
from trainer.task_kinds import SEGMENTATION
from trainer.tasks.baselines import Baseline, MostFrequent
from trainer.tasks.drawing import css_color, in_colors, resized, with_map
from trainer.tasks.figures import Accumulator, Arrays, Example, Overlay, Worst, share
from trainer.tasks.inputs.base import not_compared
from trainer.tasks.inputs.image import size_of
from trainer.tasks.targets.target import PlacesTarget, Row, by_class, of_classes
from trainer.tensors import Tensor

_IGNORED = 255
STRIDES = (4, 8, 16, 32)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MapTarget(PlacesTarget):
    """The class of every pixel; models return logits at the size of their input."""

    kind: ClassVar[str] = "map"
    learns: ClassVar[str] = SEGMENTATION
    step: ClassVar[int] = STRIDES[-1]
    best_by: ClassVar[str] = "mIoU"
    makes_maps: ClassVar[bool] = True
    excludes_classes: ClassVar[bool] = True

    name: str
    classes: tuple[str, ...] = not_compared()
    height: int = not_compared(0)
    width: int = not_compared(0)

    @classmethod
    def suits(cls, feature: Feature) -> bool:
        return (feature.kind, feature.dtype) == ("map", "uint8")  # others are depths

    @classmethod
    def from_feature(cls, feature: Feature) -> Self:
        if not feature.classes:
            raise ConfigError(
                f"the map {feature.name!r} has no class names, which segmentation needs; declare "
                'them by --schema, such as {"classes": ["background", "cell"]}'
            )
        return cls(name=feature.name, classes=feature.classes)

    @property
    def output_shape(self) -> tuple[int, ...]:
        return (self.height, self.width, len(self.classes))

    def host_step(self) -> Callable[[Tensors], Any]:
        """Convert to class numbers, uint8 [b, height, width]; 255 is ignored."""

        def check(columns: Tensors) -> Any:
            numbers = tf.squeeze(columns[self.name], axis=-1)
            is_wrong = (numbers >= len(self.classes)) & (numbers < _IGNORED)
            return of_classes(self.name, numbers, is_wrong, self.classes, numbers)

        return check

    def weighted(self, target: Any, weights: Any, class_weights: Any) -> tuple[Any, Any]:
        """Add a weight to each pixel: float32 [b, height, width, 2]; keep record weights."""
        numbers = tf.cast(target, tf.int32)
        of_classes = tf.concat([class_weights, [0.0]], axis=0)
        by_pixel = tf.gather(of_classes, tf.minimum(numbers, len(self.classes)))
        return tf.stack([tf.cast(target, tf.float32), by_pixel], axis=-1), weights

    def loss(self, target: Any, outputs: Any) -> Any:
        """Cross entropy plus the Dice loss, averaged over each image's labelled pixels.

        The target is from `host_step` or `weighted`.
        """
        labels, weights = tf.unstack(target, axis=-1) if len(target.shape) == 4 else (target, None)
        return segmentation_loss(labels, outputs, weights)

    def predict(self, outputs: Any) -> dict[str, Any]:
        return {"prediction": tf.cast(tf.argmax(outputs, axis=-1), tf.uint8)}

    def export(self, outputs: Any, windows: Any = None) -> dict[str, Any]:
        probabilities = tf.nn.softmax(outputs)
        shape = [tf.shape(outputs)[0], len(self.classes)]
        names = tf.broadcast_to(tf.constant(self.classes), shape)
        return {**self.decode(outputs), "probabilities": probabilities, "classes": names}

    @property
    def columns(self) -> tuple[str, ...]:
        return ("class", "pixels")

    def row(self, decoded: Arrays, image: bytes | None, least: float) -> Row:
        assert image is not None
        size = size_of(image)
        numbers = decoded["prediction"]
        shares = np.bincount(numbers.ravel(), minlength=len(self.classes)) / numbers.size
        pixels = {name: each for name, each in by_class(self.classes, shares).items() if each > 0}
        return {"width": size.width, "height": size.height, "pixels": pixels}

    def draw(self, row: Row, decoded: Arrays, image: Any) -> Any:
        return with_map(image, decoded["prediction"], self.classes)

    def map_of(self, row: Row, decoded: Arrays) -> Any:
        return in_colors(resized(decoded["prediction"], ImageSize(row["height"], row["width"])))

    def lines(self, row: Row) -> list[list[Any]]:
        return [[name, share] for name, share in row["pixels"].items()]

    def shown(self, target: Any) -> tuple[str, Overlay]:
        numbers = target[..., 0] if target.ndim == 3 else target  # the rest are weights
        numbers = numbers.astype(np.uint8)
        known = np.unique(numbers[numbers < len(self.classes)])
        return ", ".join(self.classes[each] for each in known), Overlay(
            classes=numbers, names=self.classes
        )

    def accumulators(self) -> list[Accumulator]:
        return [PixelConfusion(self.classes)]

    def baseline(self) -> Baseline:
        return MostFrequent("mIoU", self.classes)


def segmentation_loss(labels: Tensor, outputs: Tensor, weights: Tensor | None = None) -> Tensor:
    """Cross entropy plus the Dice loss of each image, float32 [b]: 0 without labelled pixels.

    `labels` [b, height, width] beyond the classes are ignored; `outputs` are logits. `weights`
    weight the pixels in the cross entropy, float32 [b, height, width]; None for 1.
    """
    labels = tf.cast(labels, tf.int32)
    num_classes = outputs.shape[-1]
    is_labelled = labels < num_classes
    share = tf.cast(is_labelled, tf.float32)
    share /= tf.maximum(tf.reduce_sum(share, axis=[1, 2], keepdims=True), 1.0)
    known = tf.where(is_labelled, labels, 0)
    cross = tf.nn.sparse_softmax_cross_entropy_with_logits(known, outputs)
    weighted = share if weights is None else share * weights
    dice = _dice_loss(tf.one_hot(known, num_classes), tf.nn.softmax(outputs), share)
    return tf.reduce_sum(cross * weighted, axis=[1, 2]) + dice


def _dice_loss(wanted: Tensor, predicted: Tensor, share: Tensor) -> Tensor:
    """1 - the mean Dice coefficient of the classes in each image: https://arxiv.org/abs/1606.04797.

    Takes one-hot classes and probabilities, float32 [b, height, width, classes], and each pixel's
    share, float32 [b, height, width]: 0 for ignored pixels.
    """
    of_pixels = share[..., None]
    both = tf.reduce_sum(wanted * predicted * of_pixels, axis=[1, 2])  # [b, classes]
    wanted_area = tf.reduce_sum(wanted * of_pixels, axis=[1, 2])
    predicted_area = tf.reduce_sum(predicted * of_pixels, axis=[1, 2])
    occurs = tf.cast(wanted_area > 0, tf.float32)
    missed = occurs * (1.0 - tf.math.divide_no_nan(2.0 * both, wanted_area + predicted_area))
    return tf.math.divide_no_nan(tf.reduce_sum(missed, axis=-1), tf.reduce_sum(occurs, axis=-1))


class PixelConfusion(Accumulator):
    """mIoU, the IoU of each class, and pixel accuracy, from counts by true and predicted class.

    Pixels are those of the model's input, except ignored ones.
    """

    def __init__(self, classes: Sequence[str]) -> None:
        self._classes = tuple(classes)
        self._counts = np.zeros((len(classes), len(classes)), np.int64)  # [class, predicted class]
        self._worst = Worst(8)

    def update(self, target: Any, predictions: Arrays) -> None:
        """Add `prediction` for a target [b, height, width], ignoring numbers beyond the classes."""
        size, predicted = len(self._classes), predictions["prediction"]
        is_labelled = target < size
        pairs = target[is_labelled].astype(np.int64) * size + predicted[is_labelled]
        self._counts += np.bincount(pairs, minlength=size * size).reshape(size, size)
        is_wrong = is_labelled & (target != predicted)
        for place, wrong in enumerate(is_wrong.sum(axis=(1, 2)).tolist()):
            badness = wrong / max(1, int(is_labelled[place].sum()))
            if self._worst.takes(badness):
                maps = (target[place].copy(), predicted[place].copy())
                self._worst.add(badness, self.seen + place, badness, *maps)
        self.seen += len(target)

    def result(self) -> dict[str, float]:
        """Return `mIoU`, the mean over the classes that occur in maps or predictions;
        `pixel_accuracy`; and `IoU/<class>` of each class, NaN if it does not occur.
        """
        right = np.diag(self._counts)
        union = self._counts.sum(axis=0) + self._counts.sum(axis=1) - right
        with np.errstate(invalid="ignore"):
            by_class = right / union
            accuracy = right.sum() / self._counts.sum()
        known = by_class[union > 0]
        ious = zip(self._classes, by_class.tolist(), strict=True)
        return {
            "mIoU": float(known.mean()) if len(known) else float("nan"),
            "pixel_accuracy": float(accuracy),
            **{f"IoU/{name}": iou for name, iou in ious},
        }

    def figures(self) -> dict[str, Any]:
        """Return `maps`: color, pixels and shares by class; shares of nothing are None."""
        right = np.diag(self._counts)
        true, predicted = self._counts.sum(axis=1), self._counts.sum(axis=0)
        columns = {"iou": true + predicted - right, "precision": predicted, "recall": true}
        rows = [
            {"name": name, "pixels": int(true[number]), "color": css_color(self._classes, number)}
            | {column: share(right[number], whole[number]) for column, whole in columns.items()}
            for number, name in enumerate(self._classes)
        ]
        return {"maps": rows}

    def examples(self) -> list[Example]:
        """Return records with the most wrong pixels first."""
        return [
            Example(
                number=number,
                text=f"{wrong:.1%} of the pixels are wrong",
                overlays={
                    title: Overlay(classes=classes, names=self._classes)
                    for title, classes in (("true", true), ("predicted", predicted))
                },
            )
            for number, wrong, true, predicted in self._worst
        ]
