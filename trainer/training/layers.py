"""Layers whose state differs between replicas: batch normalisation and random layers.

Unless synchronised, Keras's batch normalisation computes statistics and moving averages from the
replica's own part of a batch; the saved model has those of the first replica. Keras's random
generators keep counters in variables: all replicas of a strategy draw the same numbers, and a
resumed run repeats those of its first steps.
"""

from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

from trainer.training.optimizers import inner_optimizer


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


def seeding(
    model: keras.Model, optimizer: keras.optimizers.Optimizer, seed: int | None
) -> Callable[[], None]:
    """Make a function that seeds the random layers of a model by (seed, step, replica).

    Call it at the start of a step, on each replica. The states of Keras's seed generators are the
    variables of a model that its weights do not contain.
    """
    optimizer = inner_optimizer(optimizer)
    start = np.array([seed or 0, 0], np.uint32).view(np.int32)
    weights = {id(each) for each in model.weights}
    states = [
        each
        for each in model.variables
        if id(each) not in weights and each.shape == (2,) and tf.as_dtype(each.dtype).is_integer
    ]

    def seed_layers() -> None:
        context = tf.distribute.get_replica_context()
        fold_in = tf.random.experimental.stateless_fold_in
        step = tf.cast(tf.convert_to_tensor(optimizer.iterations.value), tf.int32)
        replica = tf.cast(context.replica_id_in_sync_group, tf.int32)
        key = fold_in(fold_in(tf.constant(start), step), replica)
        for number, state in enumerate(states):
            state.assign(tf.cast(fold_in(key, number), state.dtype))

    return seed_layers if states else lambda: None
