"""Which box each point of the detector has to predict, after FCOS with center sampling."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from trainer.tasks.detection.points import Level, Points
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
    # Behind the boxes is one that no point may predict, for records without any.
    pixels = tf.pad(boxes * points.pixels, [[0, 0], [0, 1], [0, 0]])  # [b, n + 1, 4]
    labels = tf.pad(labels, [[0, 0], [0, 1]], constant_values=-1)
    by_level = [_chosen(level, pixels, labels) for level in points.levels]
    found, chosen = (tf.concat(each, axis=1) for each in zip(*by_level, strict=True))
    assigned = tf.gather(pixels, chosen, batch_dims=1)
    return Assigned(
        labels=tf.where(found, tf.gather(labels, chosen, batch_dims=1), -1),
        boxes=assigned,
        centerness=tf.where(found, _centerness(points, assigned), 0.0),
    )


def _chosen(level: Level, pixels: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Whether each point of a level has a box, and the number of it: [b, points] each.

    What is asked of a box along x is the same in a column of points, and along y in a row: so
    there are no more numbers than one for each point and box, and those only for the areas.
    """
    xmin, ymin, xmax, ymax = tf.unstack(pixels[:, None], axis=-1)  # [b, 1, n]
    by_column, is_wide = _along(level, level.x, xmin, xmax)  # [b, columns, n]
    by_row, is_high = _along(level, level.y, ymin, ymax)  # [b, rows, n]
    fits = (  # [b, rows, columns, n]
        (by_row & (labels >= 0)[:, None])[:, :, None]
        & by_column[:, None]
        & (is_high[:, :, None] | is_wide[:, None])
    )
    area = ((xmax - xmin) * (ymax - ymin))[:, None]  # [b, 1, 1, n]
    chosen = tf.argmin(tf.where(fits, area, float("inf")), axis=-1)
    found = tf.reduce_any(fits, axis=-1)
    points = [tf.shape(pixels)[0], len(level.y) * len(level.x)]
    return tf.reshape(found, points), tf.reshape(tf.where(found, chosen, 0), points)


def _along(level: Level, centers: np.ndarray, least: Tensor, most: Tensor) -> tuple[Tensor, Tensor]:
    """What a level asks of boxes along one axis, on which they reach from `least` to `most`.

    Returns:
        bool [b, points, n]: whether the box is around the point, its middle near, and neither side
        too far; whether one is as far as the level asks of the farthest.
    """
    center = tf.constant(centers)[None, :, None]  # [1, points, 1]
    before, after = center - least, most - center
    farthest = tf.maximum(before, after)
    fits = (
        (tf.minimum(before, after) > 0)
        & (tf.abs(center - (least + most) / 2) < _RADIUS * level.stride)
        & (farthest <= level.largest)
    )
    return fits, farthest > level.least


def _centerness(points: Points, boxes: Tensor) -> Tensor:
    """Equation 3 of the paper."""
    before = tf.constant(points.centers) - boxes[..., :2]
    after = boxes[..., 2:] - tf.constant(points.centers)
    ratios = tf.minimum(before, after) / tf.maximum(tf.maximum(before, after), 1e-6)
    return tf.sqrt(tf.reduce_prod(tf.clip_by_value(ratios, 0.0, 1.0), axis=-1))
