"""The task by the schema, and classification's own parts."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from trainer.errors import ConfigError, UnknownNameError
from trainer.features import features_from_json
from trainer.tasks import choose_task

IMAGE = {"kind": "image"}
LABEL = {"kind": "class_label", "classes": ["a", "b"]}


def test_auto_chooses_by_the_schema_and_says_why():
    features = features_from_json({"picture": IMAGE, "kind": LABEL, "age": {"kind": "text"}})

    task, reason = choose_task("auto", features)

    assert (task.name, task.features, task.target) == (
        "classification",
        ("picture", "kind"),
        "kind",
    )
    assert reason == "the dataset has an image 'picture' and a class label 'kind' with 2 classes"


def test_the_usual_names_win_and_target_names_another():
    features = features_from_json({"image": IMAGE, "mask": IMAGE, "label": LABEL, "sex": LABEL})

    assert choose_task("auto", features)[0].features == ("image", "label")
    assert choose_task("classification", features, "sex")[0].target == "sex"


@pytest.mark.parametrize(
    ("declared", "name", "target", "error", "message"),
    [
        pytest.param(
            {"image": IMAGE, "boxes": {"kind": "boxes"}},
            "auto",
            None,
            ConfigError,
            r"no task suits .*boxes \(boxes\)",
            id="no label",
        ),
        pytest.param(
            {"label": LABEL}, "classification", None, ConfigError, "kind 'image'", id="no image"
        ),
        pytest.param(
            {"image": IMAGE, "sex": LABEL, "age": LABEL},
            "auto",
            None,
            ConfigError,
            "name one by --target",
            id="several labels",
        ),
        pytest.param(
            {"image": IMAGE, "sex": LABEL, "age": LABEL},
            "auto",
            "aeg",
            UnknownNameError,
            "did you mean 'age'",
            id="target",
        ),
        pytest.param(
            {"image": IMAGE, "label": {"kind": "class_label"}},
            "auto",
            None,
            ConfigError,
            "states no classes",
            id="no classes",
        ),
        pytest.param(
            {"image": IMAGE, "label": LABEL},
            "clasification",
            None,
            UnknownNameError,
            "did you mean 'classification'",
            id="unknown task",
        ),
    ],
)
def test_what_does_not_suit(declared, name, target, error, message):
    with pytest.raises(error, match=message):
        choose_task(name, features_from_json(declared), target)


@pytest.fixture(scope="module")
def task():
    return choose_task("auto", features_from_json({"image": IMAGE, "label": LABEL}))[0]


def test_loss_and_accuracy_by_example(task):
    logits = tf.constant([[2.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    target = tf.constant([0, 1, 1])

    expected = [np.log1p(np.exp(-2)), np.log1p(np.exp(-1)), np.log1p(np.exp(1))]
    np.testing.assert_allclose(task.loss(target, logits), expected, rtol=1e-5)
    assert task.metrics["accuracy"](target, logits).numpy().tolist() == [1, 1, 0]


def test_images_are_scaled_to_0_to_1(task):
    np.testing.assert_allclose(task.prepare(tf.constant([0, 51, 255], tf.uint8)), [0, 0.2, 1])


@pytest.mark.parametrize("label", [-1, 2])
def test_labels_that_are_no_class_are_an_error(task, label):
    batches = tf.data.Dataset.from_tensors((tf.zeros([2]), tf.constant([0, label]))).map(task.check)

    with pytest.raises(tf.errors.InvalidArgumentError, match="not one of the 2 classes"):
        next(iter(batches))


def test_labels_that_are_classes_pass(task):
    batches = tf.data.Dataset.from_tensors((tf.zeros([2]), tf.constant([0, 1]))).map(task.check)

    _, target = next(iter(batches))

    assert target.numpy().tolist() == [0, 1]


def test_the_model_has_an_output_a_class(task):
    model = task.build_model("small", (32, 48), None)

    assert model.input_shape == (None, 32, 48, 3)
    assert model.output_shape == (None, 2)
    assert not any(
        isinstance(layer, keras.layers.BatchNormalization | keras.layers.Dropout)
        for layer in model._flatten_layers()
    )
