"""The segmenter: a backbone, whose feature maps a decoder joins from the coarsest to the finest."""

import keras

from trainer.tasks import image_models
from trainer.tasks.image_sizes import check_size
from trainer.tasks.inputs import Image
from trainer.tensors import Tensor

STRIDES = (4, 8, 16, 32)
_WIDTH = 64
# At half the image's size, where most of the time is spent; few backbones have such a map.
_FINE_WIDTH = 32


def segmenter(image: Image, num_classes: int) -> keras.Model:
    """The model from images to the logits of all pixels.

    It takes float32 [b, height, width, channels] in 0..1, and returns float32
    [b, height, width, num_classes].

    Args:
        image: The input, whose sides are multiples of the largest stride.
        num_classes: Of the pixels.

    Raises:
        ConfigError: No such model, unsuitable weights, or another size.
    """
    check_size(image.image_size, STRIDES[-1])
    pixels = keras.Input(image.shape, name="image")
    finest = image_models.convolution(
        keras.layers.Rescaling(2.0, offset=-1.0)(pixels), _FINE_WIDTH, strides=2
    )
    *levels, x = image_models.pyramid(image.model, pixels, STRIDES, image.weights)
    x = image_models.convolution(x, _WIDTH)
    for level in reversed(levels):
        beside = keras.layers.Conv2D(_WIDTH, 1)(level)
        x = image_models.convolution(keras.layers.Add()([_twice(x), beside]), _WIDTH)
    x = image_models.convolution(keras.layers.Concatenate()([_twice(x), finest]), _FINE_WIDTH)
    logits = keras.layers.Conv2D(num_classes, 1, dtype="float32")(x)
    smooth = keras.layers.UpSampling2D(2, interpolation="bilinear", dtype="float32")(logits)
    return keras.Model(pixels, smooth, name=image.model.lower())


def _twice(x: Tensor) -> Tensor:
    """Twice as high and wide."""
    return keras.layers.UpSampling2D(2)(x)
