"""The segmenter: a backbone, whose feature maps a decoder joins from the coarsest to the finest."""

import keras

from tfrecord_dataset.image_size import ImageSize
from trainer.tasks import image_models
from trainer.tensors import Tensor

STRIDES = (4, 8, 16, 32)
_WIDTH = 64
# At half the image's size, where most of the time is spent; few backbones have such a map.
_FINE_WIDTH = 32


def segmenter(
    name: str, size: ImageSize, channels: int, num_classes: int, weights: str | None = None
) -> keras.Model:
    """The model from images to the logits of all pixels.

    It takes float32 [b, height, width, channels] in 0..1, and returns float32
    [b, height, width, num_classes].

    Args:
        name: "small", or a model of `keras.applications`.
        size: Of images: multiples of the largest stride.
        channels: Of the images.
        num_classes: Of the pixels.
        weights: A file of weights for a `keras.applications` model without its head, or None.

    Raises:
        ConfigError: No such model, or unsuitable weights.
    """
    image = keras.Input((*size, channels), name="image")
    finest = image_models.convolution(
        keras.layers.Rescaling(2.0, offset=-1.0)(image), _FINE_WIDTH, strides=2
    )
    *levels, x = image_models.pyramid(name, image, STRIDES, weights)
    x = image_models.convolution(x, _WIDTH)
    for level in reversed(levels):
        beside = keras.layers.Conv2D(_WIDTH, 1)(level)
        x = image_models.convolution(keras.layers.Add()([_twice(x), beside]), _WIDTH)
    x = image_models.convolution(keras.layers.Concatenate()([_twice(x), finest]), _FINE_WIDTH)
    logits = keras.layers.Conv2D(num_classes, 1, dtype="float32")(x)
    smooth = keras.layers.UpSampling2D(2, interpolation="bilinear", dtype="float32")(logits)
    return keras.Model(image, smooth, name=name.lower())


def _twice(x: Tensor) -> Tensor:
    """Twice as high and wide."""
    return keras.layers.UpSampling2D(2)(x)
