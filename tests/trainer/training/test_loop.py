"""The number of replicas changes only the rounding."""

import dataclasses
import functools
import time

import keras
import numpy as np
import pytest
import tensorflow as tf
from following import Follower
from tiers import first_in_ci

from trainer.training import loop


def run(plan, epochs=range(2)):
    """Run the epochs; return the weights, flattened, and the history."""
    follower = Follower(plan, epochs)
    loop.run(plan, follower)
    history = follower.history
    weights = np.concatenate([np.ravel(weight) for weight in plan.model.get_weights()])
    return weights, history


@pytest.fixture(scope="module")
def trained(make_plan, on_replicas):
    """A function of (replicas, optimizer options) that returns the result of 20 steps."""

    @functools.cache
    def get(replicas=1, **options):
        return run(make_plan(on_replicas(replicas), **options))

    return get


CLIPPED = {"clip_norm": 0.2}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("replicas", "options"),
    first_in_ci(
        [
            pytest.param(2, {}, id="two"),
            pytest.param(2, CLIPPED, id="clipped"),
            pytest.param(4, {**CLIPPED, "weight_decay": 0.01, "ema": 0.9}, id="decay and averages"),
        ]
    ),
)
def test_replicas_learn_what_one_learns(trained, replicas, options):
    weights, history = trained(replicas, **options)
    expected, rows = trained(**options)

    np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-5)
    assert [(epoch, [*row]) for epoch, row in history] == [(epoch, [*row]) for epoch, row in rows]
    for (_, found), (_, row) in zip(history, rows, strict=True):
        assert found == pytest.approx(row, abs=1e-5)
    assert not options or np.abs(trained()[0] - weights).max() > 1e-3


@pytest.mark.slow
def test_metrics_are_means_over_the_examples_of_the_epoch(make_plan, two_replicas):
    plan = make_plan(two_replicas, lambda: keras.optimizers.SGD(0.0), steps_per_epoch=3)
    losses, correct = [], []
    for inputs, target in plan.batches_from(0).take(3):
        outputs = plan.model(plan.task.prepare(inputs))
        losses += plan.task.loss(target, outputs).numpy().tolist()
        correct += plan.task.metrics["accuracy"](target, outputs).numpy().tolist()

    _, history = run(plan, epochs=range(1))

    expected = {"loss": np.mean(losses), "accuracy": np.mean(correct)}
    assert history[0][1] == pytest.approx(expected, abs=1e-5)


def regularised(strength):
    """Return a function that makes a model with its own regularisation loss."""
    regularizer = keras.regularizers.L2(strength)
    return lambda: keras.Sequential(
        [
            keras.Input((16, 16, 3)),
            keras.layers.Flatten(),
            keras.layers.Dense(3, kernel_regularizer=regularizer),
        ]
    )


@pytest.mark.slow
def test_regularization_counts_once_for_any_number_of_replicas(
    make_plan, one_replica, two_replicas
):
    one, two, free = (
        run(make_plan(strategy, model=regularised(strength), steps_per_epoch=5), epochs=range(1))[0]
        for strategy, strength in ((one_replica, 0.1), (two_replicas, 0.1), (one_replica, 0.0))
    )

    np.testing.assert_allclose(two, one, rtol=0, atol=1e-5)
    assert np.abs(one - free).max() > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("clip_norm", first_in_ci([None, 0.2]))
def test_an_overflow_on_one_replica_skips_the_step_on_both(make_plan, two_replicas, clip_norm):
    def scaled():
        return keras.optimizers.LossScaleOptimizer(
            keras.optimizers.SGD(0.01), initial_scale=2.0**10
        )

    plan = make_plan(two_replicas, scaled, steps_per_epoch=1, clip_norm=clip_norm)
    batches = plan.batches

    def overflowing(first_record):
        weights = tf.constant([1.0] * 4 + [float("inf")] + [1.0] * 3)  # on the second replica
        return batches(first_record=first_record).map(
            lambda inputs, target: (inputs, target, weights)
        )

    before = [weight.copy() for weight in plan.model.get_weights()]
    run(dataclasses.replace(plan, batches=overflowing), epochs=range(1))

    for mine, theirs in zip(plan.model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert float(plan.optimizer.dynamic_scale.numpy()) == 2.0**9

    run(plan, epochs=range(1, 2))
    changed = plan.model.get_weights()
    assert all(np.isfinite(each).all() for each in changed)
    assert any((mine != theirs).any() for mine, theirs in zip(changed, before, strict=True))


@pytest.mark.slow
def test_the_time_without_a_batch_is_measured(make_plan, one_replica):
    plan = make_plan(one_replica)

    def late(number):
        time.sleep(0.2)
        return number

    def late_batches(first_record):
        return plan.batches(first_record=first_record).map(
            lambda images, labels: (
                images,
                tf.ensure_shape(tf.numpy_function(late, [labels], tf.int64), labels.shape),
            )
        )

    late_plan = dataclasses.replace(plan, batches=late_batches)
    train_steps, batches = (
        loop.train_function(late_plan),
        iter(late_plan.distributed_batches(0)),
    )
    train_steps(batches, tf.constant(1), tf.constant(0.0))  # compiles
    began = time.monotonic()
    waiting_s = float(train_steps(batches, tf.constant(6), tf.constant(0.0))[2])
    seconds = time.monotonic() - began

    assert 0.5 * seconds <= waiting_s <= seconds
