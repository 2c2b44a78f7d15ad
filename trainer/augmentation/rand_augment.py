"""RandAugment: two operations drawn for each image, https://arxiv.org/abs/1909.13719.

The paper's operations, with the largest changes of torchvision's table. Those that move pixels
would have to move boxes along, so images with boxes get the others.
"""

import math
from collections.abc import Callable, Sequence

import tensorflow as tf

from trainer.tensors import Tensor

_NUM_LAYERS = 2
_STRENGTH = 0.9  # The largest change, of 10 as in the paper: 9.
_LARGEST_SHEAR = 0.3
_LARGEST_TRANSLATION = 150 / 331  # of the side
_LARGEST_ANGLE = math.radians(30)
_GREY = 128.0

# (float32 [height, width, channels] in 0..255, strength in -1..1) -> another such image.
Operation = Callable[[Tensor, Tensor], Tensor]


def rand_augment(image: Tensor, seed: Tensor) -> Tensor:
    """Two of the operations, of random strength, one after the other.

    Args:
        image: uint8 [height, width, channels].
        seed: int64 [2].

    Returns:
        uint8 [height, width, channels].
    """
    return _apply_some((*IN_PLACE, *MOVING), image, seed)


def rand_augment_in_place(image: Tensor, seed: Tensor) -> Tensor:
    """`rand_augment` without the operations that move pixels."""
    return _apply_some(IN_PLACE, image, seed)


def _apply_some(operations: Sequence[Operation], image: Tensor, seed: Tensor) -> Tensor:
    pixels = tf.cast(image, tf.float32)
    for layer in range(_NUM_LAYERS):
        own_seed = tf.random.experimental.stateless_fold_in(seed, layer)
        number = tf.random.stateless_uniform([], own_seed, 0, len(operations), tf.int32)
        strength = _STRENGTH * tf.random.stateless_uniform(
            [], tf.random.experimental.stateless_fold_in(own_seed, 1), -1.0, 1.0
        )
        branches = [
            lambda operation=operation, now=pixels, by=strength: operation(now, by)
            for operation in operations
        ]
        pixels = tf.clip_by_value(tf.switch_case(number, branches), 0.0, 255.0)
    return tf.cast(tf.round(pixels), tf.uint8)


def _blend(image: Tensor, other: Tensor, strength: Tensor) -> Tensor:
    """From `other` (strength -1) over the image (0) to its opposite (1)."""
    return other + (image - other) * (1.0 + strength)


def keep(image: Tensor, strength: Tensor) -> Tensor:
    """As it is."""
    del strength
    return image


def brightness(image: Tensor, strength: Tensor) -> Tensor:
    """Darker or brighter."""
    return _blend(image, tf.zeros_like(image), strength)


def contrast(image: Tensor, strength: Tensor) -> Tensor:
    """Closer to the mean, or further from it."""
    return _blend(image, tf.fill(tf.shape(image), tf.reduce_mean(image)), strength)


def color(image: Tensor, strength: Tensor) -> Tensor:
    """Closer to grey, or further from it."""
    grey = tf.reduce_mean(image, axis=-1, keepdims=True)
    return _blend(image, tf.broadcast_to(grey, tf.shape(image)), strength)


def sharpness(image: Tensor, strength: Tensor) -> Tensor:
    """Blurred, or sharpened."""
    smooth = tf.nn.avg_pool2d(image[None], 3, 1, "SAME")[0]
    return _blend(image, smooth, strength)


def solarize(image: Tensor, strength: Tensor) -> Tensor:
    """Inverted where it is bright."""
    return tf.where(image > 255.0 * (1.0 - tf.abs(strength)), 255.0 - image, image)


def posterize(image: Tensor, strength: Tensor) -> Tensor:
    """With fewer values: 4 bits are left, or more."""
    step = 2.0 ** tf.floor(1.0 + 4.0 * tf.abs(strength))
    return tf.floor(image / step) * step


def autocontrast(image: Tensor, strength: Tensor) -> Tensor:
    """Each channel from 0 to 255."""
    del strength
    least = tf.reduce_min(image, axis=(0, 1))
    spread = tf.reduce_max(image, axis=(0, 1)) - least
    return tf.where(spread > 0, (image - least) * 255.0 / tf.maximum(spread, 1.0), image)


def equalize(image: Tensor, strength: Tensor) -> Tensor:
    """Each channel with all values about equally often."""
    del strength
    channels = tf.unstack(tf.cast(tf.round(image), tf.int32), axis=-1)
    return tf.cast(tf.stack([_equalized(each) for each in channels], axis=-1), tf.float32)


def _equalized(channel: Tensor) -> Tensor:
    """As Pillow does it: int32 [height, width]."""
    counts = tf.math.bincount(tf.reshape(channel, [-1]), minlength=256, maxlength=256)
    step = (tf.size(channel) - counts[tf.reduce_max(channel)]) // 255
    before = tf.cumsum(counts, exclusive=True)
    table = tf.minimum((before + step // 2) // tf.maximum(step, 1), 255)
    return tf.cond(step > 0, lambda: tf.gather(table, channel), lambda: channel)


def rotate(image: Tensor, strength: Tensor) -> Tensor:
    """Around the middle, up to 30 degrees."""
    angle = strength * _LARGEST_ANGLE
    cos, sin = tf.cos(angle), tf.sin(angle)
    height, width = tf.unstack(tf.cast(tf.shape(image)[:2], tf.float32) / 2.0)
    return _move(
        image,
        [cos, sin, width - cos * width - sin * height],
        [-sin, cos, height + sin * width - cos * height],
    )


def shear_x(image: Tensor, strength: Tensor) -> Tensor:
    """Lower rows further to the side."""
    return _move(image, [1.0, strength * _LARGEST_SHEAR, 0.0], [0.0, 1.0, 0.0])


def shear_y(image: Tensor, strength: Tensor) -> Tensor:
    """Columns to the right further up or down."""
    return _move(image, [1.0, 0.0, 0.0], [strength * _LARGEST_SHEAR, 1.0, 0.0])


def translate_x(image: Tensor, strength: Tensor) -> Tensor:
    """To the side."""
    pixels = tf.cast(tf.shape(image)[1], tf.float32) * strength * _LARGEST_TRANSLATION
    return _move(image, [1.0, 0.0, tf.round(pixels)], [0.0, 1.0, 0.0])


def translate_y(image: Tensor, strength: Tensor) -> Tensor:
    """Up or down."""
    pixels = tf.cast(tf.shape(image)[0], tf.float32) * strength * _LARGEST_TRANSLATION
    return _move(image, [1.0, 0.0, 0.0], [0.0, 1.0, tf.round(pixels)])


def _move(image: Tensor, to_x: Sequence[Tensor], to_y: Sequence[Tensor]) -> Tensor:
    """The image whose pixel at (x, y) is that at (ax + by + c, dx + ey + f), or grey.

    Args:
        image: float32 [height, width, channels].
        to_x, to_y: a, b, c and d, e, f, for coordinates of which pixels have their middle at .5.
    """
    (a, b, c), (d, e, f) = to_x, to_y
    matrix = [a, b, c + (a + b - 1.0) / 2.0, d, e, f + (d + e - 1.0) / 2.0, 0.0, 0.0]
    return tf.raw_ops.ImageProjectiveTransformV3(
        images=image[None],
        transforms=tf.stack([tf.cast(each, tf.float32) for each in matrix])[None],
        output_shape=tf.shape(image)[:2],
        interpolation="NEAREST",
        fill_mode="CONSTANT",
        fill_value=_GREY,
    )[0]


IN_PLACE: tuple[Operation, ...] = (
    *(keep, autocontrast, equalize, solarize, color, posterize),
    *(contrast, brightness, sharpness),
)
MOVING: tuple[Operation, ...] = (rotate, shear_x, shear_y, translate_x, translate_y)
