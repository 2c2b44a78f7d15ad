"""These tests need GPUs; `make test-gpu` runs them, and fails without one."""

import pytest
import tensorflow as tf


@pytest.fixture(scope="session", autouse=True)
def gpus():
    """The machine's GPUs."""
    found = tf.config.list_physical_devices("GPU")
    if not found:
        pytest.fail("TensorFlow finds no GPU on this machine; these tests need one")
    return found
