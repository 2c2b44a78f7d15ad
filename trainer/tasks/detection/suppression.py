"""Soft-NMS: reduces the predictions of all points to the boxes of an image."""

import tensorflow as tf

from trainer.tasks.detection.losses import split_outputs
from trainer.tasks.detection.points import Points
from trainer.tensors import Tensor

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
