"""The pixels of a view: of a decoded image, or of a JPEG of which only the window is decoded."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfrecord_dataset.image_size import ImageSize
from trainer.tensors import Tensor
from trainer.views import View

# What is seen beyond an image.
GREY = 114
# The JPEG decoder scales by these while it decodes, which is cheaper than to decode and resize.
_RATIOS = (1, 2, 4, 8)


def see_image(
    view: View,
    image: Tensor,
    size: ImageSize,
    *,
    fill: int = GREY,
    nearest: bool = False,
    reaches_beyond: bool = True,
) -> Tensor:
    """The view of a decoded image, uint8 [*size, channels].

    Args:
        view: Of the image.
        image: uint8 [height, width, channels].
        size: (height, width) of the result in pixels.
        fill: The value beyond the image.
        nearest: Take the nearest pixel, as masks need, instead of the antialiased mean.
        reaches_beyond: Whether the window may be larger than the image.
    """
    top, left, bottom, right = _inside(view, reaches_beyond)
    scale = _scale_nearest if nearest else _scale
    return _place(view, image[top:bottom, left:right], size, fill, scale, reaches_beyond)


def decode_jpeg(
    view: View,
    encoded: Tensor,
    size: ImageSize,
    channels: int,
    *,
    fill: int = GREY,
    reaches_beyond: bool = True,
) -> Tensor:
    """The view of a JPEG, as `see_image` of the decoded one, but only its window is decoded.

    Where the view is shown at half the size or less, the decoder already scales it.

    Args:
        view: Of the image.
        encoded: A scalar string.
        size: (height, width) of the result in pixels.
        channels: Of the result: 1 or 3.
        fill: The value beyond the image.
        reaches_beyond: Whether the window may be larger than the image.
    """
    top, left, bottom, right = _inside(view, reaches_beyond)
    wanted = _shown(view, size) if reaches_beyond else tf.constant(size)
    spare = tf.reduce_min(tf.stack([bottom - top, right - left]) // wanted)

    def decode(ratio: int) -> Tensor:
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
    return _place(view, part, size, fill, _scale, reaches_beyond)


def _inside(view: View, reaches_beyond: bool) -> list[Tensor]:
    """top, left, bottom, right of the window's part in the image; at least one pixel."""
    corner, size = view.window[:2], view.window[2:]
    if not reaches_beyond:
        return [*tf.unstack(corner, num=2), *tf.unstack(corner + size, num=2)]
    least = tf.clip_by_value(corner, 0, view.image - 1)
    most = tf.clip_by_value(corner + size, least + 1, view.image)
    return [*tf.unstack(least, num=2), *tf.unstack(most, num=2)]


def _shown(view: View, size: ImageSize) -> Tensor:
    """int32 [2]: the height and width in the result of the window's part in the image."""
    top, left, bottom, right = _inside(view, True)
    scale = tf.constant(size, tf.float32) / tf.cast(view.window[2:], tf.float32)
    part = tf.cast(tf.stack([bottom - top, right - left]), tf.float32)
    return tf.clip_by_value(tf.cast(tf.round(part * scale), tf.int32), 1, tf.constant(size))


def _place(
    view: View,
    part: Tensor,
    size: ImageSize,
    fill: int,
    scale: Callable[[Tensor, Tensor], Tensor],
    reaches_beyond: bool,
) -> Tensor:
    """Scales the window's part in the image to its place in the result, and mirrors it."""
    channels = part.shape[-1]
    if reaches_beyond:
        shown = _shown(view, size)
        times = tf.constant(size, tf.float32) / tf.cast(view.window[2:], tf.float32)
        missing = tf.cast(tf.maximum(-view.window[:2], 0), tf.float32)
        before = tf.cast(tf.round(missing * times), tf.int32)
        before = tf.minimum(before, tf.constant(size) - shown)
        after = tf.constant(size) - shown - before
        edges = tf.concat([tf.stack([before, after], axis=-1), [[0, 0]]], axis=0)
        placed = tf.pad(scale(part, shown), edges, constant_values=fill)
    else:
        placed = scale(part, tf.constant(size))
    return tf.ensure_shape(mirror(view, placed), (*size, channels))


def mirror(view: View, image: Tensor) -> Tensor:
    """A whole image [height, width, channels], mirrored as the view is."""
    axes = tf.concat([view.flips[::-1], [False]], axis=0)
    # A slice with step -1 takes as long as the decoding.
    return tf.raw_ops.Reverse(tensor=image, dims=axes)


def _scale(part: Tensor, size: Tensor) -> Tensor:
    """uint8 [*size, channels]: antialiased by means over areas, which is the fastest way.

    TensorFlow's `antialias=True` takes 2.5 times as long, twice as long as the decoding; it is
    left for what shrinks along one axis and grows along the other.
    """
    now = tf.shape(part)[:2]
    shrinks, grows = tf.reduce_any(now > size), tf.reduce_any(now < size)
    case = tf.cast(shrinks, tf.int32) + 2 * tf.cast(grows, tf.int32)

    def scaled(**options: Any) -> Tensor:
        return tf.cast(tf.round(tf.image.resize(part, size, **options)), tf.uint8)

    return tf.switch_case(
        case,
        [
            lambda: part,
            lambda: scaled(method="area"),
            lambda: scaled(),
            lambda: scaled(antialias=True),
        ],
    )


def _scale_nearest(part: Tensor, size: Tensor) -> Tensor:
    return tf.image.resize(part, size, method="nearest")
