"""The trainer's own networks for images and arrays: encoders, a decoder, a U-Net."""

from collections.abc import Sequence
from typing import Any

import keras

_WIDTHS = (32, 64, 128, 256)
_RESIDUAL_WIDTHS = (16, 32, 64, 128)
_PLAIN_STAGES = 2
_SMALL_SIDE = 40
_PYRAMID_WIDTHS = (24, 48, 96, 128, 160)
_GROUPS = 8
# Widths of the U-Net's stages, each at half the size of the previous one.
_U_WIDTHS = (16, 32, 64, 128, 192)
_DECODER_WIDTH = 64
# Width at half the image's size, which takes most of the time; few backbones have such a map.
_FINE_WIDTH = 32


def centred(image: Any) -> Any:
    """Scale images in 0..1 to -1..1."""
    return keras.layers.Rescaling(2.0, offset=-1.0)(image)


def residual(image: Any) -> Any:
    """Encode images in 0..1 as vectors: one strided stage per width, the last two residual.

    It has 0.3 M parameters. Group normalisation works on single images, so neither the number of
    replicas nor small batches change results. Small images keep their size in the first stage.
    """
    x = centred(image)
    is_small = max(x.shape[1:3]) <= _SMALL_SIDE
    for stage, width in enumerate(_RESIDUAL_WIDTHS):
        x = convolution(x, width, strides=2 if stage or not is_small else 1)
        if stage >= _PLAIN_STAGES:
            x = keras.layers.Add()([x, convolution(x, width)])
    return keras.layers.GlobalAveragePooling2D()(x)


def convolutions(x: Any) -> Any:
    """Four strided convolutions with group normalisation; 0.4 M parameters.

    For arrays of 32 to 128 rows with a mean near 0 and a variance near 1.
    """
    for width in _WIDTHS:
        x = convolution(x, width, strides=2)
    return keras.layers.GlobalAveragePooling2D()(x)


def convolution(x: Any, width: int, strides: int = 1) -> Any:
    """Apply a 3 x 3 convolution with group normalisation."""
    x = keras.layers.Conv2D(width, 3, strides=strides, padding="same", use_bias=False)(x)
    x = keras.layers.GroupNormalization(_GROUPS)(x)
    return keras.layers.ReLU()(x)


def plain_convolution(x: Any, width: int, strides: int = 1) -> Any:
    """Apply a 3 x 3 convolution without normalisation."""
    return keras.layers.Conv2D(width, 3, strides=strides, padding="same", activation="relu")(x)


def pyramid(image: Any, strides: Sequence[int]) -> list[Any]:
    """Return the feature maps of images in 0..1 at these strides, powers of 2.

    Strided convolutions, all but the first followed by a residual one: 0.9 M parameters.

    The first is not normalised: at that size it would take as long as the convolution.
    """
    first, *widths = _PYRAMID_WIDTHS
    x = plain_convolution(centred(image), first, strides=2)
    levels = {2: x}
    for number, width in enumerate(widths, start=2):
        x = convolution(x, width, strides=2)
        x = keras.layers.Add()([x, convolution(x, width)])
        levels[2**number] = x
    return [levels[stride] for stride in strides]


def u_net(image: Any, num_classes: int) -> Any:
    """Compute logits of all pixels with a U-Net: https://arxiv.org/abs/1505.04597.

    With group normalisation it took 1.5 times as long, and learned more slowly.
    """
    x = centred(image)
    levels = []
    for width in _U_WIDTHS[:-1]:
        x = plain_convolution(plain_convolution(x, width), width)
        levels.append(x)
        x = keras.layers.MaxPooling2D()(x)
    x = plain_convolution(x, _U_WIDTHS[-1])
    for level in reversed(levels):
        x = keras.layers.Concatenate()([_twice(x), level])
        x = plain_convolution(x, level.shape[-1])
    return keras.layers.Conv2D(num_classes, 1, dtype="float32")(x)


def decoded(image: Any, levels: Sequence[Any], num_classes: int) -> Any:
    """Compute logits of all pixels from an encoder's feature maps, finest first.

    The finest is 4 times smaller than the image, each other half the size of the one before.
    """
    finest = convolution(centred(image), _FINE_WIDTH, strides=2)
    *levels, x = levels
    x = convolution(x, _DECODER_WIDTH)
    for level in reversed(levels):
        skip = keras.layers.Conv2D(_DECODER_WIDTH, 1)(level)
        x = convolution(keras.layers.Add()([_twice(x), skip]), _DECODER_WIDTH)
    x = convolution(keras.layers.Concatenate()([_twice(x), finest]), _FINE_WIDTH)
    logits = keras.layers.Conv2D(num_classes, 1, dtype="float32")(x)
    return keras.layers.UpSampling2D(2, interpolation="bilinear", dtype="float32")(logits)


def _twice(x: Any) -> Any:
    return keras.layers.UpSampling2D(2)(x)
