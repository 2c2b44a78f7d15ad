"""Optimizers by name, and clipping by the global norm."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from trainer.options.train import OPTIMIZER_NAMES
from trainer.training.optimizers import OPTIMIZERS, create_optimizer


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

    np.testing.assert_allclose([-float(each) for each in variables], expected, atol=1e-6)
