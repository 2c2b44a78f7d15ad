"""What is expected of each private part of Keras and TensorFlow (`trainer.private_parts`)."""

import keras
import pytest
import tensorflow as tf


@pytest.fixture
def nested():
    """A model with cells in a layer in a model."""
    wrapped = keras.layers.Bidirectional(keras.layers.LSTM(2, dropout=0.5))
    return keras.Sequential([keras.Input((3, 4)), keras.Sequential([wrapped])])


def test_flatten_layers(nested):
    kinds = [type(layer).__name__ for layer in nested._flatten_layers()]
    assert kinds.count("LSTMCell") == 2
    assert nested in nested._flatten_layers()


def test_trainable_variables():
    """Also those that are frozen since: their averages have the same places."""
    layer = keras.layers.Dense(1)
    layer.build((None, 2))
    optimizer = keras.optimizers.SGD(use_ema=True)
    optimizer.build(layer.trainable_variables)
    built = layer.trainable_variables
    layer.trainable = False

    assert [each.path for each in optimizer._trainable_variables] == [each.path for each in built]


def test_internal():
    convert = tf.__internal__.autograph.tf_convert
    context = tf.__internal__.autograph.control_status_ctx()
    assert callable(convert)
    assert context is not None


def test_tensorflow_python_framework_config():
    from tensorflow.python.framework.config import is_op_determinism_enabled

    assert is_op_determinism_enabled() in (True, False)
