"""The detector: points, model, loss (equal for any number of replicas) and suppression.

FCOS: Fully Convolutional One-Stage Object Detection, https://arxiv.org/abs/1904.01355, with center
sampling, and Soft-NMS.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from tfrecord_dataset.image_size import ImageSize
from trainer.tasks.inputs.image import check_size
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


class PointTargets(NamedTuple):
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


def assign(points: Points, boxes: Tensor, labels: Tensor) -> PointTargets:
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
    return PointTargets(
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


_CHANNELS = 64
_DEPTH = 2
_GROUPS = 8
# Initial probability of each class at each point, as in the paper: almost all points are
# background.
_PRIOR = 0.01


def predictions(levels: Sequence[Tensor], num_classes: int) -> Tensor:
    """Predict for all points from an encoder's feature maps at STRIDES: float32 [b, points, n + 5].

    Predictions are in the order of `points_of`: a logit for each of n classes, four distances
    (through softplus, in strides: left, top, right, bottom), and the logit of centerness.
    """
    return _heads(_top_down(levels), num_classes)


def _top_down(levels: Sequence[Tensor]) -> list[Tensor]:
    """Build a feature pyramid: each level also gets the features of the coarser ones."""
    merged: list[Tensor] = []
    for level in reversed(levels):
        x = keras.layers.Conv2D(_CHANNELS, 1)(level)
        if merged:
            x = keras.layers.Add()([x, keras.layers.UpSampling2D(2)(merged[-1])])
        merged.append(x)
    return merged[::-1]


def _heads(levels: Sequence[Tensor], num_classes: int) -> Tensor:
    for_classes, for_boxes = _tower(), _tower()
    classes = keras.layers.Conv2D(
        num_classes,
        3,
        padding="same",
        bias_initializer=keras.initializers.Constant(-math.log((1 - _PRIOR) / _PRIOR)),
        kernel_initializer=keras.initializers.RandomNormal(stddev=0.01),
        dtype="float32",
    )
    boxes = keras.layers.Conv2D(5, 3, padding="same", dtype="float32")
    predictions = []
    for level in levels:
        of_classes, of_boxes = level, level
        for layer in for_classes:
            of_classes = layer(of_classes)
        for layer in for_boxes:
            of_boxes = layer(of_boxes)
        both = keras.layers.Concatenate(dtype="float32")([classes(of_classes), boxes(of_boxes)])
        predictions.append(keras.layers.Reshape((-1, num_classes + 5), dtype="float32")(both))
    return keras.layers.Concatenate(axis=1, dtype="float32")(predictions)


def _tower() -> list[keras.layers.Layer]:
    layers: list[keras.layers.Layer] = []
    for _ in range(_DEPTH):
        layers += [
            keras.layers.Conv2D(_CHANNELS, 3, padding="same", use_bias=False),
            keras.layers.GroupNormalization(_GROUPS),
            keras.layers.ReLU(),
        ]
    return layers


_ALPHA, _GAMMA = 0.25, 2.0
_EPSILON = 1e-7


def detection_loss(points: Points, target: dict[str, Tensor], outputs: Tensor) -> Tensor:
    """The loss of each example; its mean over the global batch is FCOS's loss: float32 [b].

    Each example's sum is divided by the number of positive points in the *global* batch, summed
    over the replicas, so the summed gradients equal those of one replica with all examples. The
    target is from `BoxesTarget.with_totals`, or a part of that batch.
    """
    assigned: PointTargets = target["assigned"]
    logits, boxes, logits_of_centerness = split_outputs(points, outputs)
    is_box = assigned.labels >= 0
    wanted = tf.one_hot(assigned.labels, logits.shape[-1])
    of_classes = tf.reduce_sum(_focal(wanted, logits), axis=[1, 2])
    overlap = 1.0 - giou(assigned.boxes, boxes)
    of_boxes = tf.reduce_sum(tf.where(is_box, overlap * assigned.centerness, 0.0), axis=1)
    cross = tf.nn.sigmoid_cross_entropy_with_logits(assigned.centerness, logits_of_centerness)
    of_centerness = tf.reduce_sum(tf.where(is_box, cross, 0.0), axis=1)
    positives, centerness, size = tf.unstack(target["totals"][0], num=3)
    return size * (
        of_classes / tf.maximum(positives, 1.0)
        + of_boxes / tf.maximum(centerness, 1.0)
        + of_centerness / tf.maximum(positives, 1.0)
    )


def assigned_to(points: Points, target: dict[str, Tensor]) -> PointTargets:
    """Assign each point its target; boxes around crowds are background."""
    labels = tf.where(target["crowd"], tf.constant(-1, tf.int64), target["labels"])
    return assign(points, target["boxes"], labels)


def batch_totals(assigned: PointTargets, records: Tensor) -> Tensor:
    """Sums over all replicas of the global batch, float32 [3]; called in `strategy.run`.

    They are the number of positive points, the sum of their centerness, and the sum of `records`,
    float32 [b]: 1 for a record, 0 for padding in evaluation.
    """
    totals = tf.stack(
        [
            tf.reduce_sum(tf.cast(assigned.labels >= 0, tf.float32)),
            tf.reduce_sum(assigned.centerness),
            tf.reduce_sum(records),
        ]
    )
    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return totals
    return tf.stop_gradient(context.all_reduce(tf.distribute.ReduceOp.SUM, totals))


def split_outputs(points: Points, outputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Split into logits [b, p, classes], boxes [b, p, 4] in pixels, centerness logits [b, p]."""
    logits, distances, centerness = outputs[..., :-5], outputs[..., -5:-1], outputs[..., -1]
    pixels = tf.nn.softplus(distances) * tf.constant(points.strides)[:, None]
    centers = tf.constant(points.centers)
    boxes = tf.concat([centers - pixels[..., :2], centers + pixels[..., 2:]], axis=-1)
    return logits, boxes, centerness


def _focal(wanted: Tensor, logits: Tensor) -> Tensor:
    """Focal loss, https://arxiv.org/abs/1708.02002."""
    cross = tf.nn.sigmoid_cross_entropy_with_logits(wanted, logits)
    probability = tf.sigmoid(logits)
    missed = wanted * (1 - probability) + (1 - wanted) * probability
    weight = wanted * _ALPHA + (1 - wanted) * (1 - _ALPHA)
    return weight * missed**_GAMMA * cross


def giou(first: Tensor, second: Tensor) -> Tensor:
    """Generalised intersection over union of boxes [..., 4], in -1..1.

    https://arxiv.org/abs/1902.09630.
    """
    overlap = _area(
        tf.maximum(first[..., :2], second[..., :2]), tf.minimum(first[..., 2:], second[..., 2:])
    )
    hull = _area(
        tf.minimum(first[..., :2], second[..., :2]), tf.maximum(first[..., 2:], second[..., 2:])
    )
    areas = _area(first[..., :2], first[..., 2:]) + _area(second[..., :2], second[..., 2:])
    union = areas - overlap
    return overlap / (union + _EPSILON) - (hull - union) / (hull + _EPSILON)


def _area(least: Tensor, most: Tensor) -> Tensor:
    return tf.reduce_prod(tf.maximum(most - least, 0.0), axis=-1)


_CANDIDATES = 1000
MAX_DETECTIONS = 100
_LEAST_SCORE = 0.01
# Soft-NMS, https://arxiv.org/abs/1704.04503: a box's score is multiplied by exp(-IoU² / 2σ) for
# each better box of its class. On 72 smears it left 3 boxes inside others of their class at scores
# from 0.3, while an IoU limit of 0.5 left 85, at the same mAP (docs/detection.md).
_SIGMA = 0.25


def candidates(points: Points, outputs: Tensor) -> tuple[Tensor, Tensor]:
    """Decode the boxes of all points, float32 [b, p, 4] in 0..1, and scores [b, p, classes]."""
    logits, boxes, centerness = split_outputs(points, outputs)
    # Geometric mean, as in the authors' code: scores stay near the class's probability.
    scores = tf.sqrt(tf.sigmoid(logits) * tf.sigmoid(centerness)[..., None])
    return tf.clip_by_value(boxes / points.pixels, 0.0, 1.0), scores


def detections(points: Points, outputs: Tensor) -> dict[str, Tensor]:
    """Return the boxes of each image, one per object, the most probable first.

    Returns:
        `boxes` float32 [b, 100, 4] (xmin, ymin, xmax, ymax in 0..1), `scores` float32 [b, 100]
        in 0..1, `labels` int64 [b, 100]; padded with score 0 and label -1.
    """
    boxes, scores = candidates(points, outputs)
    num_classes = scores.shape[-1]
    flat = tf.reshape(scores, [-1, len(points) * num_classes])
    scores, chosen = tf.math.top_k(flat, k=min(_CANDIDATES, len(points) * num_classes))
    boxes = tf.gather(boxes, chosen // num_classes, batch_dims=1)
    labels = tf.cast(chosen % num_classes, tf.int64)
    spec = {
        "boxes": tf.TensorSpec([MAX_DETECTIONS, 4], tf.float32),
        "scores": tf.TensorSpec([MAX_DETECTIONS], tf.float32),
        "labels": tf.TensorSpec([MAX_DETECTIONS], tf.int64),
    }
    kept: dict[str, Tensor] = tf.map_fn(
        lambda each: _of_one_image(*each), (boxes, scores, labels), fn_output_signature=spec
    )
    return kept


def _of_one_image(boxes: Tensor, scores: Tensor, labels: Tensor) -> dict[str, Tensor]:
    """Select the detections of one image from candidates [n, 4], [n], [n]."""
    # Shift each class to its own place, so that boxes of different classes never overlap.
    apart = boxes + 2.0 * tf.cast(labels, tf.float32)[:, None]
    kept, kept_scores = tf.image.non_max_suppression_with_scores(
        apart,
        scores,
        max_output_size=MAX_DETECTIONS,
        iou_threshold=1.0,
        score_threshold=_LEAST_SCORE,
        soft_nms_sigma=_SIGMA,
    )
    missing = [[0, MAX_DETECTIONS - tf.size(kept)]]
    return {
        "boxes": tf.pad(tf.gather(boxes, kept), [*missing, [0, 0]]),
        "scores": tf.pad(kept_scores, missing),
        "labels": tf.pad(tf.gather(labels, kept), missing, constant_values=-1),
    }


def in_image(boxes: Tensor, windows: Tensor) -> Tensor:
    """Convert boxes from 0..1 of windows to 0..1 of their images, cut at the sides.

    `boxes` are float32 [b, n, 4], `windows` [b, 4] in 0..1 of the images or beyond.
    """
    corner, size = windows[:, None, :2], windows[:, None, 2:] - windows[:, None, :2]
    boxes = boxes * tf.tile(size, [1, 1, 2]) + tf.tile(corner, [1, 1, 2])
    return tf.clip_by_value(boxes, 0.0, 1.0)
