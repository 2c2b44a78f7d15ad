"""The number of replicas and the loop change nothing but rounding."""

import keras
import numpy as np
import pytest

from trainer import keras_fit, training
from trainer.progress import Progress
from trainer.tasks import image_models

LOOPS = {"custom": training.run_epochs, "fit": keras_fit.run_epochs}


def run(plan, loop="custom", epochs=range(2)):
    """Runs the epochs; returns the weights, one after the other, and the history."""
    history = []
    LOOPS[loop](plan, epochs, lambda epoch, row: history.append((epoch, row)), Progress(quiet=True))
    weights = np.concatenate([np.ravel(each) for each in plan.model.get_weights()])
    return weights, history


@pytest.fixture(scope="module")
def trained(make_plan, one_replica, two_replicas):
    """A function (loop, number of replicas, clip norm) to weights and history of 20 steps."""
    results = {}

    def get(loop, replicas, clip_norm=None):
        key = (loop, replicas, clip_norm)
        if key not in results:
            strategy = {1: one_replica, 2: two_replicas}[replicas]
            results[key] = run(make_plan(strategy, clip_norm=clip_norm), loop)
        return results[key]

    return get


@pytest.mark.slow
@pytest.mark.parametrize("clip_norm", [None, 0.2])
@pytest.mark.parametrize("loop", ["custom", "fit"])
def test_two_replicas_learn_what_one_learns(trained, loop, clip_norm):
    one, history_of_one = trained(loop, 1, clip_norm)
    two, history_of_two = trained(loop, 2, clip_norm)

    np.testing.assert_allclose(two, one, rtol=0, atol=1e-5)
    for (_, row), (_, other) in zip(history_of_one, history_of_two, strict=True):
        assert other == pytest.approx(row, abs=1e-5)


@pytest.mark.slow
def test_clipping_bites(trained):
    free, _ = trained("custom", 1)
    clipped, _ = trained("custom", 1, 0.2)

    assert np.abs(free - clipped).max() > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("clip_norm", [None, 0.2])
def test_fit_learns_what_the_custom_loop_learns(trained, clip_norm):
    custom, custom_history = trained("custom", 2, clip_norm)
    fit, fit_history = trained("fit", 2, clip_norm)

    np.testing.assert_allclose(fit, custom, rtol=0, atol=1e-5)
    for (epoch, row), (fit_epoch, fit_row) in zip(custom_history, fit_history, strict=True):
        assert epoch == fit_epoch
        assert list(row) == list(fit_row)
        assert fit_row == pytest.approx(row, abs=1e-5)


def test_the_loss_falls(trained):
    _, history = trained("custom", 2)

    assert [epoch for epoch, _ in history] == [0, 1]
    assert history[1][1]["loss"] < history[0][1]["loss"] * 0.8


@pytest.mark.slow
def test_keras_own_clipping_would_depend_on_the_replicas(make_plan, one_replica, two_replicas):
    """Why `SumThenClip` exists: when this fails, Keras has mended it."""

    def keras_clipping():
        return keras.optimizers.SGD(0.01, momentum=0.9, global_clipnorm=0.2)

    one, _ = run(make_plan(one_replica, keras_clipping, steps_per_epoch=5))
    two, _ = run(make_plan(two_replicas, keras_clipping, steps_per_epoch=5))

    assert np.abs(one - two).max() > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("loop", ["custom", "fit"])
def test_a_run_goes_on_at_an_epoch_as_if_it_had_not_stopped(trained, make_plan, one_replica, loop):
    whole, history = trained(loop, 1)
    plan = make_plan(one_replica)

    run(plan, loop, range(1))
    resume_config, rest = run(plan, loop, range(1, 2))

    np.testing.assert_allclose(resume_config, whole, rtol=0, atol=1e-6)
    assert rest[0][0] == 1
    assert rest[0][1] == pytest.approx(history[1][1], abs=1e-6)


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


@pytest.mark.slow
def test_the_small_model_learns_the_same_on_two_replicas(make_plan, one_replica, two_replicas):
    def small():
        image = keras.Input((16, 16, 3))
        return keras.Model(image, keras.layers.Dense(3)(image_models.encode("small", image, None)))

    one, _ = run(make_plan(one_replica, model=small), epochs=range(1))
    two, _ = run(make_plan(two_replicas, model=small), epochs=range(1))

    np.testing.assert_allclose(two, one, rtol=0, atol=1e-5)


@pytest.mark.slow
def test_regularization_counts_once_for_any_number_of_replicas(
    make_plan, one_replica, two_replicas
):
    def trained_kernel(strategy, strength):
        def model():
            regularizer = keras.regularizers.L2(strength)
            return keras.Sequential(
                [
                    keras.Input((16, 16, 3)),
                    keras.layers.Flatten(),
                    keras.layers.Dense(3, kernel_regularizer=regularizer),
                ]
            )

        return run(make_plan(strategy, model=model, steps_per_epoch=5), epochs=range(1))[0]

    one, two = trained_kernel(one_replica, 0.1), trained_kernel(two_replicas, 0.1)

    np.testing.assert_allclose(two, one, rtol=0, atol=1e-5)
    assert np.abs(one - trained_kernel(one_replica, 0.0)).max() > 1e-4
