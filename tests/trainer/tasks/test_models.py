"""The model of a task: merged branches, or the user's own function."""

import dataclasses
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
from kinds_of_learning import training

from tfrecord_dataset.format.declaration import features_from_json
from trainer.errors import ConfigError
from trainer.tasks import Task, choose_task, models
from trainer.tasks.inputs.tabular import Numbers
from trainer.tasks.own_functions import find_function
from trainer.tasks.targets import NumberTarget, OneClass

IMAGE = {"kind": "image", "shape": [32, 32, 3]}
LABEL = {"kind": "class_label", "classes": ["a", "b", "c"]}

MODULE = '''
import keras

FACTOR = 2


@keras.saving.register_keras_serializable(package="mine")
class Doubled(keras.layers.Layer):
    def call(self, x):
        return FACTOR * x


def good(task):
    """Of all inputs, which are numbers; what the task says of them is all that it takes."""
    inputs = {
        name: keras.Input(each.shape, dtype=each.dtype, name=name)
        for name, each in task.inputs.items()
    }
    merged = keras.layers.Concatenate()(list(inputs.values()))
    x = keras.layers.BatchNormalization()(Doubled()(merged))
    return keras.Model(inputs, keras.layers.Dense(task.num_outputs, name=task.target)(x))


def wrong_inputs(task):
    return keras.Sequential([keras.Input((7,)), keras.layers.Dense(task.num_outputs)])


def wrong_outputs(task):
    model = good(task)
    return keras.Model(model.inputs, keras.layers.Dense(len(task.classes) + 1)(model.outputs[0]))


def no_model(task):
    return len(task.classes)


def unsaved(task):
    (each, *_) = task.inputs.values()
    inputs = {name: keras.Input(each.shape, name=name) for name, each in task.inputs.items()}
    return keras.Model(inputs, Hidden(task)(list(inputs.values())))


class Hidden(keras.layers.Layer):
    def __init__(self, task):
        super().__init__()
        self.dense = keras.layers.Dense(task.num_outputs)

    def call(self, x):
        return self.dense(keras.ops.concatenate(x, axis=-1))


def failing(task):
    raise RuntimeError("mine")
'''


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    """The working directory, with a module `own`."""
    (tmp_path / "own.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("own", None)


@pytest.fixture(scope="module")
def numbers():
    """A task of two numbers and three classes, with statistics."""
    return Task(
        name="tabular_classification",
        inputs={name: Numbers(name=name, size=1, mean=(2.0,), variance=(4.0,)) for name in "ab"},
        goal=OneClass(name="label", classes=("a", "b", "c")),
    )


def layers_of(model, *kinds):
    return [layer for layer in model._flatten_layers() if isinstance(layer, kinds)]


def test_one_image_goes_straight_to_the_classes():
    features = features_from_json({"image": IMAGE, "label": LABEL})
    task, _ = choose_task(features, training(image_size=(32, 48)))

    model = models.build(task)

    assert model.name == "small"
    assert model.input_shape == (None, 32, 48, 3)
    assert model.output_shape == (None, 3)
    assert [layer.name for layer in layers_of(model, keras.layers.Dense)] == ["logits"]
    assert not layers_of(model, keras.layers.BatchNormalization, keras.layers.Dropout)


def test_numbers_have_hidden_layers(numbers):
    model = models.build(numbers)

    assert {name: each.shape for name, each in model.input.items()} == dict.fromkeys(
        "ab", (None, 1)
    )
    assert len(layers_of(model, keras.layers.Dense)) == 2 + 1


@pytest.mark.slow
def test_a_model_of_keras_applications_is_a_branch():
    task, _ = choose_task(
        features_from_json({"image": IMAGE, "sex": LABEL, "label": LABEL}),
        training(inputs=["image", "sex"], image_size=32),
    )

    model = models.build(task, "MobileNet")

    assert "mobilenet" in str([layer.name for layer in model.layers])
    outputs = model({"image": np.zeros([2, 32, 32, 3]), "sex": np.array([[1], [0]])})
    assert outputs.shape == (2, 3)


def test_a_function_of_the_users_makes_the_model(own_module, numbers):
    model = models.model_from_function(numbers, find_function("own:good"), "--model-fn own:good")

    assert (model.output_shape, model.layers[-1].name) == ((None, 3), "label")


@pytest.mark.parametrize(
    ("goal", "target"),
    [
        pytest.param(OneClass(name="label", classes=("a", "b")), np.array([0, 1]), id="class"),
        pytest.param(
            NumberTarget(name="label", mean=(0.0,), variance=(1.0,)),
            np.ones([2, 1], np.float32),
            id="number",
        ),
    ],
)
def test_mixed_precision_ends_in_a_float32_loss(own_module, numbers, bfloat16, goal, target):
    task = dataclasses.replace(numbers, goal=goal)
    model = models.model_from_function(task, find_function("own:good"), "--model-fn own:good")
    values = {name: np.ones([2, 1]) for name in task.inputs}

    outputs = model(values)

    assert outputs.dtype == task.loss(target, outputs).dtype == tf.float32
    model.save(own_module / "model.keras")
    loaded = keras.models.load_model(own_module / "model.keras")
    np.testing.assert_array_equal(loaded(values), outputs)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        pytest.param("own:wrong_inputs", r"does not take the task's inputs, a float32", id="in"),
        pytest.param("own:wrong_outputs", r"\(None, 4\), but the task needs \(None, 3\)", id="out"),
        pytest.param("own:no_model", "returned int; return a keras.Model", id="no model"),
        pytest.param("own:unsaved", "own:unsaved cannot be saved", id="cannot be saved"),
        pytest.param("own:god", "no function 'god'; it has .*good", id="no such function"),
        pytest.param("own:FACTOR", "no function 'FACTOR'", id="no function"),
        pytest.param("os:system", "--model-fn os:system makes no model of a task", id="of Python"),
        pytest.param("sys:exit", "--model-fn sys:exit makes no model of a task", id="an exit"),
        pytest.param("own", "give package.module:function", id="no colon"),
        pytest.param("nowhere.to:be", "No module named 'nowhere'", id="no such module"),
    ],
)
def test_functions_that_do_not_suit(own_module, numbers, path, message):
    with pytest.raises(ConfigError, match=message):
        models.model_from_function(numbers, find_function(path), f"--model-fn {path}")


def test_what_a_function_itself_raises_passes(own_module, numbers):
    with pytest.raises(RuntimeError, match="mine"):
        models.model_from_function(numbers, find_function("own:failing"), "--model-fn own:failing")
