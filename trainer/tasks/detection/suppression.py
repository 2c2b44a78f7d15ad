"""From the predictions of all points to the boxes of an image."""

import tensorflow as tf

from trainer.tasks.detection.losses import split_outputs
from trainer.tasks.detection.points import Points
from trainer.tensors import Tensor

_CANDIDATES = 1000
MAX_DETECTIONS = 100
_LEAST_SCORE = 0.01
# Soft-NMS, https://arxiv.org/abs/1704.04503: a box's score is multiplied by exp(-IoU² / 2σ) for
# each better one of its class. Of 72 smears it left 3 boxes in others of their class at scores of
# 0.3 and more, where a limit of 0.5 on the overlap left 85, at the same mAP (docs/detection.md).
_SIGMA = 0.25


def candidates(points: Points, outputs: Tensor) -> tuple[Tensor, Tensor]:
    """The boxes of all points, float32 [b, p, 4] in 0..1, and their scores [b, p, classes]."""
    logits, boxes, centerness = split_outputs(points, outputs)
    # The geometric mean, as in the authors' code: scores stay near the class's probability.
    scores = tf.sqrt(tf.sigmoid(logits) * tf.sigmoid(centerness)[..., None])
    return tf.clip_by_value(boxes / points.pixels, 0.0, 1.0), scores


def detections(points: Points, outputs: Tensor) -> dict[str, Tensor]:
    """The boxes of each image, the most probable first, one for each object.

    Returns:
        `boxes` float32 [b, 100, 4] (xmin, ymin, xmax, ymax in 0..1), `scores` float32 [b, 100]
        in 0..1, `labels` int64 [b, 100]; where an image has fewer, score 0 and label -1.
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
    """Those of `detections`, of candidates [n, 4], [n], [n]."""
    # Each class has a place of its own, so that boxes of two never overlap.
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
    """Boxes in 0..1 of the images, cut at their sides, from those in 0..1 of windows.

    `boxes` are float32 [b, n, 4], `windows` [b, 4] in 0..1 of the images, and beyond.
    """
    corner, size = windows[:, None, :2], windows[:, None, 2:] - windows[:, None, :2]
    boxes = boxes * tf.tile(size, [1, 1, 2]) + tf.tile(corner, [1, 1, 2])
    return tf.clip_by_value(boxes, 0.0, 1.0)
