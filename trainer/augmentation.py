"""Augmentation of training records, different in each pass, by stateless seeds.

RandAugment, https://arxiv.org/abs/1909.13719, has the paper's operations with torchvision's largest
magnitudes. Images with boxes do not get geometric operations, which would have to move the boxes
as well.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import tensorflow as tf

from trainer.parsing import Augment
from trainer.tensors import Tensor
from trainer.views import Views

_NUM_LAYERS = 2
_STRENGTH = 0.9  # the paper's magnitude 9 of 10
_LARGEST_SHEAR = 0.3
_LARGEST_TRANSLATION = 150 / 331  # relative to the side
_LARGEST_ANGLE = math.radians(30)
_GREY = 128.0
# `jitter`: logarithms of factors, a share of the side, values of pixels, a share of images.
_LARGEST_ZOOM, _LARGEST_CONTRAST = 0.25, 0.5
_LARGEST_SHIFT, _LARGEST_OFFSET, _NEGATIVES = 0.12, 64.0, 0.3

# (float32 [height, width, channels] in 0..255, strength in -1..1) -> another such image.
Operation = Callable[[Tensor, Tensor], Tensor]


def rand_augment(operations: Sequence[Operation], image: Tensor, seed: Tensor) -> Tensor:
    """Apply two of the operations, of random strength, to uint8 [height, width, channels].

    The seed is int64 [2].
    """
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


def jitter(
    changes: Sequence[Callable[[Tensor, Tensor], Tensor]], image: Tensor, seed: Tensor
) -> Tensor:
    """Apply changes, each a function like an `Augment` on float32, to uint8 [height, width, c].

    The seed is int64 [2].
    """
    pixels = tf.cast(image, tf.float32)
    for place, change in enumerate(changes):
        pixels = change(pixels, tf.random.experimental.stateless_fold_in(seed, place))
    return tf.cast(tf.round(pixels), tf.uint8)


def _recolored(image: Tensor, seed: Tensor) -> Tensor:
    """Change contrast and brightness of each channel; some results are negatives."""
    numbers = tf.random.stateless_uniform([2, image.shape[-1]], seed, -1.0, 1.0)
    contrast = tf.exp(numbers[0] * _LARGEST_CONTRAST)
    changed = _GREY + (image - _GREY) * contrast + numbers[1] * _LARGEST_OFFSET
    own_seed = tf.random.experimental.stateless_fold_in(seed, 0)
    is_negative = tf.random.stateless_uniform([], own_seed) < _NEGATIVES
    return tf.clip_by_value(tf.where(is_negative, 255.0 - changed, changed), 0.0, 255.0)


def _moved(image: Tensor, seed: Tensor) -> Tensor:
    """Turn, zoom and shift an image."""
    turn, zoom, right, down = tf.unstack(tf.random.stateless_uniform([4], seed, -1.0, 1.0))
    angle, scale = turn * _LARGEST_ANGLE, tf.exp(zoom * _LARGEST_ZOOM)
    cos, sin = scale * tf.cos(angle), scale * tf.sin(angle)
    height, width = tf.unstack(tf.cast(tf.shape(image)[:2], tf.float32) / 2.0)
    right, down = (1.0 + 2.0 * _LARGEST_SHIFT * each for each in (right, down))
    return _move(
        image,
        [cos, sin, right * width - cos * width - sin * height],
        [-sin, cos, down * height + sin * width - cos * height],
    )


def _blend(image: Tensor, other: Tensor, strength: Tensor) -> Tensor:
    """Blend from `other` (strength -1) over the image (0) to its opposite (1)."""
    return other + (image - other) * (1.0 + strength)


def _contrast(image: Tensor, strength: Tensor) -> Tensor:
    return _blend(image, tf.fill(tf.shape(image), tf.reduce_mean(image)), strength)


def _color(image: Tensor, strength: Tensor) -> Tensor:
    grey = tf.reduce_mean(image, axis=-1, keepdims=True)
    return _blend(image, tf.broadcast_to(grey, tf.shape(image)), strength)


def _sharpness(image: Tensor, strength: Tensor) -> Tensor:
    smooth = tf.nn.avg_pool2d(image[None], 3, 1, "SAME")[0]
    return _blend(image, smooth, strength)


def _solarize(image: Tensor, strength: Tensor) -> Tensor:
    return tf.where(image > 255.0 * (1.0 - tf.abs(strength)), 255.0 - image, image)


def _posterize(image: Tensor, strength: Tensor) -> Tensor:
    step = 2.0 ** tf.floor(1.0 + 4.0 * tf.abs(strength))
    return tf.floor(image / step) * step


def _autocontrast(image: Tensor, strength: Tensor) -> Tensor:
    least = tf.reduce_min(image, axis=(0, 1))
    spread = tf.reduce_max(image, axis=(0, 1)) - least
    return tf.where(spread > 0, (image - least) * 255.0 / tf.maximum(spread, 1.0), image)


def _equalize(image: Tensor, strength: Tensor) -> Tensor:
    channels = tf.unstack(tf.cast(tf.round(image), tf.int32), axis=-1)
    return tf.cast(tf.stack([_equalized(channel) for channel in channels], axis=-1), tf.float32)


def _equalized(channel: Tensor) -> Tensor:
    """Equalize an int32 [height, width] as Pillow does."""
    counts = tf.math.bincount(tf.reshape(channel, [-1]), minlength=256, maxlength=256)
    step = (tf.size(channel) - counts[tf.reduce_max(channel)]) // 255
    before = tf.cumsum(counts, exclusive=True)
    table = tf.minimum((before + step // 2) // tf.maximum(step, 1), 255)
    return tf.cond(step > 0, lambda: tf.gather(table, channel), lambda: channel)


def _rotate(image: Tensor, strength: Tensor) -> Tensor:
    angle = strength * _LARGEST_ANGLE
    cos, sin = tf.cos(angle), tf.sin(angle)
    height, width = tf.unstack(tf.cast(tf.shape(image)[:2], tf.float32) / 2.0)
    return _move(
        image,
        [cos, sin, width - cos * width - sin * height],
        [-sin, cos, height + sin * width - cos * height],
    )


def _sheared(image: Tensor, along_x: Tensor, along_y: Tensor) -> Tensor:
    return _move(image, [1.0, along_x * _LARGEST_SHEAR, 0.0], [along_y * _LARGEST_SHEAR, 1.0, 0.0])


def _translated(image: Tensor, strength: Tensor, axis: int) -> Tensor:
    side = tf.cast(tf.shape(image)[axis], tf.float32)
    pixels = tf.round(side * strength * _LARGEST_TRANSLATION)
    across, down = (pixels, 0.0) if axis == 1 else (0.0, pixels)
    return _move(image, [1.0, 0.0, across], [0.0, 1.0, down])


def _move(image: Tensor, to_x: Sequence[Tensor], to_y: Sequence[Tensor]) -> Tensor:
    """Apply an affine transform: pixel (x, y) is (ax + by + c, dx + ey + f), or grey outside.

    Pixel centres are at .5; `to_x` are a, b, c, and `to_y` d, e, f.
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


IN_PLACE: Mapping[str, Operation] = {
    "keep": lambda image, strength: image,
    "autocontrast": _autocontrast,
    "equalize": _equalize,
    "solarize": _solarize,
    "color": _color,
    "posterize": _posterize,
    "contrast": _contrast,
    "brightness": lambda image, strength: _blend(image, tf.zeros_like(image), strength),
    "sharpness": _sharpness,
}
MOVING: Mapping[str, Operation] = {
    "rotate": _rotate,
    "shear_x": lambda image, strength: _sheared(image, strength, 0.0),
    "shear_y": lambda image, strength: _sheared(image, 0.0, strength),
    "translate_x": lambda image, strength: _translated(image, strength, 1),
    "translate_y": lambda image, strength: _translated(image, strength, 0),
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Augmentation:
    """Augmentation of a training record's images.

    Attributes:
        views: Crops and flips, also applied to boxes; None for whole images.
        pixels: Function applied to the viewed image; None for none.
    """

    views: Views | None = None
    pixels: Augment | None = None


# Inception's random resized crop, but of at least a quarter of the image.
_CROP = Views(area=(0.25, 1.0), aspect=(3 / 4, 4 / 3), mirror=True)
# Detection needs context: crops are larger, and may zoom out.
_OBJECTS_CROP = Views(area=(0.35, 1.5), aspect=(0.8, 1.25), mirror=True)
_JITTER = functools.partial(jitter, [_moved, _recolored])
_JITTER_IN_PLACE = functools.partial(jitter, [_recolored])
_RAND = functools.partial(rand_augment, [*IN_PLACE.values(), *MOVING.values()])
_RAND_IN_PLACE = functools.partial(rand_augment, [*IN_PLACE.values()])

POLICIES: Mapping[str, Augmentation] = MappingProxyType(
    {
        "none": Augmentation(),
        "flip": Augmentation(views=Views(mirror=True)),
        "crop": Augmentation(views=_CROP),
        "jitter": Augmentation(views=Views(mirror=True), pixels=_JITTER),
        "rand": Augmentation(views=_CROP, pixels=_RAND),
    }
)
# For tasks with positions in an image: boxes, maps of classes.
PLACES_POLICIES: Mapping[str, Augmentation] = MappingProxyType(
    {
        **POLICIES,
        "crop": Augmentation(views=_OBJECTS_CROP),
        "jitter": Augmentation(views=Views(mirror=True), pixels=_JITTER_IN_PLACE),
        "rand": Augmentation(views=_OBJECTS_CROP, pixels=_RAND_IN_PLACE),
    }
)
