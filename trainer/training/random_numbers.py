"""Random layers, such as dropout, as a function of (seed, step, replica).

Keras's generators keep counters in variables: all replicas of a strategy draw the same numbers,
and a resumed run repeats those of its first steps.
"""

import functools
import weakref
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from trainer.training.optimizers import inner_optimizer

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
    for generator in _generators(model):
        generator.next = functools.partial(_draw, generator.next, optimizer, start, draws)


def _generators(model: keras.Model) -> Iterator[Any]:
    states = {}
    for layer in model._flatten_layers():
        for generator in layer._seed_generators:
            states[id(generator)] = generator
    return iter(states.values())


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
