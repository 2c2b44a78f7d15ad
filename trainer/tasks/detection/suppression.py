"""From the predictions of all points to the boxes of an image."""

import tensorflow as tf

from trainer.tasks.detection.losses import split_outputs
from trainer.tasks.detection.points import Points
from trainer.tensors import Tensor

_CANDIDATES = 1000
MAX_DETECTIONS = 100
_LEAST_SCORE = 0.01
_IOU = 0.5


def detections(points: Points, outputs: Tensor) -> dict[str, Tensor]:
    """The boxes of each image, the most probable first, without duplicates (NMS by class).

    Returns:
        `boxes` float32 [b, 100, 4] (xmin, ymin, xmax, ymax in 0..1), `scores` float32 [b, 100]
        in 0..1, `labels` int64 [b, 100]; where an image has fewer, the score is 0 and the
        label -1.
    """
    logits, boxes, centerness = split_outputs(points, outputs)
    # The geometric mean, as in the authors' code: scores stay near the class's probability.
    scores = tf.sqrt(tf.sigmoid(logits) * tf.sigmoid(centerness)[..., None])
    boxes = tf.clip_by_value(boxes / points.pixels, 0.0, 1.0)
    best = tf.reduce_max(scores, axis=-1)
    _, chosen = tf.math.top_k(best, k=min(_CANDIDATES, len(points)))
    boxes = tf.gather(boxes, chosen, batch_dims=1)
    scores = tf.gather(scores, chosen, batch_dims=1)
    kept = tf.image.combined_non_max_suppression(
        boxes[:, :, None],
        scores,
        max_output_size_per_class=MAX_DETECTIONS,
        max_total_size=MAX_DETECTIONS,
        iou_threshold=_IOU,
        score_threshold=_LEAST_SCORE,
    )
    is_box = tf.range(MAX_DETECTIONS) < kept.valid_detections[:, None]
    return {
        "boxes": kept.nmsed_boxes,
        "scores": kept.nmsed_scores,
        "labels": tf.where(is_box, tf.cast(kept.nmsed_classes, tf.int64), -1),
    }
