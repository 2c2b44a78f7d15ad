"""The loss of the detector, equal for any number of replicas."""

import tensorflow as tf

from trainer.tasks.detection.points import Assigned, Points, assign
from trainer.tensors import Tensor

_ALPHA, _GAMMA = 0.25, 2.0
_EPSILON = 1e-7


def detection_loss(points: Points, target: dict[str, Tensor], outputs: Tensor) -> Tensor:
    """The loss of each example; its mean over the global batch is FCOS's loss: float32 [b].

    Each example's sum is divided by the number of positive points in the *global* batch, summed
    over the replicas, so the summed gradients equal those of one replica with all examples. The
    target is from `BoxesTarget.with_totals`, or a part of that batch.
    """
    assigned: Assigned = target["assigned"]
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


def assigned_to(points: Points, target: dict[str, Tensor]) -> Assigned:
    """Assign each point its target; boxes around crowds are background."""
    labels = tf.where(target["crowd"], tf.constant(-1, tf.int64), target["labels"])
    return assign(points, target["boxes"], labels)


def batch_totals(assigned: Assigned, records: Tensor) -> Tensor:
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
