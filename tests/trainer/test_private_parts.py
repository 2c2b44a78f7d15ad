"""Private parts of Keras and TensorFlow that the trainer uses.

A name that a release moves fails here, with the reason for its use.
"""

import ast
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

import trainer

# Private attributes of Keras's and TensorFlow's objects, and imported modules, by use.
USED = {
    "_flatten_layers": "all layers, also of nested models and layers",
    "_layers": "whether a layer has layers of its own, to freeze only the others",
    "_seed_generators": "the random generators of a layer, whose draws follow the step",
    "_trainable_variables": "the variables that an optimizer averages, also frozen ones",
    "__internal__": "to convert users' functions by AutoGraph inside of unconverted ones",
    "tensorflow.python.framework.config": "whether operations are deterministic",
}
# Public in spite of their names: of namedtuples and of `os`.
_PUBLIC = {"_asdict", "_replace", "_exit"}
_PRIVATE_MODULES = ("keras.src", "tensorflow.python")


def private_names(source):
    """Yield private attributes of other objects than `self`, and imports of private modules."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            owner = node.value
            is_own = isinstance(owner, ast.Name) and owner.id in ("self", "cls")
            is_base = isinstance(owner, ast.Call) and ast.unparse(owner.func) == "super"
            is_special = node.attr.endswith("__") and node.attr != "__internal__"
            if not (is_own or is_base or is_special):
                yield node.attr
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_PRIVATE_MODULES):
            yield node.module


def test_the_table_is_complete():
    files = Path(trainer.__file__).parent.rglob("*.py")
    found = {name for file in files for name in private_names(file.read_text(encoding="utf-8"))}

    assert found - _PUBLIC == USED.keys()


@pytest.fixture
def nested():
    """A model with cells in a layer in a model."""
    wrapped = keras.layers.Bidirectional(keras.layers.LSTM(2, dropout=0.5))
    return keras.Sequential([keras.Input((3, 4)), keras.Sequential([wrapped])])


def test_flatten_layers(nested):
    kinds = [type(layer).__name__ for layer in nested._flatten_layers()]
    assert kinds.count("LSTMCell") == 2
    assert nested in nested._flatten_layers()


def test_layers(nested):
    has_layers = {type(layer).__name__: bool(layer._layers) for layer in nested._flatten_layers()}
    assert has_layers["Bidirectional"]
    assert not has_layers["LSTMCell"]


def test_seed_generators():
    dropout = keras.layers.Dropout(0.5)
    [generator] = dropout._seed_generators
    drawn = []
    generator.next = lambda ordered=True: drawn.append(ordered) or tf.constant([1, 2])

    dropout(np.ones((1, 4), np.float32), training=True)

    assert drawn == [True]


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
