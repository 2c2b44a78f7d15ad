"""The detector: a backbone, a feature pyramid, and heads that all levels share."""

import math
from collections.abc import Sequence

import keras

from trainer.tasks import image_models
from trainer.tasks.detection.points import STRIDES
from trainer.tasks.inputs import Image
from trainer.tensors import Tensor

_CHANNELS = 64
_DEPTH = 2
_GROUPS = 8
# Initial probability of each class at each point, as in the paper: almost all points are
# background.
_PRIOR = 0.01


def detector(image: Image, num_classes: int) -> keras.Model:
    """Build the model from images, float32 [b, height, width, channels] in 0..1, to predictions of
    all points, float32 [b, points, num_classes + 5].

    Predictions are in the order of `points.points_of`: a logit for each class, four distances
    (through softplus, in strides: left, top, right, bottom), and the logit of centerness.

    Raises:
        ConfigError: The model does not exist, or the weights are unsuitable.
    """
    x = keras.Input(image.shape, name="image")
    levels = _top_down(image_models.pyramid(image.model, x, STRIDES, image.weights))
    return keras.Model(x, _heads(levels, num_classes), name=image.model.lower())


def _top_down(levels: Sequence[Tensor]) -> list[Tensor]:
    """Build a feature pyramid: each level also gets the features of the coarser ones."""
    merged: list[Tensor] = []
    for level in reversed(levels):
        x = keras.layers.Conv2D(_CHANNELS, 1)(level)
        if merged:
            x = keras.layers.Add()([x, keras.layers.UpSampling2D(2)(merged[-1])])
        merged.append(x)
    return merged[::-1]


def _heads(levels: Sequence[Tensor], num_classes: int) -> Tensor:
    """Predict for all levels with shared layers."""
    for_classes, for_boxes = _tower(), _tower()
    classes = keras.layers.Conv2D(
        num_classes,
        3,
        padding="same",
        bias_initializer=keras.initializers.Constant(-math.log((1 - _PRIOR) / _PRIOR)),
        kernel_initializer=keras.initializers.RandomNormal(stddev=0.01),
        dtype="float32",
    )
    boxes = keras.layers.Conv2D(5, 3, padding="same", dtype="float32")
    predictions = []
    for level in levels:
        of_classes, of_boxes = level, level
        for layer in for_classes:
            of_classes = layer(of_classes)
        for layer in for_boxes:
            of_boxes = layer(of_boxes)
        both = keras.layers.Concatenate(dtype="float32")([classes(of_classes), boxes(of_boxes)])
        predictions.append(keras.layers.Reshape((-1, num_classes + 5), dtype="float32")(both))
    return keras.layers.Concatenate(axis=1, dtype="float32")(predictions)


def _tower() -> list[keras.layers.Layer]:
    layers: list[keras.layers.Layer] = []
    for _ in range(_DEPTH):
        layers += [
            keras.layers.Conv2D(_CHANNELS, 3, padding="same", use_bias=False),
            keras.layers.GroupNormalization(_GROUPS),
            keras.layers.ReLU(),
        ]
    return layers
