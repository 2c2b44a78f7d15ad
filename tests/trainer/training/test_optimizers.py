"""Optimizers, and fine-tuning of pretrained weights."""

import dataclasses
import functools

import keras
import numpy as np
import pytest
from following import Follower

from trainer.errors import ConfigError
from trainer.options.train_options import OPTIMIZER_NAMES, TrainConfig
from trainer.training import loop
from trainer.training.optimizers import (
    OPTIMIZERS,
    backbones,
    change_of_cosine,
    check_optimizer,
    create_optimizer,
    head_steps,
    schedule,
)


def sgd(**settings):
    return lambda: keras.optimizers.SGD(**settings)


@pytest.mark.parametrize(
    ("optimizer", "message"),
    [
        (sgd(clipnorm=1.0), "--clip-norm"),
        (sgd(global_clipnorm=1.0), "--clip-norm"),
        (sgd(clipvalue=1.0), "--clip-norm"),
        (lambda: keras.optimizers.LossScaleOptimizer(sgd()()), "mixed_bfloat16"),
        (sgd(gradient_accumulation_steps=2), "larger --batch-size"),
        (sgd(use_ema=True, ema_overwrite_frequency=2), "leave it out"),
    ],
)
def test_faulty_optimizers_are_refused(optimizer, message):
    with pytest.raises(ConfigError, match=message):
        check_optimizer(optimizer())


def test_ours_pass_and_the_commands_offer_them():
    assert set(OPTIMIZER_NAMES) == set(OPTIMIZERS)
    for name in OPTIMIZERS:
        check_optimizer(create_optimizer(name, 0.1))


def rates(steps, **options):
    config = TrainConfig(data="", output="", epochs=6, weights="w.h5", **options)
    rate = schedule(config, 10)
    return [float(rate(step)) if callable(rate) else rate for step in steps]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({}, [1e-3, 1e-3, 1e-4 / 9, 1e-4, 1e-4], id="the head, then a tenth"),
        pytest.param({"head_epochs": 0}, [1e-4] * 5, id="all at once"),
        pytest.param({"head_epochs": 6}, [1e-3] * 5, id="only the head"),
        pytest.param(
            {"learning_rate": 2e-3, "warmup_steps": 2},
            [2e-3, 2e-3, 1e-4, 2e-4, 2e-4],
            id="another rate, a shorter rise",
        ),
        pytest.param(
            {"schedule": "cosine", "learning_rate": 1.0},
            [1.0, 1.0, 0.1 / 9, 0.1 * 0.5 * (1 + np.cos(np.pi / 31)), 0.0],
            id="half a cosine for all",
        ),
    ],
)
def test_the_rate_by_step(options, expected):
    assert rates([0, 19, 20, 30, 60], **options) == pytest.approx(expected, rel=1e-5, abs=1e-9)


def test_more_epochs_leave_the_rates_of_the_first_ones():
    fewer, more = (
        schedule(TrainConfig(data="", output="", epochs=epochs, weights="w.h5"), 10)
        for epochs in (3, 30)
    )

    assert [float(fewer(step)) for step in range(30)] == [float(more(step)) for step in range(30)]


@pytest.mark.parametrize(
    ("options", "number"),
    [
        ({"schedule": "cosine", "epochs": 4}, 1),
        ({"schedule": "cosine", "epochs": 2}, 0),
        ({"schedule": "constant", "epochs": 4}, 0),
    ],
)
def test_more_epochs_make_another_cosine(options, number):
    previous = TrainConfig(data="", output="", epochs=2, schedule="cosine")
    found = [*change_of_cosine(TrainConfig(data="", output="", **options), previous, 10, 20)]
    assert len(found) == number
    assert all("continues at 0.0005, instead of 0, and falls" in line for line in found)


def test_without_weights_no_head_phase():
    assert head_steps(TrainConfig(data="", output=""), 10) == 0
    assert head_steps(TrainConfig(data="", output="", weights="w.h5"), 10) == 20


def with_backbone():
    image = keras.Input((16, 16, 3))
    backbone = keras.Sequential(
        [
            keras.Input((16, 16, 3)),
            keras.layers.Conv2D(4, 3, strides=2),
            keras.layers.BatchNormalization(momentum=0.5, synchronized=True),
            keras.layers.ReLU(),
            keras.layers.Flatten(),
        ]
    )
    return keras.Model(image, keras.layers.Dense(3)(backbone(image)))


@pytest.fixture(scope="module")
def trained(make_plan, on_replicas):
    """A function of (replicas, steps) that returns the weights of backbone and head."""

    @functools.cache
    def get(replicas, steps):
        options = {"model": with_backbone, "steps_per_epoch": 3, "ema": 0.9, "weight_decay": 0.1}
        plan = make_plan(on_replicas(replicas), **options)
        plan = dataclasses.replace(plan, backbones=backbones(plan.model), head_steps=3)
        if steps:
            loop.run(plan, Follower(plan, range(steps // 3)))
        (backbone,) = plan.backbones
        assert all(layer.trainable for layer in plan.model._flatten_layers())
        return backbone.get_weights(), plan.model.layers[-1].get_weights()

    return get


@pytest.mark.slow
def test_the_head_learns_first_then_all(trained):
    before, after_head, after_all = (trained(1, steps) for steps in (0, 3, 6))

    for mine, theirs in zip(after_head[0], before[0], strict=True):
        np.testing.assert_array_equal(mine, theirs)  # also statistics, despite weight decay
    assert all((mine != old).any() for mine, old in zip(after_head[1], before[1], strict=True))
    for part in range(2):
        for mine, theirs in zip(after_all[part], after_head[part], strict=True):
            assert (mine != theirs).any()


@pytest.mark.slow
def test_replicas_learn_the_same(trained):
    for one, two in zip(trained(1, 6), trained(2, 6), strict=True):
        for mine, theirs in zip(one, two, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-5)
