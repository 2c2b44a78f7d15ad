"""A map as the target: a class for each pixel of the image."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import keras
import tensorflow as tf

from tfrecord_dataset.format.feature import Feature
from trainer.errors import ConfigError
from trainer.parsing import Tensors
from trainer.tasks.inputs import Input
from trainer.tasks.inputs.base import not_compared
from trainer.tasks.inputs.image import only_image
from trainer.tasks.segmentation import STRIDES, segmentation_loss, segmenter
from trainer.tasks.targets.target import PlacesTarget, of_classes

_IGNORED = 255


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MapTarget(PlacesTarget):
    """The class of every pixel; models return logits at the size of their input."""

    kind: ClassVar[str] = "map"
    learns: ClassVar[str] = "segmentation"
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

    def model(self, inputs: Mapping[str, Input], name: str) -> keras.Model:
        return segmenter(only_image([*inputs.values()], self.learns), len(self.classes))

    def predict(self, outputs: Any) -> dict[str, Any]:
        return {"prediction": tf.cast(tf.argmax(outputs, axis=-1), tf.uint8)}

    def export(self, outputs: Any, windows: Any = None) -> dict[str, Any]:
        probabilities = tf.nn.softmax(outputs)
        shape = [tf.shape(outputs)[0], len(self.classes)]
        names = tf.broadcast_to(tf.constant(self.classes), shape)
        return {**self.decode(outputs), "probabilities": probabilities, "classes": names}
