"""Pixels of a view, from a decoded image or from a JPEG that is decoded only in the window.

Every view is antialiased: area means to shrink, then interpolation to grow. This takes half the
time of TensorFlow's `antialias=True`.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from tfrecord_dataset.image_size import ImageSize
from trainer.tensors import Tensor
from trainer.views import View, Views

# Grey around an image.
GREY = 114
# As Pillow decodes, so that clients of exported models get the same pixels; TensorFlow's default
# takes as long.
EXACT = "INTEGER_ACCURATE"
# Scales of the JPEG decoder, cheaper than decoding and resizing.
_RATIOS = (1, 2, 4, 8)
# Scaling is chosen by the image's sides in quarters of the result's, up to tenfold.
_QUARTERS = 4
_MOST_QUARTERS = 40
# Shrinking by less than a quarter is as close to Pillow's result without area means; by less than
# a half, if the other side grows, closer than the alternatives with them.
_HARDLY = 5
_HARDLY_ALONE = 6


def see_image(
    view: View,
    image: Tensor,
    size: ImageSize,
    views: Views,
    *,
    dtype: str = "uint8",
    fill: int = GREY,
    nearest: bool = False,
) -> Tensor:
    """Return the view of a decoded image, uint8 or uint16, as [*size, channels].

    Args:
        view, views: View of the image, and its distribution.
        image: [height, width, channels].
        size: Size of the result.
        dtype: Dtype of the result: the image's own, or "float32" in 0..1, which is not rounded.
        fill: 8-bit value outside the image, scaled for 16 bits.
        nearest: Whether to take the nearest pixel, for maps, instead of the antialiased mean;
            the result has the image's own dtype.
    """
    if not views.are_whole:
        top, left, bottom, right = _inside(view, views)
        image = image[top:bottom, left:right]
    shown = _shown(view, size, views)
    if nearest:
        scaled = tf.image.resize(image, shown, method="nearest")
    elif image.shape[:2] == size and views.are_whole:  # possible for cached images
        scaled = as_dtype(image, dtype, image.dtype)
    else:
        scaled = _scale(lambda _: image, tf.shape(image)[:2], shown, dtype, (1,), image.dtype)
    return _place(view, scaled, size, views, fill)


def decode_jpeg(
    view: View,
    encoded: Tensor,
    size: ImageSize,
    channels: int,
    views: Views,
    *,
    dtype: str = "uint8",
) -> Tensor:
    """Return the view of a JPEG, as `see_image` of the decoded one, decoding only its window.

    For a view at half the size or less, the decoder already scales it. The result has 1 or 3
    `channels`.
    """
    if views.are_whole:

        def decode(ratio: int) -> Tensor:  # faster than a window of the whole image
            return tf.io.decode_jpeg(encoded, channels=channels, ratio=ratio, dct_method=EXACT)

        part = view.image
    else:
        top, left, bottom, right = _inside(view, views)

        def decode(ratio: int) -> Tensor:
            above, before = top // ratio, left // ratio
            below, after = -(-bottom // ratio), -(-right // ratio)  # rounded up
            window = tf.stack([above, before, below - above, after - before])
            options = {"channels": channels, "ratio": ratio, "dct_method": EXACT}
            return tf.io.decode_and_crop_jpeg(encoded, window, **options)

        part = tf.stack([bottom - top, right - left])
    scaled = _scale(decode, part, _shown(view, size, views), dtype, _RATIOS)
    return _place(view, tf.ensure_shape(scaled, [None, None, channels]), size, views, GREY)


def as_dtype(image: Tensor, dtype: str, stored: tf.DType = tf.uint8) -> Tensor:
    """Convert pixels of a stored dtype, or floats in its range, to it or to "float32" in 0..1."""
    if dtype == "float32":
        return tf.cast(image, tf.float32) / float(stored.max)
    return image if image.dtype == stored else tf.cast(image + 0.5, stored)


def _inside(view: View, views: Views) -> list[Tensor]:
    """Return top, left, bottom, right of the window's part in the image; at least one pixel."""
    least = tf.cast(view.window[:2], tf.int32)
    most = tf.cast(view.window[:2] + view.window[2:], tf.int32)
    if views.reach_beyond:
        least = tf.clip_by_value(least, 0, view.image - 1)
        most = tf.clip_by_value(most, least + 1, view.image)
    return [*tf.unstack(least, num=2), *tf.unstack(most, num=2)]


def _shown(view: View, size: ImageSize, views: Views) -> Tensor:
    """Return the size in the result of the window's part in the image: int32 [2]."""
    if not views.reach_beyond:
        return tf.constant(size)
    top, left, bottom, right = _inside(view, views)
    scale = tf.constant(size, tf.float32) / view.window[2:]
    part = tf.cast(tf.stack([bottom - top, right - left]), tf.float32)
    return tf.clip_by_value(tf.cast(tf.round(part * scale), tf.int32), 1, tf.constant(size))


def _scale(
    decode: Callable[[int], Tensor],
    part: Tensor,
    size: Tensor,
    dtype: str,
    ratios: tuple[int, ...],
    stored: tf.DType = tf.uint8,
) -> Tensor:
    """Scale to pixels [*size, channels], antialiased.

    Each operation costs as much as a hundred pixels, even if it is not chosen.

    `decode` decodes pixels [height, width, channels] of dtype `stored`, scaled down by one of the
    `ratios`; at ratio 1 they have the size `part`, int32 [2].
    """
    quarters = tf.minimum(part * _QUARTERS // size, _MOST_QUARTERS)
    by_ratio, by_scale = (tf.gather_nd(tf.constant(way), quarters) for way in _ways(ratios))
    decodes = [functools.partial(decode, ratio) for ratio in ratios]
    pixels = (tf.switch_case(by_ratio, decodes) if decodes[1:] else decode(1))[None]
    scales = [functools.partial(scale, pixels, size) for scale in _SCALES]
    if dtype == "float32":
        return as_dtype(tf.switch_case(by_scale, scales)[0], dtype, stored)
    # Pixels of the final size are not converted to float32.
    by_scale = tf.where(tf.reduce_all(part == size), len(scales), by_scale)
    rounded = [lambda scale=scale: as_dtype(scale(), dtype, stored) for scale in scales]
    return tf.switch_case(by_scale, [*rounded, lambda: pixels])[0]


@functools.cache
def _ways(ratios: tuple[int, ...]) -> tuple[Any, Any]:
    """Choose the scaling of images by height and width in quarters.

    Returns:
        Indices in `ratios` for decoding, and in `_SCALES` for the rest: int32 [41, 41] each.
    """
    by_ratio, by_scale = np.zeros([2, *[_MOST_QUARTERS + 1] * 2], np.int32)
    for height, width in np.ndindex(by_ratio.shape):
        least, most = sorted([height, width])
        ratio = max(each for each in ratios if each == 1 or least >= each * _QUARTERS)
        scale = _bilinear
        if least >= ratio * _QUARTERS and most >= ratio * _HARDLY:
            scale = _by_area
        elif most >= ratio * _HARDLY_ALONE:
            scale = _by_area_and_bilinear
        by_ratio[height, width] = ratios.index(ratio)
        by_scale[height, width] = _SCALES.index(scale)
    return by_ratio, by_scale


def _bilinear(images: Tensor, size: Tensor) -> Tensor:
    return tf.raw_ops.ResizeBilinear(images=images, size=size, half_pixel_centers=True)


def _by_area(images: Tensor, size: Tensor) -> Tensor:
    return tf.raw_ops.ResizeArea(images=images, size=size)


def _by_area_and_bilinear(images: Tensor, size: Tensor) -> Tensor:
    return _bilinear(_by_area(images, tf.minimum(tf.shape(images)[1:3], size)), size)


_SCALES = (_bilinear, _by_area, _by_area_and_bilinear)


def _place(view: View, scaled: Tensor, size: ImageSize, views: Views, fill: int) -> Tensor:
    """Place the window's part of the image in the result, mirrored."""
    channels = scaled.shape[-1]
    if views.reach_beyond:
        shown = tf.shape(scaled)[:2]
        times = tf.constant(size, tf.float32) / view.window[2:]
        missing = tf.maximum(-view.window[:2], 0.0)
        before = tf.cast(tf.round(missing * times), tf.int32)
        before = tf.minimum(before, tf.constant(size) - shown)
        after = tf.constant(size) - shown - before
        edges = tf.concat([tf.stack([before, after], axis=-1), [[0, 0]]], axis=0)
        dtype = scaled.dtype
        value = fill * (dtype.max // 255) if dtype.is_integer else fill / 255
        scaled = tf.pad(scaled, edges, constant_values=value)
    if views.mirror or views.upside_down:
        axes = tf.concat([view.flips[::-1], [False]], axis=0)
        # A slice with step -1 takes as long as the decoding.
        scaled = tf.raw_ops.Reverse(tensor=scaled, dims=axes)
    return tf.ensure_shape(scaled, (*size, channels))
