"""Which box each point of the detector has to predict, after FCOS with center sampling."""

from typing import NamedTuple

import tensorflow as tf

from trainer.tasks.detection.points import Points
from trainer.tensors import Tensor

# A point is positive within this many strides of the box's centre, and inside the box.
_RADIUS = 1.5


class Assigned(NamedTuple):
    """What every point should predict; p points.

    Attributes:
        labels: int64 [b, p]: the class, -1 for background.
        boxes: float32 [b, p, 4]: xmin, ymin, xmax, ymax in pixels; any value at background.
        centerness: float32 [b, p]: 1 at the centre of the box, near 0 at its sides; 0 at
            background.
    """

    labels: Tensor
    boxes: Tensor
    centerness: Tensor


def assign(points: Points, boxes: Tensor, labels: Tensor) -> Assigned:
    """Assigns each point the smallest box that it may predict.

    Args:
        points: Of the model.
        boxes: float32 [b, n, 4]: xmin, ymin, xmax, ymax in 0..1.
        labels: int64 [b, n]; -1 for padding.
    """
    pixels = boxes * points.pixels  # [b, n, 4]
    least, most = pixels[:, None, :, :2], pixels[:, None, :, 2:]  # [b, 1, n, 2]
    centers = tf.constant(points.centers)[None, :, None]  # [1, p, 1, 2]
    to_sides = tf.concat([centers - least, most - centers], axis=-1)  # [b, p, n, 4]
    radius = _RADIUS * tf.constant(points.strides)[None, :, None]
    from_middle = tf.reduce_max(tf.abs(centers - (least + most) / 2), axis=-1)
    farthest = tf.reduce_max(to_sides, axis=-1)
    fits = (
        (tf.reduce_min(to_sides, axis=-1) > 0)
        & (from_middle < radius)
        & (farthest > tf.constant(points.reach[:, :1])[None])
        & (farthest <= tf.constant(points.reach[:, 1:])[None])
        & (labels >= 0)[:, None]
    )
    area = tf.reduce_prod(most - least, axis=-1)  # [b, 1, n]
    candidates = tf.where(fits, area, float("inf"))
    padded = tf.pad(candidates, [[0, 0], [0, 0], [0, 1]], constant_values=float("inf"))
    chosen = tf.argmin(padded, axis=-1)  # [b, p]; a record without boxes has the padding alone
    found = tf.reduce_any(fits, axis=-1)
    chosen = tf.where(found, chosen, 0)
    at_least_one = [[0, 0], [0, 1]]
    assigned = tf.gather(tf.pad(pixels, [*at_least_one, [0, 0]]), chosen, batch_dims=1)
    classes = tf.gather(tf.pad(labels, at_least_one), chosen, batch_dims=1)
    return Assigned(
        labels=tf.where(found, classes, -1),
        boxes=assigned,
        centerness=tf.where(found, _centerness(points, assigned), 0.0),
    )


def _centerness(points: Points, boxes: Tensor) -> Tensor:
    """Equation 3 of the paper."""
    before = tf.constant(points.centers) - boxes[..., :2]
    after = boxes[..., 2:] - tf.constant(points.centers)
    ratios = tf.minimum(before, after) / tf.maximum(tf.maximum(before, after), 1e-6)
    return tf.sqrt(tf.reduce_prod(tf.clip_by_value(ratios, 0.0, 1.0), axis=-1))
