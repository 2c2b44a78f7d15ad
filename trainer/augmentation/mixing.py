"""Mixup and CutMix: a record and its neighbour become two mixtures of them.

The first record of a global batch is mixed with the second, the third with the fourth, and so on;
the order has mixed them already. What is drawn depends on the seed, the step and the place in the
batch alone. So the mixtures are the same for any number of replicas and of workers.
"""

from typing import NamedTuple

import tensorflow as tf

from trainer.tensors import Tensor

# Instead of a pass, in the seeds of a batch.
_NO_PASS = -1


class Mixtures(NamedTuple):
    """What is drawn for pairs of records.

    Attributes:
        by_area: bool [pairs]: by CutMix rather than mixup.
        kept: float32 [pairs]: the share of a record that stays.
        center: float32 [pairs, 2]: of the area that CutMix exchanges, in 0..1.
    """

    by_area: Tensor
    kept: Tensor
    center: Tensor


def draw_mixtures(mixup: float, cutmix: float, seed: int, step: Tensor, num_pairs: int) -> Mixtures:
    """The mixtures of the global batch of a step, each by one of the two if both are on.

    Args:
        mixup: The parameter of the beta distribution of the shares; 0 is off.
            https://arxiv.org/abs/1710.09412
        cutmix: That of the shares of the area; 0 is off. https://arxiv.org/abs/1905.04899
        seed: Of the run.
        step: A scalar integer.
        num_pairs: In the global batch.
    """
    of_step = tf.random.experimental.stateless_fold_in(
        tf.constant([seed, _NO_PASS], tf.int64), tf.cast(step, tf.int64)
    )
    uniform = tf.random.stateless_uniform([num_pairs, 3], of_step)
    by_area = tf.fill([num_pairs], cutmix > 0)
    if mixup and cutmix:
        by_area = uniform[:, 0] < 0.5
    alpha = tf.where(by_area, tf.constant(cutmix, tf.float64), mixup)
    # A beta distribution; float64, of which both do not become 0 for small parameters.
    parts = tf.random.stateless_gamma(
        [2, num_pairs],
        tf.random.experimental.stateless_fold_in(of_step, 1),
        alpha,
        dtype=tf.float64,
    )
    kept = tf.cast(parts[0] / (parts[0] + parts[1]), tf.float32)
    return Mixtures(by_area, kept, uniform[:, 1:])


def mix(
    mixtures: Mixtures, images: Tensor, shares: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Mixes each record with its neighbour; shares and weights as the images.

    Args:
        mixtures: Of these pairs.
        images: uint8 or uint16 [2 * pairs, height, width, channels].
        shares: Of the classes, float32 [2 * pairs, classes].
        weights: Of the records, float32 [2 * pairs].
    """
    height, width = images.shape[1:3]
    inside, area = _areas(mixtures, height, width)
    kept = tf.where(mixtures.by_area, 1.0 - area, mixtures.kept)
    by_pixel = tf.where(
        mixtures.by_area[:, None, None],
        1.0 - tf.cast(inside, tf.float32),
        tf.broadcast_to(kept[:, None, None], tf.shape(inside)),
    )
    pixels = _blend(tf.cast(images, tf.float32), by_pixel[:, None, :, :, None])
    return (
        tf.ensure_shape(tf.cast(tf.round(pixels), images.dtype), images.shape),
        tf.ensure_shape(_blend(shares, kept[:, None, None]), shares.shape),
        tf.ensure_shape(_blend(weights, kept[:, None]), weights.shape),
    )


def _areas(mixtures: Mixtures, height: int, width: int) -> tuple[Tensor, Tensor]:
    """The pixels that CutMix exchanges, bool [pairs, height, width], and their share [pairs]."""
    sides = tf.cast([height, width], tf.float32)
    size = tf.sqrt(1.0 - mixtures.kept)[:, None] * sides
    middle = mixtures.center * sides
    first, last = tf.round(middle - size / 2.0), tf.round(middle + size / 2.0)
    rows, columns = tf.range(height, dtype=tf.float32), tf.range(width, dtype=tf.float32)
    in_rows = (rows >= first[:, :1]) & (rows < last[:, :1])
    in_columns = (columns >= first[:, 1:]) & (columns < last[:, 1:])
    inside = in_rows[:, :, None] & in_columns[:, None, :]
    return inside, tf.reduce_mean(tf.cast(inside, tf.float32), axis=(1, 2))


def _blend(values: Tensor, kept: Tensor) -> Tensor:
    """Of each pair, [2 * pairs, …], the share `kept`, [pairs, 1, …], and the rest of the other."""
    pairs = tf.reshape(values, tf.concat([[-1, 2], tf.shape(values)[1:]], axis=0))
    mixed = kept * pairs + (1.0 - kept) * tf.reverse(pairs, [1])
    return tf.reshape(mixed, tf.shape(values))
