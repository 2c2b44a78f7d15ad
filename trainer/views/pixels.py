"""The pixels of a view: of a decoded image, or of a JPEG of which only the window is decoded.

Every view is antialiased: means over areas where it shrinks, then between pixels where it grows,
which takes half as long as TensorFlow's `antialias=True`.
"""

from collections.abc import Callable

import tensorflow as tf

from tfrecord_dataset.image_size import ImageSize
from trainer.tensors import Tensor
from trainer.views import View, Views

# What is seen beyond an image.
GREY = 114
# The JPEG decoder scales by these while it decodes, which is cheaper than to decode and resize.
_RATIOS = (1, 2, 4, 8)
# What shrinks by a quarter or less is as near to Pillow's result without the means over areas.
_HARDLY = 4


def see_image(
    view: View,
    image: Tensor,
    size: ImageSize,
    views: Views | None,
    *,
    dtype: str = "uint8",
    fill: int = GREY,
    nearest: bool = False,
) -> Tensor:
    """The view of a decoded image, [*size, channels].

    Args:
        view: Of the image.
        image: uint8 [height, width, channels].
        size: (height, width) of the result in pixels.
        views: What the view was drawn from; None where it is that of the whole image.
        dtype: Of the result: "uint8", or "float32" in 0..1, which is never rounded.
        fill: The value beyond the image.
        nearest: Take the nearest pixel, as masks need, instead of the antialiased mean.
    """
    if not _is_whole(views):
        top, left, bottom, right = _inside(view, views)
        image = image[top:bottom, left:right]
    return _place(view, image, size, views, dtype, fill, _scale_nearest if nearest else _scale)


def decode_jpeg(
    view: View,
    encoded: Tensor,
    size: ImageSize,
    channels: int,
    views: Views | None,
    *,
    dtype: str = "uint8",
    fill: int = GREY,
) -> Tensor:
    """The view of a JPEG, as `see_image` of the decoded one, but only its window is decoded.

    Where the view is shown at half the size or less, the decoder already scales it.

    Args:
        view: Of the image.
        encoded: A scalar string.
        size: (height, width) of the result in pixels.
        channels: Of the result: 1 or 3.
        views: What the view was drawn from; None where it is that of the whole image.
        dtype: Of the result: "uint8", or "float32" in 0..1, which is never rounded.
        fill: The value beyond the image.
    """
    top, left, bottom, right = _inside(view, views)
    spare = tf.reduce_min(tf.stack([bottom - top, right - left]) // _shown(view, size, views))

    def decode(ratio: int) -> Tensor:
        if _is_whole(views):  # faster than a window that is all of it
            return tf.io.decode_jpeg(encoded, channels=channels, ratio=ratio)
        above, before = top // ratio, left // ratio
        below, after = -(-bottom // ratio), -(-right // ratio)  # rounded up
        return tf.io.decode_and_crop_jpeg(
            encoded,
            tf.stack([above, before, below - above, after - before]),
            channels=channels,
            ratio=ratio,
        )

    fitting = tf.gather(tf.constant([0, 0, 1, 1, 2, 2, 2, 2, 3]), tf.minimum(spare, 8))
    ratios = [lambda ratio=ratio: decode(ratio) for ratio in _RATIOS]
    part = tf.ensure_shape(tf.switch_case(fitting, ratios), [None, None, channels])
    return _place(view, part, size, views, dtype, fill, _scale)


def as_dtype(image: Tensor, dtype: str) -> Tensor:
    """Pixels in 0..255, uint8 or float32, as uint8, or as float32 in 0..1."""
    if dtype == "float32":
        return tf.cast(image, tf.float32) / 255.0
    return image if image.dtype == tf.uint8 else tf.cast(image + 0.5, tf.uint8)


def mirror(view: View, image: Tensor) -> Tensor:
    """A whole image [height, width, channels], mirrored as the view is."""
    axes = tf.concat([view.flips[::-1], [False]], axis=0)
    # A slice with step -1 takes as long as the decoding.
    return tf.raw_ops.Reverse(tensor=image, dims=axes)


def _is_whole(views: Views | None) -> bool:
    return views is None or views.are_whole


def _reaches_beyond(views: Views | None) -> bool:
    return views is not None and views.reach_beyond


def _inside(view: View, views: Views | None) -> list[Tensor]:
    """top, left, bottom, right of the window's part in the image; at least one pixel."""
    corner, size = view.window[:2], view.window[2:]
    if not _reaches_beyond(views):
        return [*tf.unstack(corner, num=2), *tf.unstack(corner + size, num=2)]
    least = tf.clip_by_value(corner, 0, view.image - 1)
    most = tf.clip_by_value(corner + size, least + 1, view.image)
    return [*tf.unstack(least, num=2), *tf.unstack(most, num=2)]


def _shown(view: View, size: ImageSize, views: Views | None) -> Tensor:
    """int32 [2]: the height and width in the result of the window's part in the image."""
    if not _reaches_beyond(views):
        return tf.constant(size)
    top, left, bottom, right = _inside(view, views)
    scale = tf.constant(size, tf.float32) / tf.cast(view.window[2:], tf.float32)
    part = tf.cast(tf.stack([bottom - top, right - left]), tf.float32)
    return tf.clip_by_value(tf.cast(tf.round(part * scale), tf.int32), 1, tf.constant(size))


def _place(
    view: View,
    part: Tensor,
    size: ImageSize,
    views: Views | None,
    dtype: str,
    fill: int,
    scale: Callable[[Tensor, Tensor, str], Tensor],
) -> Tensor:
    """Scales the window's part in the image to its place in the result, and mirrors it."""
    channels = part.shape[-1]
    shown = _shown(view, size, views)
    placed = scale(part, shown, dtype)
    if _reaches_beyond(views):
        times = tf.constant(size, tf.float32) / tf.cast(view.window[2:], tf.float32)
        missing = tf.cast(tf.maximum(-view.window[:2], 0), tf.float32)
        before = tf.cast(tf.round(missing * times), tf.int32)
        before = tf.minimum(before, tf.constant(size) - shown)
        after = tf.constant(size) - shown - before
        edges = tf.concat([tf.stack([before, after], axis=-1), [[0, 0]]], axis=0)
        placed = tf.pad(placed, edges, constant_values=fill if dtype == "uint8" else fill / 255)
    if views is not None and (views.mirror or views.upside_down):
        placed = mirror(view, placed)
    return tf.ensure_shape(placed, (*size, channels))


def _scale(part: Tensor, size: Tensor, dtype: str) -> Tensor:
    """Pixels [*size, channels], antialiased."""
    now = tf.shape(part)[:2]
    shrinks = tf.reduce_any(_HARDLY * now > (_HARDLY + 1) * size)
    case = tf.where(tf.reduce_all(now == size), 0, 2 + tf.cast(shrinks, tf.int32))
    case = tf.where(shrinks & tf.reduce_all(now >= size), 1, case)

    def area(to: Tensor) -> Tensor:
        return tf.raw_ops.ResizeArea(images=part[None], size=to)

    def bilinear(images: Tensor) -> Tensor:
        return tf.raw_ops.ResizeBilinear(images=images, size=size, half_pixel_centers=True)

    return tf.switch_case(
        case,
        [
            lambda: as_dtype(part, dtype),
            lambda: as_dtype(area(size)[0], dtype),
            lambda: as_dtype(bilinear(part[None])[0], dtype),
            lambda: as_dtype(bilinear(area(tf.minimum(now, size)))[0], dtype),
        ],
    )


def _scale_nearest(part: Tensor, size: Tensor, dtype: str) -> Tensor:
    return as_dtype(tf.image.resize(part, size, method="nearest"), dtype)
