"""Boxes of what a detector sees, as boxes of the whole image."""

import tensorflow as tf

from trainer.tensors import Tensor


def in_image(boxes: Tensor, windows: Tensor) -> Tensor:
    """Boxes in 0..1 of the images, cut at their sides: float32 [b, n, 4].

    Args:
        boxes: float32 [b, n, 4]: xmin, ymin, xmax, ymax in 0..1 of the windows.
        windows: float32 [b, 4]: xmin, ymin, xmax, ymax in 0..1 of the images, and beyond.
    """
    corner, size = windows[:, None, :2], windows[:, None, 2:] - windows[:, None, :2]
    boxes = boxes * tf.tile(size, [1, 1, 2]) + tf.tile(corner, [1, 1, 2])
    return tf.clip_by_value(boxes, 0.0, 1.0)
