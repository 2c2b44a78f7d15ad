"""Masks of objects: a PNG file each, decoded, and seen through the view of their image."""

from collections.abc import Callable

import tensorflow as tf

from tfrecord_dataset.image_size import ImageSize
from trainer.tensors import Tensor
from trainer.views import View, Views, whole
from trainer.views.pixels import see_image


def decode_masks(encoded: Tensor, size: ImageSize | None) -> Tensor:
    """Whole masks: uint8 [n, height, width] of 0 and 1.

    Args:
        encoded: PNG files, all of one size: `tf.string` [n].
        size: To which they are scaled, to the nearest pixels; None keeps their own, which is 0 by 0
            where there are none.
    """
    if size is not None:
        return _each(
            encoded,
            size,
            lambda mask: see_image(
                whole(tf.shape(mask)[:2]), mask, size, None, fill=0, nearest=True
            ),
        )
    return tf.cond(
        tf.size(encoded) > 0,
        lambda: tf.map_fn(
            lambda png: _decode(png)[..., 0],
            encoded,
            fn_output_signature=tf.TensorSpec([None, None], tf.uint8),
        ),
        lambda: tf.zeros([0, 0, 0], tf.uint8),
    )


def see_masks(view: View, encoded: Tensor, size: ImageSize, views: Views) -> Tensor:
    """What a view shows of masks, their nearest pixels: uint8 [n, *size].

    Args:
        view: Of their image, at the size at which it was decoded.
        encoded: PNG files: `tf.string` [n].
        size: (height, width) of the result.
        views: What the view was drawn from.
    """
    return _each(
        encoded,
        size,
        lambda mask: see_image(
            view.on(tf.shape(mask)[:2]), mask, size, views, fill=0, nearest=True
        ),
    )


def _each(encoded: Tensor, size: ImageSize, see: Callable[[Tensor], Tensor]) -> Tensor:
    return tf.map_fn(
        lambda png: see(_decode(png))[..., 0],
        encoded,
        fn_output_signature=tf.TensorSpec(size, tf.uint8),
    )


def _decode(png: Tensor) -> Tensor:
    return tf.io.decode_png(png, channels=1)
