"""Clipping and overflow checks of gradients over all replicas, before an optimizer applies them.

Keras's optimizers clip each replica's gradients before they sum them, and `LossScaleOptimizer`
looks for an overflow on the first replica only (with merge calls; otherwise on each for itself).
Call these functions on each replica.
"""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf


def clipped(gradients: Sequence[Any], max_norm: Any) -> list[Any]:
    """Clip the global norm of the gradients' sum over the replicas, for one optimizer on all.

    The optimizer sums the replicas' gradients once more, so the first replica returns the clipped
    sum and the others zeros: that is exact. An overflow on one replica becomes NaN on all. None
    stays None.
    """
    context = _replica_context()
    results, norm = tf.clip_by_global_norm(_sum(_given(gradients)), max_norm)
    if context.num_replicas_in_sync > 1:
        is_first = tf.equal(context.replica_id_in_sync_group, 0)
        rest = tf.where(tf.math.is_finite(norm), 0.0, float("nan"))
        results = [_where(is_first, each, rest) for each in results]
    remaining = iter(results)
    return [None if each is None else next(remaining) for each in gradients]


def with_overflow(gradients: Sequence[Any]) -> list[Any]:
    """Make the gradients NaN on all replicas if one of a replica is not finite."""
    finite = [tf.reduce_all(tf.math.is_finite(_values(each))) for each in _given(gradients)]
    num_overflows = _sum(1.0 - tf.cast(tf.reduce_all(finite), tf.float32))
    rest = tf.constant(float("nan"))
    return [
        None if each is None else _where(tf.equal(num_overflows, 0.0), each, rest)
        for each in gradients
    ]


def _given(gradients: Sequence[Any]) -> list[Any]:
    return [each for each in gradients if each is not None]


def _where(condition: Any, gradient: Any, otherwise: Any) -> Any:
    """Return a gradient, or one of its shape with the value `otherwise`."""
    if isinstance(gradient, tf.IndexedSlices):
        values = _where(condition, gradient.values, otherwise)
        return tf.IndexedSlices(values, gradient.indices, gradient.dense_shape)
    return tf.where(condition, gradient, tf.cast(otherwise, gradient.dtype))


def _values(gradient: Any) -> Any:
    return gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient


def _sum(values: Any) -> Any:
    return _replica_context().all_reduce(tf.distribute.ReduceOp.SUM, values)


def _replica_context() -> Any:
    return tf.distribute.get_replica_context()
