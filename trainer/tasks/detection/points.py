"""The points of a detector's feature maps, and the box, if any, that each should predict.

FCOS: Fully Convolutional One-Stage Object Detection, https://arxiv.org/abs/1904.01355, with center
sampling.
"""

import dataclasses
import math
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from tfrecord_dataset.image_size import ImageSize
from trainer.tasks.image_sizes import check_size
from trainer.tensors import Tensor

STRIDES = (8, 16, 32)
# A level predicts boxes whose farthest side is within this many strides of the point; the last
# level has no limit.
_REACH = 8.0
# A point is positive within this many strides of the box's centre, and inside the box.
_RADIUS = 1.5


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """The points of one feature map: all pairs of y and x, row by row.

    Attributes:
        stride: Pixels between neighbours.
        least: Exclusive lower bound, in pixels, of the distance from a point to its box's
            farthest side; `largest` is the inclusive upper bound.
        x, y: float32 [columns], [rows], in pixels of the model's input.
    """

    stride: int
    least: float
    largest: float
    x: np.ndarray
    y: np.ndarray


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """The p points of all levels, in the order of the model's outputs.

    Attributes:
        levels: The levels, finest first.
        centers: float32 [p, 2]: x, y in pixels of the model's input.
        strides: float32 [p]: pixels between neighbours of the same level.
        size: The size of the model's input.
    """

    levels: tuple[Level, ...]
    centers: np.ndarray
    strides: np.ndarray
    size: ImageSize

    def __len__(self) -> int:
        return len(self.strides)

    @property
    def pixels(self) -> np.ndarray:
        """Factors from xmin, ymin, xmax, ymax in 0..1 to pixels: float32 [4]."""
        return np.array([self.size.width, self.size.height] * 2, np.float32)


def points_of(size: ImageSize) -> Points:
    """Return the points for images of a size.

    Raises:
        ConfigError: The size is not a multiple of the largest stride.
    """
    check_size(size, STRIDES[-1])
    levels = tuple(_level(stride, size) for stride in STRIDES)
    centers = [np.stack(np.meshgrid(level.x, level.y), axis=-1).reshape(-1, 2) for level in levels]
    strides = [
        np.full(len(of_level), level.stride, np.float32)
        for level, of_level in zip(levels, centers, strict=True)
    ]
    return Points(
        levels=levels, centers=np.concatenate(centers), strides=np.concatenate(strides), size=size
    )


def _level(stride: int, size: ImageSize) -> Level:
    return Level(
        stride=stride,
        least=0.0 if stride == STRIDES[0] else _REACH * stride / 2,
        largest=math.inf if stride == STRIDES[-1] else _REACH * stride,
        x=(np.arange(size.width // stride, dtype=np.float32) + 0.5) * stride,
        y=(np.arange(size.height // stride, dtype=np.float32) + 0.5) * stride,
    )


class Assigned(NamedTuple):
    """The target of each of p points.

    Attributes:
        labels: int64 [b, p]: the class, -1 for background.
        boxes: float32 [b, p, 4]: xmin, ymin, xmax, ymax in pixels; undefined for background.
        centerness: float32 [b, p]: 1 at the centre of the box, near 0 at its sides; 0 at
            background.
    """

    labels: Tensor
    boxes: Tensor
    centerness: Tensor


def assign(points: Points, boxes: Tensor, labels: Tensor) -> Assigned:
    """Assign each point the smallest box that it can predict.

    `boxes` are float32 [b, n, 4] (xmin, ymin, xmax, ymax in 0..1), `labels` int64 [b, n], -1 for
    padding.
    """
    # Records without boxes need one, which no point can predict.
    pixels = tf.pad(boxes * points.pixels, [[0, 0], [0, 1], [0, 0]])  # [b, n + 1, 4]
    labels = tf.pad(labels, [[0, 0], [0, 1]], constant_values=-1)
    by_level = [_chosen(level, pixels, labels) for level in points.levels]
    is_object, chosen = (tf.concat(each, axis=1) for each in zip(*by_level, strict=True))
    assigned = tf.gather(pixels, chosen, batch_dims=1)
    return Assigned(
        labels=tf.where(is_object, tf.gather(labels, chosen, batch_dims=1), -1),
        boxes=assigned,
        centerness=tf.where(is_object, _centerness(points, assigned), 0.0),
    )


def _chosen(level: Level, pixels: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Return whether each point of a level has a box, and its number: [b, points] each.

    Conditions along x are shared by a column of points, and those along y by a row, so only the
    areas need a number per point and box.
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
    is_object = tf.reduce_any(fits, axis=-1)
    points = [tf.shape(pixels)[0], len(level.y) * len(level.x)]
    return tf.reshape(is_object, points), tf.reshape(tf.where(is_object, chosen, 0), points)


def _along(level: Level, centers: np.ndarray, least: Tensor, most: Tensor) -> tuple[Tensor, Tensor]:
    """Compute a level's conditions along one axis, on which boxes extend from `least` to `most`.

    Returns:
        bool [b, points, n] each: whether the box contains the point, its centre is near and both
        sides are within reach; and whether one side exceeds the level's `least`.
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
    """Centerness, equation 3 of the paper."""
    before = tf.constant(points.centers) - boxes[..., :2]
    after = boxes[..., 2:] - tf.constant(points.centers)
    ratios = tf.minimum(before, after) / tf.maximum(tf.maximum(before, after), 1e-6)
    return tf.sqrt(tf.reduce_prod(tf.clip_by_value(ratios, 0.0, 1.0), axis=-1))
