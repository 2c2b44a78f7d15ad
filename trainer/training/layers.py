"""Layers whose state differs between replicas: batch normalisation and random layers.

Unless synchronised, Keras's batch normalisation computes statistics and moving averages from the
replica's own part of a batch; the saved model has those of the first replica. Keras's random
generators keep counters in variables: all replicas of a strategy draw the same numbers, and a
resumed run repeats those of its first steps.
"""

import functools
import weakref
from collections.abc import Callable
from typing import Any

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


# Number of draws by graph.
Draws = weakref.WeakKeyDictionary[Any, int]


def seed_by_step(
    model: keras.Model, optimizer: keras.optimizers.Optimizer, seed: int | None
) -> None:
    """Make the random layers of `model` draw by (seed, the optimizer's step, replica).

    Applies inside a `tf.function`; otherwise they draw as in Keras.
    """
    optimizer = inner_optimizer(optimizer)
    start = np.array([seed or 0, 0], np.uint32).view(np.int32)
    draws: Draws = weakref.WeakKeyDictionary()
    layers = model._flatten_layers()
    generators = {id(each): each for layer in layers for each in layer._seed_generators}
    for generator in generators.values():
        generator.next = functools.partial(_draw, generator.next, optimizer, start, draws)


def _draw(
    draw_as_keras: Any,
    optimizer: keras.optimizers.Optimizer,
    start: Any,
    draws: Draws,
    ordered: bool = True,
) -> Any:
    """Return a seed, int32 [2]."""
    if tf.executing_eagerly():
        return draw_as_keras(ordered)
    context = tf.distribute.get_replica_context()
    replica = context.replica_id_in_sync_group if context else 0
    fold_in = tf.random.experimental.stateless_fold_in
    step = tf.cast(tf.convert_to_tensor(optimizer.iterations.value), tf.int32)
    key = fold_in(fold_in(tf.constant(start), step), tf.cast(replica, tf.int32))
    return key + tf.constant([_next(draws), 0])


def _next(draws: Draws) -> int:
    """Number this draw in the outermost graph, equally in each trace."""
    graph = tf.compat.v1.get_default_graph()
    while getattr(graph, "outer_graph", None) is not None and hasattr(graph.outer_graph, "inputs"):
        graph = graph.outer_graph
    draws[graph] = draws.get(graph, -1) + 1
    return draws[graph]
