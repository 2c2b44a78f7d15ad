"""The loss of the segmenter: of each image alone, so it is the same on any number of replicas."""

import tensorflow as tf

from trainer.tensors import Tensor


def segmentation_loss(
    labels: Tensor, outputs: Tensor, weights: Tensor | None = None, dice: float = 0.0
) -> Tensor:
    """The loss of each image, float32 [b]: means over its labelled pixels, 0 without any.

    Args:
        labels: [b, height, width]: class numbers; those from the number of classes on are ignored.
        outputs: Logits, float32 [b, height, width, classes].
        weights: Of the pixels in the cross entropy, float32 [b, height, width]; None for 1.
        dice: The weight of the Dice loss beside the cross entropy.
    """
    labels = tf.cast(labels, tf.int32)
    num_classes = outputs.shape[-1]
    is_labelled = labels < num_classes
    share = tf.cast(is_labelled, tf.float32)
    share /= tf.maximum(tf.reduce_sum(share, axis=[1, 2], keepdims=True), 1.0)
    known = tf.where(is_labelled, labels, 0)
    cross = tf.nn.sparse_softmax_cross_entropy_with_logits(known, outputs)
    weighted = share if weights is None else share * weights
    loss = tf.reduce_sum(cross * weighted, axis=[1, 2])
    if dice:
        loss += dice * _dice_loss(tf.one_hot(known, num_classes), tf.nn.softmax(outputs), share)
    return loss


def _dice_loss(wanted: Tensor, predicted: Tensor, share: Tensor) -> Tensor:
    """1 - the Dice coefficients of the classes in each image, their mean: https://arxiv.org/abs/1606.04797.

    Args:
        wanted: One-hot, float32 [b, height, width, classes].
        predicted: Probabilities, likewise.
        share: Of each pixel, float32 [b, height, width]: 0 for those that are ignored.
    """
    of_pixels = share[..., None]
    both = tf.reduce_sum(wanted * predicted * of_pixels, axis=[1, 2])  # [b, classes]
    wanted_area = tf.reduce_sum(wanted * of_pixels, axis=[1, 2])
    predicted_area = tf.reduce_sum(predicted * of_pixels, axis=[1, 2])
    occurs = tf.cast(wanted_area > 0, tf.float32)
    missed = occurs * (1.0 - tf.math.divide_no_nan(2.0 * both, wanted_area + predicted_area))
    return tf.math.divide_no_nan(tf.reduce_sum(missed, axis=-1), tf.reduce_sum(occurs, axis=-1))
