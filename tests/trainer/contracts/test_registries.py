"""Contracts of the trainer's registries: kinds of tasks, targets, models, metrics, inputs."""

import keras
import pytest
import tensorflow as tf
from kinds_of_learning import KINDS, learned

import trainer
from trainer.metrics import METRICS, metric_named
from trainer.task_kinds import TASK_KINDS
from trainer.tasks import models
from trainer.tasks.inputs import keras_inputs, single_or_dict
from trainer.tasks.targets import TARGETS

# A dataset of each kind of target.
OF_TARGETS = {
    "class": "names",
    "classes": "several labels",
    "multi_hot": "multi hot",
    "numbers": "two numbers",
    "boxes": "boxes",
    "map": "segmentation",
}
OWN_MODELS = [model for model in models.MODELS if not model.takes_weights]


@pytest.fixture(scope="module")
def task_of(directory_of):
    """A function from a kind of target to its task, with statistics."""

    def get(kind):
        return learned(trainer.open(directory_of(OF_TARGETS[kind])), image_size=32)

    return get


def test_each_kind_of_task_has_targets_and_a_model():
    assert {target.learns for target in TARGETS.values()} == {*TASK_KINDS}
    assert {kind for model in OWN_MODELS for kind in model.learns} == {*TASK_KINDS}
    assert OF_TARGETS.keys() == TARGETS.keys()
    assert {*OF_TARGETS.values()} <= {*KINDS}


@pytest.mark.parametrize("kind", TARGETS)
def test_a_target_is_learned_by_its_default_model(kind, task_of, bfloat16):
    """The outputs are float32 in mixed precision, too."""
    task = task_of(kind)
    model = models.build(task)
    inputs = keras_inputs(task.inputs)

    outputs = model(single_or_dict(inputs))

    assert (outputs.shape, outputs.dtype) == ((None, *task.output_shape), "float32")
    assert model.name == models.find(task).name
    assert keras.saving.serialize_keras_object(model)


@pytest.mark.parametrize("kind", TARGETS)
def test_all_figures_of_a_target_are_known_metrics(kind, task_of):
    goal = task_of(kind).goal
    names = {"loss", *goal.metrics, goal.best_by, goal.baseline().metric}
    for accumulator in goal.accumulators():
        names |= {name.partition("/")[0] for name in accumulator.result()}
    names |= {name for name in (goal.least_score, goal.threshold) if name}

    assert names <= METRICS.keys()
    assert METRICS[goal.best_by].leads
    assert METRICS[goal.baseline().metric].best
    assert not any(METRICS[name].best for name in (goal.least_score, goal.threshold) if name)


@pytest.mark.parametrize("kind", TARGETS)
def test_what_is_exported_without_texts_are_numbers(kind, task_of):
    goal = task_of(kind).goal
    outputs = tf.random.stateless_normal([3, *goal.output_shape], [1, 2])

    exported = goal.export_numbers(outputs)

    assert exported
    assert all(len(each) == 3 and each.dtype != tf.string for each in exported.values())


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("accuracy", 0.5, "0.5000"),
        ("mae", 38223.2202, "38,223"),
        ("IoU/cat/dog", 0.25, "0.2500"),
        ("unknown", 3e9, "3,000,000,000"),
    ],
)
def test_how_values_are_shown(name, value, text):
    assert metric_named(name).text(value) == text


def test_models_of_one_name_share_no_kind_of_task():
    pairs = [(model.name, kind) for model in models.MODELS for kind in model.learns]
    assert len({*pairs}) == len(pairs)
    assert all(model.about for model in models.MODELS)
