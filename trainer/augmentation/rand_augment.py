"""RandAugment: two random operations per image, https://arxiv.org/abs/1909.13719.

The paper's operations with the largest magnitudes of torchvision. Geometric operations would have
to move boxes as well, so images with boxes get only the others.
"""

import math
from collections.abc import Callable, Sequence

import tensorflow as tf

from trainer.tensors import Tensor

_NUM_LAYERS = 2
_STRENGTH = 0.9  # the paper's magnitude 9 of 10
_LARGEST_SHEAR = 0.3
_LARGEST_TRANSLATION = 150 / 331  # relative to the side
_LARGEST_ANGLE = math.radians(30)
_GREY = 128.0

# (float32 [height, width, channels] in 0..255, strength in -1..1) -> another such image.
Operation = Callable[[Tensor, Tensor], Tensor]


def rand_augment(image: Tensor, seed: Tensor) -> Tensor:
    """Apply two random operations of random strength.

    Args:
        image: uint8 [height, width, channels].
        seed: int64 [2].

    Returns:
        uint8 [height, width, channels].
    """
    return _apply_some((*IN_PLACE, *MOVING), image, seed)


def rand_augment_in_place(image: Tensor, seed: Tensor) -> Tensor:
    """`rand_augment` without the geometric operations."""
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
    """Blend from `other` (strength -1) over the image (0) to its opposite (1)."""
    return other + (image - other) * (1.0 + strength)


def keep(image: Tensor, strength: Tensor) -> Tensor:
    """Identity."""
    del strength
    return image


def brightness(image: Tensor, strength: Tensor) -> Tensor:
    """Change the brightness."""
    return _blend(image, tf.zeros_like(image), strength)


def contrast(image: Tensor, strength: Tensor) -> Tensor:
    """Change the contrast."""
    return _blend(image, tf.fill(tf.shape(image), tf.reduce_mean(image)), strength)


def color(image: Tensor, strength: Tensor) -> Tensor:
    """Change the saturation."""
    grey = tf.reduce_mean(image, axis=-1, keepdims=True)
    return _blend(image, tf.broadcast_to(grey, tf.shape(image)), strength)


def sharpness(image: Tensor, strength: Tensor) -> Tensor:
    """Blur or sharpen."""
    smooth = tf.nn.avg_pool2d(image[None], 3, 1, "SAME")[0]
    return _blend(image, smooth, strength)


def solarize(image: Tensor, strength: Tensor) -> Tensor:
    """Invert bright pixels."""
    return tf.where(image > 255.0 * (1.0 - tf.abs(strength)), 255.0 - image, image)


def posterize(image: Tensor, strength: Tensor) -> Tensor:
    """Reduce the number of values to 4 bits or more."""
    step = 2.0 ** tf.floor(1.0 + 4.0 * tf.abs(strength))
    return tf.floor(image / step) * step


def autocontrast(image: Tensor, strength: Tensor) -> Tensor:
    """Stretch each channel to 0..255."""
    del strength
    least = tf.reduce_min(image, axis=(0, 1))
    spread = tf.reduce_max(image, axis=(0, 1)) - least
    return tf.where(spread > 0, (image - least) * 255.0 / tf.maximum(spread, 1.0), image)


def equalize(image: Tensor, strength: Tensor) -> Tensor:
    """Equalise each channel's histogram."""
    del strength
    channels = tf.unstack(tf.cast(tf.round(image), tf.int32), axis=-1)
    return tf.cast(tf.stack([_equalized(channel) for channel in channels], axis=-1), tf.float32)


def _equalized(channel: Tensor) -> Tensor:
    """Grey as in Pillow: int32 [height, width]."""
    counts = tf.math.bincount(tf.reshape(channel, [-1]), minlength=256, maxlength=256)
    step = (tf.size(channel) - counts[tf.reduce_max(channel)]) // 255
    before = tf.cumsum(counts, exclusive=True)
    table = tf.minimum((before + step // 2) // tf.maximum(step, 1), 255)
    return tf.cond(step > 0, lambda: tf.gather(table, channel), lambda: channel)


def rotate(image: Tensor, strength: Tensor) -> Tensor:
    """Rotate around the centre by up to 30 degrees."""
    angle = strength * _LARGEST_ANGLE
    cos, sin = tf.cos(angle), tf.sin(angle)
    height, width = tf.unstack(tf.cast(tf.shape(image)[:2], tf.float32) / 2.0)
    return _move(
        image,
        [cos, sin, width - cos * width - sin * height],
        [-sin, cos, height + sin * width - cos * height],
    )


def shear_x(image: Tensor, strength: Tensor) -> Tensor:
    """Shear horizontally."""
    return _move(image, [1.0, strength * _LARGEST_SHEAR, 0.0], [0.0, 1.0, 0.0])


def shear_y(image: Tensor, strength: Tensor) -> Tensor:
    """Shear vertically."""
    return _move(image, [1.0, 0.0, 0.0], [strength * _LARGEST_SHEAR, 1.0, 0.0])


def translate_x(image: Tensor, strength: Tensor) -> Tensor:
    """Translate horizontally."""
    pixels = tf.cast(tf.shape(image)[1], tf.float32) * strength * _LARGEST_TRANSLATION
    return _move(image, [1.0, 0.0, tf.round(pixels)], [0.0, 1.0, 0.0])


def translate_y(image: Tensor, strength: Tensor) -> Tensor:
    """Translate vertically."""
    pixels = tf.cast(tf.shape(image)[0], tf.float32) * strength * _LARGEST_TRANSLATION
    return _move(image, [1.0, 0.0, 0.0], [0.0, 1.0, tf.round(pixels)])


def _move(image: Tensor, to_x: Sequence[Tensor], to_y: Sequence[Tensor]) -> Tensor:
    """Apply an affine transform: pixel (x, y) is (ax + by + c, dx + ey + f), or grey outside.

    Args:
        image: float32 [height, width, channels].
        to_x, to_y: a, b, c and d, e, f, for coordinates with pixel centres at .5.
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
