"""Gradients over all replicas, before an optimizer applies them."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from tiers import first_in_ci

from trainer.training.gradients import clipped, with_overflow


def applied(strategy, change, parts, optimizer=None):
    """Apply each replica's gradients as changed to variables of 0, at rate 1; return their change.

    `parts` has a list of gradients by replica; None is a gradient that does not exist.
    """
    with strategy.scope():
        variables = [keras.Variable(tf.zeros(np.shape(each))) for each in parts[0] if each]
        missing = keras.Variable(0.0)
        optimizer = optimizer() if optimizer else keras.optimizers.SGD(1.0)
        optimizer.build([missing, *variables])

    def step():
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        own = [None, *(tf.gather(each, replica) for each in zip(*parts, strict=True))]
        changed = change(own)
        assert changed[0] is None
        optimizer.apply(changed[1:], variables)

    tf.function(lambda: strategy.run(step), autograph=False)()
    return [(-variable.numpy()).tolist() for variable in variables], optimizer


SUM = [[3.0, 0.0], [4.0]]  # of norm 5


@pytest.mark.parametrize("replicas", [1, 2, 3])
@pytest.mark.parametrize(
    ("max_norm", "expected"),
    [
        pytest.param(10.0, SUM, id="below the limit"),
        pytest.param(2.5, [[1.5, 0.0], [2.0]], id="above the limit"),
    ],
)
def test_the_norm_of_the_sum_is_clipped(on_replicas, replicas, max_norm, expected):
    parts = [SUM] if replicas == 1 else [[[3.0, 0.0], [0.0]], [[0.0, 0.0], [4.0]]]
    parts += [[[0.0, 0.0], [0.0]]] * (replicas - len(parts))

    changed, _ = applied(on_replicas(replicas), lambda each: clipped(each, max_norm), parts)

    assert changed == expected


@pytest.mark.parametrize(
    "change", [with_overflow, lambda gradients: clipped(gradients, 1.0)], ids=["", "clipped"]
)
@pytest.mark.parametrize("value", first_in_ci([float("inf"), float("nan")], 1))
@pytest.mark.parametrize("replica", first_in_ci([None, 0, 1, 2], 2))
def test_an_overflow_on_any_replica_skips_the_step(on_replicas, change, value, replica):
    parts = [[[0.25, 0.0], [0.5]], [[0.0, 0.0], [0.0]], [[0.0, 0.0], [0.0]]]
    if replica is not None:
        parts[replica][1] = [value]

    changed, optimizer = applied(
        *(on_replicas(3), change, parts),
        lambda: keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(1.0), initial_scale=2.0),
    )

    is_applied = replica is None
    assert changed == ([[0.125, 0.0], [0.25]] if is_applied else [[0.0, 0.0], [0.0]])
    assert float(optimizer.dynamic_scale.numpy()) == (2.0 if is_applied else 1.0)
    assert int(optimizer.iterations.numpy()) == is_applied


@pytest.mark.parametrize("change", [with_overflow, lambda gradients: clipped(gradients, 1.0)])
def test_every_replica_sees_the_overflow(on_replicas, change):
    """Without merge calls, `LossScaleOptimizer` decides on each replica for itself."""
    strategy = on_replicas(2)

    def step():
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        return change([tf.gather([[1.0], [float("inf")]], replica)])

    changed = tf.function(lambda: strategy.run(step), autograph=False)()

    [by_replica] = map(strategy.experimental_local_results, changed)
    assert np.isnan(by_replica).all()


def test_rows_of_embeddings_stay_rows():
    rows = tf.IndexedSlices(tf.constant([[3.0], [4.0]]), tf.constant([1, 0]), [9, 1])
    too_large = tf.IndexedSlices(tf.constant([[1.0], [float("inf")]]), tf.constant([1, 0]), [9, 1])

    [short], [same] = clipped([rows], 2.5), with_overflow([rows])
    dense, marked = with_overflow([tf.constant([1.0]), too_large])

    np.testing.assert_allclose(short.values, [[1.5], [2.0]])
    np.testing.assert_array_equal(same.values, rows.values)
    assert np.isnan(dense).all()
    assert np.isnan(marked.values).all()
