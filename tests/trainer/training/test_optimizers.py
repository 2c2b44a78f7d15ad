"""Optimizers by name, clipping by the global norm, and unsupported optimizers of users."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from trainer.errors import ConfigError
from trainer.options.train import OPTIMIZER_NAMES
from trainer.training.optimizers import OPTIMIZERS, check_optimizer, create_optimizer


def test_the_commands_offer_every_optimizer():
    assert set(OPTIMIZER_NAMES) == set(OPTIMIZERS)


@pytest.mark.parametrize(
    ("max_norm", "expected"),
    [
        pytest.param(None, (3.0, 4.0), id="no limit"),
        pytest.param(10.0, (3.0, 4.0), id="below the limit"),
        pytest.param(1.0, (0.6, 0.8), id="above the limit"),
    ],
)
def test_clipping_keeps_the_direction(max_norm, expected):
    optimizer = create_optimizer("sgd", 1.0, max_norm)
    variables = [keras.Variable(0.0), keras.Variable(0.0)]

    optimizer.apply([tf.constant(3.0), tf.constant(4.0)], variables)

    np.testing.assert_allclose([-float(variable) for variable in variables], expected, atol=1e-6)


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


@pytest.mark.parametrize("clip_norm", [None, 1.0])
def test_ours_pass(clip_norm):
    for name in ("adam", "adamw", "sgd"):
        check_optimizer(create_optimizer(name, 0.1, clip_norm))
