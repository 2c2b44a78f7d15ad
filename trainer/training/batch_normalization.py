"""Synchronisation of batch normalisation's moving averages between replicas.

Unless synchronised, Keras's batch normalisation computes statistics and moving averages from the
replica's own part of a batch. The saved model has those of the first replica.
"""

from collections.abc import Callable

import keras
import tensorflow as tf


def is_apart(model: keras.Model) -> bool:
    """Whether `model` has batch normalisation that is not synchronised."""
    return any(
        isinstance(layer, keras.layers.BatchNormalization) and not layer.synchronized
        for layer in model._flatten_layers()
    )


def equaliser(model: keras.Model, strategy: tf.distribute.Strategy) -> Callable[[], None]:
    """Make a function that copies the first replica's statistics to all replicas and workers.

    Every replica then evaluates the model that is saved. Training does not depend on them.
    """
    kept = [
        each.value for each in model.non_trainable_variables if tf.as_dtype(each.dtype).is_floating
    ]
    if strategy.num_replicas_in_sync == 1 or not kept:
        return lambda: None

    def of_replica() -> None:
        context = tf.distribute.get_replica_context()
        is_first = tf.equal(context.replica_id_in_sync_group, 0)
        own = [tf.where(is_first, each, tf.zeros_like(each)) for each in kept]
        for variable, value in zip(
            kept, context.all_reduce(tf.distribute.ReduceOp.SUM, own), strict=True
        ):
            variable.assign(value)

    return tf.function(lambda: strategy.run(of_replica), autograph=False)  # type: ignore[no-any-return]
